"""Builds the documents as a web site, build/site: `make site`.

The site needs no server and no network: it opens from a folder, and its search works there. README.md is the first
page, and docs/README.md is the navigation. Links to files that the site does not have lead to the address of the
project, or become plain text while the project has none. Sphinx refuses a link to a page or heading that is not there.
A page that is HTML already is copied; its links out of docs/, to results of the reader's own, become plain text. An
extra may make such a page for one of its documents, here and nowhere else.
"""

import os
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import sphinx.search
from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish
from sphinx.util.docutils import docutils_namespace, patch_docutils

from priolab.common.home import ROOT
from priolab.experiments.setup.extras import parts
from setup import in_project, with_links

_EXPLORE = "explore.html"
_PREVIEW = re.compile(r'property="og:image" content="([\w-]+\.png)"')
_PAGES = ("*.md", "docs/*.md", "docs/*/*.md")
_MOVED = {
    "README.md": "index.md",
    "docs/README.md": "documents.md",
    "docs/decisions/README.md": "decisions/index.md",
}
"""Pages and files that have another name in the site, by their paths in the checkout."""

_FILES = {"whole": "{{path}}", "part": "{{path}}#{{fragment}}"}
"""The schemes of links to files that are no pages. Sphinx would make downloads of them, and drop what follows a #."""

_OF_SPHINX = "data-content_root="
"""A mark of each page that Sphinx makes, and of no other."""

_LINK_OF_HTML = re.compile(r'<a href="(?!#|[a-z]+:)(?P<path>[^"]+)">(?P<text>[^<]*)</a>')

_SHOWN = f"""
<p class="explore"><a href="{_EXPLORE}">Open the explanation on a page of its own</a></p>
<iframe class="explore" title="Why the script comes last, explained with films, and what LOWAT does about it"></iframe>
<script>if (innerWidth >= 960) document.querySelector("iframe.explore").src = "{_EXPLORE}";</script>
"""
"""The explanation on the first page, after its first paragraph. A phone loads it only when the reader asks for it."""

_STYLE = """
p.explore a { display: block; padding: 0.8em 1em; border-radius: 0.4em; font-weight: bold; text-align: center;
    text-decoration: none; color: var(--color-background-primary); background: var(--color-brand-primary); }
iframe.explore { width: 100%; height: 46em; border: 1px solid var(--color-background-border); }
iframe.explore:not([src]) { display: none; }
.main { min-width: 0; }
.content:has(iframe[src]) { box-sizing: border-box; width: min(100%, 70em); padding: 0 2em; }
body:has(iframe[src]) .sidebar-drawer { width: 15em; }
body:has(iframe[src]) .toc-drawer { display: none; }
@media (max-width: 46em) {
    h1 { font-size: 1.9em; }
    h2 { font-size: 1.5em; }
}
"""
_SCORER = """
var Scorer = {
  // A heading that asks the question comes first, and of equal pages a guide.
  score: ([, , , , score, file, kind]) =>
    score + (kind === SearchResultKind.title ? 100 : file.startsWith("guide/") ? 1 : 0),
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
"""
"""The order of the pages that a search finds; beside the first function these are Sphinx's own values."""

_SETTINGS: dict[str, Any] = {
    "project": "The priority lab",
    "extensions": ["myst_parser"],
    "root_doc": "index",
    "highlight_language": "none",
    "smartquotes": False,
    # MyST's additions to Markdown are off: a line that begins with % would be a comment.
    "myst_disable_syntax": ["myst_block_break", "myst_line_comment", "myst_role", "myst_target"],
    "myst_heading_anchors": 6,
    "myst_url_schemes": {"http": None, "https": None} | _FILES,
    "html_theme": "furo",
    "html_title": "The priority lab",
    "html_css_files": ["site.css"],
    "html_show_copyright": False,
    "html_show_search_summary": False,  # a browser cannot fetch the pages from a folder
    "html_copy_source": False,
    "html_use_index": False,
}


