"""Writes the reproduction's page: each picture with its numbers, the article's report and the judgement. Pure.

The page is a self-contained HTML file, which a browser prints on sheets of A4.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from priolab.analysis.figures.lettering import FAMILIES
from priolab.extras.reproduction import article
from priolab.extras.reproduction.article import Compared
from priolab.extras.reproduction.claims import Claim

TITLE = "Google Maps between SPDY and Linux: the article's pictures, measured again"
ARTICLE, HERE = "The article", "Here"


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A claim with its picture. svg: a whole SVG document. table: a row of headings, then rows of cells.

    note: a text below the table.
    """

    claim: Claim
    svg: str
    table: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Page:
    """The reproduction's page. set_up: the article's set-up beside the lab's."""

    pictures: Sequence[Picture]
    set_up: Sequence[Compared]

    @property
    def holds(self) -> bool:
        """True if every claim holds."""
        return all(picture.claim.holds for picture in self.pictures)

    @property
    def headline(self) -> str:
        """The result in a sentence."""
        shown = [picture.claim for picture in self.pictures if not picture.claim.is_question]
        asked = [picture.claim for picture in self.pictures if picture.claim.is_question]
        words = f"{sum(claim.holds for claim in shown)} of {len(shown)} pictures reproduced"
        return "; ".join([words, *(f"the open question {claim.word}" for claim in asked)])


_STYLE = f"""
@page {{ size: A4; margin: 14mm 13mm; }}
* {{ box-sizing: border-box; }}
body {{ margin: 0 auto; max-width: 70rem; padding: 2.5rem 1.5rem 6rem; color: #1a1a1a; background: #fff; }}
body {{ font: 1.0625rem/1.55 {FAMILIES}; }}
"""
_STYLE += """
h1 { font-size: 1.9rem; line-height: 1.25; margin: 0 0 .5rem; }
h2 { font-size: 1.4rem; margin: 0; }
p.lead { margin: 0 0 1.5rem; }
.quiet { color: #5a5a5a; font-size: .95rem; }
section { border-top: 2px solid #e4e4e4; margin-top: 3rem; padding-top: 1.5rem; }
header.claim { display: flex; gap: 1rem; align-items: baseline; justify-content: space-between; }
.stamp { border-radius: 1rem; color: #fff; font-weight: bold; padding: .15rem .9rem; white-space: nowrap; }
.yes { background: #00664b; } .no { background: #b00020; }
.two { display: grid; grid-template-columns: 1fr 1fr; gap: 2rem; margin: 1rem 0; }
.two h3 { font-size: .95rem; color: #5a5a5a; margin: 0 0 .2rem; font-weight: normal; }
.two p { margin: 0; }
svg { width: 100%; height: auto; display: block; }
table { border-collapse: collapse; font-size: .95rem; font-variant-numeric: tabular-nums; margin: 1rem 0; }
th, td { text-align: right; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid #e4e4e4; }
th:first-child, td:first-child { text-align: left; }
th { color: #5a5a5a; font-weight: normal; vertical-align: bottom; }
table.beside { width: 100%; }
table.beside th, table.beside td { text-align: left; vertical-align: top; width: 38%; }
table.beside th:first-child, table.beside td:first-child { color: #5a5a5a; width: 24%; }
@media (max-width: 45rem) { .two { grid-template-columns: 1fr; gap: 1rem; } .scroll { overflow-x: auto; } }
@media print {
  body { max-width: none; padding: 0; font-size: 9.5pt; line-height: 1.4; }
  h1 { font-size: 17pt; } h2 { font-size: 13pt; }
  .quiet, .two h3, table { font-size: 8.5pt; }
  section { break-inside: avoid; margin-top: 1rem; padding-top: .8rem; }
  th, td { padding: .12rem .5rem .12rem 0; }
  table, .two { margin: .5rem 0; }
  .stamp { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""


def html(page: Page) -> str:
    """Returns a self-contained HTML document."""
    sections = "\n".join(_section(number, picture) for number, picture in enumerate(page.pictures, start=1))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(TITLE)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{escape(TITLE)}</h1>
<p>The article: {_citation()}</p>
<p class="lead"><strong>{escape(page.headline)}.</strong></p>
{_beside(page.set_up)}
{sections}
</body>
</html>
"""


def _citation() -> str:
    """Returns the citation with its Japanese words marked as such, so that browsers choose a font for them."""
    text = escape(article.CITATION, quote=False)
    for words in (article.TITLE, article.BLOG):
        text = text.replace(words, f'<span lang="ja">{words}</span>')
    return text


def _section(number: int, picture: Picture) -> str:
    claim = picture.claim
    note = f'\n<p class="quiet">{escape(picture.note)}</p>' if picture.note else ""
    return f"""<section>
<header class="claim"><h2>{number}. {escape(claim.title)}</h2>
<span class="stamp {"yes" if claim.holds else "no"}">{escape(claim.word)}</span></header>
<div class="two">
<div><h3>{ARTICLE}, {escape(claim.source)}</h3><p>{escape(claim.article)}</p></div>
<div><h3>{HERE}</h3><p>{escape(claim.here)}</p></div>
</div>
{_beside(claim.numbers)}
<div class="scroll">{_inlined(picture.svg, f"picture-{number}-")}</div>
<div class="scroll">{_table(picture.table)}</div>
<p class="quiet">{escape(f"Counts as {claim.word.removeprefix('not ')} if {claim.criterion}.")}</p>{note}
</section>"""


def _beside(rows: Sequence[Compared]) -> str:
    return _table([["", ARTICLE, HERE], *([row.what, row.article, row.here] for row in rows)], "beside")


def _table(rows: Sequence[Sequence[str]], name: str = "") -> str:
    head, *body = rows
    lines = [f'<table class="{name}">' if name else "<table>"]
    lines += [f"<tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>"]
    lines += [f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in body]
    return "\n".join([*lines, "</table>"])


_ROOT = re.compile(r"<svg\b[^>]*>")
_SIZES = ("width", "height", "x", "y")


def _inlined(svg: str, prefix: str) -> str:
    """Returns an SVG to be embedded: without its head and size, with a prefix for its ids, which must be unique."""
    root = _ROOT.search(svg)
    assert root, "not an SVG document"
    tag = root[0]
    for name in _SIZES:
        tag = re.sub(rf'\s{name}="[^"]*"', "", tag)
    body = svg[root.end() :]
    body = re.sub(r'\bid="', f'id="{prefix}', body)
    body = re.sub(r"url\(#", f"url(#{prefix}", body)
    body = re.sub(r'href="#', f'href="#{prefix}', body)
    return f"{tag}{body}"
