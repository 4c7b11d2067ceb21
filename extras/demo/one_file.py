"""The demo's page as one HTML file: its modules as data: URLs, and its style. No server is needed."""

import base64
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from posixpath import dirname, join, normpath

from priolab.analysis.figures.picture import script

PAGE = Path(__file__).with_name("page")
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' data:; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
"""The content security policy of such a file: it may fetch nothing."""

_SCRIPT = re.compile(r'<script type="module" src="/page/([a-z_]+\.js)"></script>')
_STYLE = re.compile(r'<link rel="stylesheet" href="/page/([a-z_/]+\.css)">')
_COMMENT = re.compile(r"^ *(?://.*|/\*\*(?:(?!\*/)[\s\S])*\*/)\n", re.MULTILINE)
"""A comment with lines of its own. Comments are a fifth of the page's modules."""
_IMPORT = re.compile(r'(from |import |await import\()"(\.\.?/[a-z_./]+\.js)"')


def style() -> str:
    """Returns the style sheet of films."""
    return (PAGE / "style.css").read_text()


def modules(first: str, instead: Mapping[str, str] | None = None) -> dict[str, str]:
    """Returns the URLs of the modules that a module needs, by their paths from the page's folder, for an import map.

    instead: the file of a module, by the name of the module in whose place it is.
    """
    found: dict[str, str] = {}
    wanted = [first]
    while wanted:
        name = wanted.pop()
        if name not in found:
            text = (PAGE / (instead or {}).get(name, name)).read_text()
            found[name] = _url(name, text)
            wanted += [_path(name, match[2]) for match in _IMPORT.finditer(text)]
    return dict(sorted(found.items()))


def inlined(page: str, scripts: Sequence[str]) -> str:
    """Returns a page of the demo with its style in it, with these elements in place of its script, and with the policy.

    page: the name of the file.
    """
    text = (PAGE / page).read_text()
    name = _SCRIPT.findall(text)
    assert len(name) == 1, page
    text = _STYLE.sub(lambda sheet: f"<style>{(PAGE / sheet[1]).read_text()}</style>", text)
    inserted = {
        f'<script type="module" src="/page/{name[0]}"></script>': "\n    ".join(scripts),
        '<meta charset="utf-8">': '<meta charset="utf-8">\n    <meta http-equiv="Content-Security-Policy" '
        f'content="{POLICY}">',
    }
    for before, after in inserted.items():
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return text


def notes() -> str:
    """Returns an element with the page of the speaker's notes, which page/talk.js opens in a window."""
    page = inlined("notes.html", [_import_map("notes.js"), _start("notes.js")])
    return f'<script type="application/json" id="notes-page">{script(page)}</script>'


def scripts(first: str, instead: Mapping[str, str] | None = None) -> tuple[str, str]:
    """Returns the elements that start a module. For both parameters see `modules`."""
    return _import_map(first, instead), _start(first)


def _import_map(first: str, instead: Mapping[str, str] | None = None) -> str:
    return f'<script type="importmap">{script({"imports": modules(first, instead)})}</script>'


def _start(first: str) -> str:
    return f'<script type="module">import "{first}";</script>'


def _url(name: str, text: str) -> str:
    """Returns a module without its comments as a data: URL.

    A data: URL has no folder, so its imports name other modules by their paths.
    """
    named = _IMPORT.sub(lambda match: f'{match[1]}"{_path(name, match[2])}"', _COMMENT.sub("", text))
    return "data:text/javascript;base64," + base64.b64encode(named.encode()).decode()


def _path(importer: str, imported: str) -> str:
    return normpath(join(dirname(importer), imported))