_READABLE = (
    # Themes and docutils leave these to the site: names of landmarks, a level for each heading, and what the keyboard
    # scrolls.
    ('<p class="caption" role="heading">', '<p class="caption">'),
    ('<th class="head"><p></p></th>', "<td></td>"),
    ('<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="all pages">'),
    ('<aside class="toc-drawer">', '<aside class="toc-drawer" aria-label="this page">'),
    ('<aside class="toc-drawer no-toc">', '<aside class="toc-drawer no-toc" aria-label="this page">'),
    ("<pre>", '<pre tabindex="0">'),
    ('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'),
    ('<div id="search-results">', '<h1>Search</h1>\n<div id="search-results">'),
)
_AS_IT_IS = re.compile(r"(<(script|style|title|pre)\b.*?</\2>|<[^>]+>)", re.DOTALL)
_LONG = re.compile(r"\w{12,}")

_ASKING = "how what which where when why who do does did can could should would i my me we you your use using"


class _Questions(SearchEnglish):
    """Leaves out the words with which a question is asked; a page need not have them."""

    stopwords = SearchEnglish.stopwords | {*_ASKING.split()}


def _readable(page: str) -> str:
    """Returns a page of Sphinx that people without a mouse can read, and whose long names break at an underscore."""
    for before, after in _READABLE:
        page = page.replace(before, after)
    parts = _AS_IT_IS.split(page)
    # Of each three parts the first is text, the second is kept, and the third names the kept element.
    parts[::3] = [_LONG.sub(lambda name: name[0].replace("_", "_<wbr>"), text) for text in parts[::3]]
    del parts[2::3]
    return "".join(parts)


def build(root: Path, site: Path, address: str) -> bool:
    """Makes the site's folder anew; returns False if Sphinx found a fault, which it has then printed.

    root: the checkout. address: the project's address; empty if it has none.
    """
    with tempfile.TemporaryDirectory(prefix="priolab-site-") as folder:
        sources = _Sources(root=root, pages=Path(folder) / "pages", made=Path(folder) / "site", address=address)
        sources.write()
        known, scorer = Path(folder) / "known", Path(folder) / "scorer.js"
        scorer.write_text(_SCORER, encoding="utf-8")
        sphinx.search.languages["en"] = _Questions
        with patch_docutils(), docutils_namespace():
            app = Sphinx(
                sources.pages,
                None,
                sources.made,
                known,
                "html",
                _SETTINGS | {"html_search_scorer": str(scorer)},
                status=None,
                warning=sys.stderr,
                warningiserror=True,
            )
            app.build()
        if app.statuscode == 0:
            for page in sources.made.rglob("*.html"):
                text = page.read_text(encoding="utf-8")
                if _OF_SPHINX in text:
                    page.write_text(_readable(text), encoding="utf-8")
            shutil.rmtree(site, ignore_errors=True)
            shutil.copytree(sources.made, site, ignore=shutil.ignore_patterns(".buildinfo", "_sources"))
        return app.statuscode == 0


