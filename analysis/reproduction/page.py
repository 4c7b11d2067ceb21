"""Writes the reproduction's page: each picture with its numbers, the article's report and the judgement. Pure.

The page is a self-contained HTML file. For PNG and PDF there is a tall SVG drawing with the same text and pictures.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from analysis.figures.lettering import FAMILIES, wrapped
from analysis.reproduction.claims import Claim

TITLE = "Prioritization only works when there is pending data to prioritize"
_ARTICLE, _HERE = "The article", "Here"


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
    """The reproduction's page. made: facts about how the pictures were made, such as the fabric, by name."""

    pictures: Sequence[Picture]
    made: Mapping[str, str]

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


# --- HTML ------------------------------------------------------------------------------------------------------------

_STYLE = """
:root { color-scheme: light; }
body { margin: 0 auto; max-width: 62rem; padding: 2.5rem 1.5rem 4rem; background: #fff; color: #1a1a1a;
  font: 1.05rem/1.5 "Liberation Sans", Helvetica, Arial, sans-serif; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.4rem; margin: 0; }
.lead { font-size: 1.2rem; margin: 0 0 1.5rem; }
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
@media (max-width: 45rem) { .two { grid-template-columns: 1fr; gap: 1rem; } .scroll { overflow-x: auto; } }
@media print { section { break-inside: avoid; } }
"""


def html(page: Page) -> str:
    """Returns a self-contained HTML document."""
    made = " &middot; ".join(f"{escape(name)} {escape(value)}" for name, value in page.made.items())
    sections = "\n".join(_section(number, picture) for number, picture in enumerate(page.pictures, start=1))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(TITLE)}: reproduction</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{escape(TITLE)}</h1>
<p class="lead">{escape(page.headline)}.</p>
<p class="quiet">{made}</p>
{sections}
</body>
</html>
"""


def _section(number: int, picture: Picture) -> str:
    claim = picture.claim
    note = f'\n<p class="quiet">{escape(picture.note)}</p>' if picture.note else ""
    return f"""<section>
<header class="claim"><h2>{number}. {escape(claim.title)}</h2>
<span class="stamp {"yes" if claim.holds else "no"}">{escape(claim.word)}</span></header>
<div class="two">
<div><h3>{_ARTICLE}</h3><p>{escape(claim.article)}</p></div>
<div><h3>{_HERE}</h3><p>{escape(claim.here)}</p></div>
</div>
<div class="scroll">{_inlined(picture.svg, f"picture-{number}-")}</div>
<div class="scroll">{_table(picture.table)}</div>
<p class="quiet">{escape(_criterion(claim))}</p>{note}
</section>"""


def _criterion(claim: Claim) -> str:
    return f"Counts as {claim.word.removeprefix('not ')} if {claim.criterion}."


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    lines = ["<table>", f"<tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>"]
    lines += [f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in body]
    return "\n".join([*lines, "</table>"])


# --- one tall drawing ------------------------------------------------------------------------------------------------

_WIDTH = 1500
_MARGIN = 60
_INNER = _WIDTH - 2 * _MARGIN
_GAP = 50
_BODY, _SMALL, _HEAD, _TOP = 23, 20, 34, 43
_LEADING = 1.42
_INK, _QUIET, _YES, _NO = "#1a1a1a", "#5a5a5a", "#00664b", "#b00020"


def drawing(page: Page) -> str:
    """Returns the page as one SVG document, in one column and without tables."""
    parts: list[str] = []
    y = float(_MARGIN)

    def write(words: Sequence[str], size: int, colour: str, weight: str = "normal", separator: str = " ") -> None:
        nonlocal y
        for line in wrapped(words, separator, size, _INNER):
            y += size * _LEADING
            parts.append(
                f'<text x="{_MARGIN}" y="{y}" font-family="{FAMILIES}" font-size="{size}" font-weight="{weight}" '
                f'fill="{colour}">{escape(line)}</text>'
            )

    write([TITLE], _TOP, _INK, "bold")
    write([f"{page.headline}."], _BODY, _INK)
    write([f"{name} {value}" for name, value in page.made.items()], _SMALL, _QUIET, separator=" · ")
    for number, picture in enumerate(page.pictures, start=1):
        claim = picture.claim
        y += _GAP
        write([f"{number}. {claim.title}"], _HEAD, _INK, "bold")
        write([claim.word], _BODY, _YES if claim.holds else _NO, "bold")
        write(f"{_ARTICLE}: {claim.article}".split(), _BODY, _INK)
        write(f"{_HERE}: {claim.here}".split(), _BODY, _INK)
        width, height = _size(picture.svg)
        place = f'x="{_MARGIN}" y="{y + _BODY}" width="{_INNER}" height="{height * _INNER / width}"'
        parts.append(_inlined(picture.svg, f"p{number}-", place))
        y += _BODY + height * _INNER / width
        write(f"{_criterion(claim)} {picture.note}".split(), _SMALL, _QUIET)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="{_WIDTH}" '
        f'height="{y + _MARGIN:.0f}" viewBox="0 0 {_WIDTH} {y + _MARGIN:.0f}">'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>'
    )


# --- charts in other documents ---------------------------------------------------------------------------------------

_ROOT = re.compile(r"<svg\b[^>]*>")
_SIZES = ("width", "height", "x", "y")


def _size(svg: str) -> tuple[float, float]:
    root = _ROOT.search(svg)
    assert root, "not an SVG document"
    box = re.search(r'viewBox="[\d.]+ [\d.]+ ([\d.]+) ([\d.]+)"', root[0])
    assert box, "an SVG document without a viewBox"
    return float(box[1]), float(box[2])


def _inlined(svg: str, prefix: str, place: str = "") -> str:
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
    return f"{tag[:-1]} {place}>{body}"
