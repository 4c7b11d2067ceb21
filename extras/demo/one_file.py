"""The demo's page as one HTML file: its modules as data: URLs, and its style. No server is needed."""

import base64
import re
from collections.abc import Mapping
from pathlib import Path

PAGE = Path(__file__).with_name("page")
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' data:; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
"""The content security policy of such a file: it may fetch nothing."""

_IMPORT = re.compile(r'(from|import) "\./([a-z_]+\.js)"')


def style() -> str:
    """Returns the style sheet of the page."""
    return (PAGE / "style.css").read_text()


def modules(first: str, instead: Mapping[str, str] | None = None) -> dict[str, str]:
    """Returns the URLs of the modules that a module needs, by the names of their files, for an import map.

    instead: the file of a module, by the name of the module in whose place it is.
    """
    found: dict[str, str] = {}
    wanted = [first]
    while wanted:
        name = wanted.pop()
        if name not in found:
            text = (PAGE / (instead or {}).get(name, name)).read_text()
            found[name] = _url(text)
            wanted += [match[2] for match in _IMPORT.finditer(text)]
    return dict(sorted(found.items()))


def _url(text: str) -> str:
    """Returns a module as a data: URL. A data: URL has no folder, so its imports name other modules without a path."""
    return "data:text/javascript;base64," + base64.b64encode(_IMPORT.sub(r'\1 "\2"', text).encode()).decode()