@dataclass(frozen=True, kw_only=True)
class _Sources:
    """The documents as Sphinx reads them.

    root: the checkout. pages: the folder for pages and pictures. made: the site's folder, for all other files that
    pages link. address: the project's address; empty if it has none.
    """

    root: Path
    pages: Path
    made: Path
    address: str

    def write(self) -> None:
        """Writes all pages, with links as the site needs them, and the files that they show or link."""
        for page in self._documents:
            there = self.pages / self._place(page)
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_text(self._text(page), encoding="utf-8")
        style = self.made / "_static" / "site.css"
        style.parent.mkdir(parents=True)
        style.write_text(_STYLE, encoding="utf-8")

    @cached_property
    def _documents(self) -> tuple[Path, ...]:
        """The pages in the checkout."""
        return tuple(file for pattern in _PAGES for file in sorted(self.root.glob(pattern)))

    @cached_property
    def _made_by_extras(self) -> tuple[Any, ...]:
        """The modules of extras that make a page for one of their documents."""
        return tuple(parts("site"))

    def _text(self, page: Path) -> str:
        text = with_links(
            page.read_text(encoding="utf-8"), lambda target, is_picture: self._lead(page, target, is_picture=is_picture)
        )
        if page == self.root / "README.md":
            title, first, rest = text.split("\n\n", 2)
            films = [_SHOWN.strip()] if (self.root / "docs" / _EXPLORE).exists() else []
            return "\n\n".join((title, first, *films, rest, *self._navigation()))
        if page == self.root / "docs/decisions/README.md":
            return text + _contents(re.findall(r"\]\((\d{4}-\S+\.md)\)", text))
        for made in self._made_by_extras:
            if page == made.DOCUMENT:
                text, shown = made.for_site(text, f"part:{made.PAGE}")
                there = self.made / self._place(page.with_name(made.PAGE))
                there.parent.mkdir(parents=True, exist_ok=True)
                there.write_text(self._html(page, shown), encoding="utf-8")
        return text

    def _lead(self, page: Path, target: str, *, is_picture: bool) -> str:
        """Returns the address of a link's target in the site; copies the target there if it is no page."""
        path, mark, heading = target.partition("#")
        file = (page.parent / path).resolve()
        if not file.exists():
            return target  # Sphinx refuses it
        inside = f"{os.path.relpath(self._place(file), Path(self._place(page)).parent)}{mark}{heading}"
        if file in self._documents:
            return inside
        if self.root / "docs" not in file.parents or file.is_dir():
            return in_project(self.address, f"{file.relative_to(self.root)}{mark}{heading}", is_picture=is_picture)
        copy = (self.pages if is_picture else self.made) / self._place(file)
        if not copy.exists():  # hundreds of links lead to one file
            copy.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix == ".html":
                copy.write_text(self._html(file, file.read_text(encoding="utf-8")), encoding="utf-8")
            else:
                shutil.copy(file, copy)
        return inside if is_picture else f"{'part' if heading else 'whole'}:{inside}"

    def _html(self, file: Path, text: str) -> str:
        """Returns the text of a page that is HTML already. file: its place. Its links out of docs/ are plain text.

        The picture that services show with a link to the page is copied beside it.
        """
        for name in _PREVIEW.findall(text):
            shutil.copy(file.with_name(name), self.made / self._place(file.with_name(name)))

        def led(link: re.Match[str]) -> str:
            stays = self.root / "docs" in (file.parent / link["path"]).resolve().parents
            return link[0] if stays else link["text"]

        return _LINK_OF_HTML.sub(led, text)

    def _place(self, file: Path) -> str:
        """Returns the path of a page or file in the site, before Sphinx makes HTML of pages."""
        name = str(file.relative_to(self.root))
        return _MOVED.get(name, name.removeprefix("docs/"))

    def _navigation(self) -> Iterator[str]:
        """Yields the tables of contents of the site: one for each section of docs/README.md, and one for the rest."""
        overview = self.root / "docs/README.md"
        listed = {self.root / "README.md"}
        for section in re.split(r"^## ", overview.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            files = [(overview.parent / name).resolve() for name in re.findall(r"\]\(([^)\s#]+\.md)\)", section)]
            listed |= {*files}
            yield _contents(map(self._place, files), section.partition("\n")[0].partition(":")[0].capitalize())
        tops = (self.root, overview.parent)
        yield _contents(self._place(file) for file in self._documents if file.parent in tops and file not in listed)


def _contents(pages: Iterable[str], caption: str = "") -> str:
    """Returns a table of contents that only the navigation shows."""
    listed = "\n".join(dict.fromkeys(pages))
    return f"\n```{{toctree}}\n:hidden:\n{f':caption: {caption}' if caption else ''}\n\n{listed}\n```\n"


if __name__ == "__main__":
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    place = ROOT / "build" / "site"
    if not build(ROOT, place, declared["tool"]["address"]["project"]):
        sys.exit(1)
    print(f"open {place / 'index.html'}: it needs no server and no network")
