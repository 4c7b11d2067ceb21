"""The page: each picture, its numbers, what the article reported, and whether it is so here. Pure.

One HTML file that needs nothing else, and one tall drawing (SVG) with the same for PNG and PDF.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from analysis.figures.lettering import FAMILIES, wrapped
from analysis.reproduction.claims import Claim

TITLE = "Prioritization only works when there is pending data to prioritize"
_ARTICLE, _HERE = "The article", "Here"


@dataclass(frozen=True, kw_only=True)
class Picture:
    """One claim with its picture. svg: a whole document; table: a row of headings, then rows; note: below it."""

    claim: Claim
    svg: str
    table: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Page:
    """All pictures in order. made: how they were made, name by name."""

    pictures: Sequence[Picture]
    made: Mapping[str, str]

    @property
    def holds(self) -> bool:
        """Whether every claim does."""
        return all(picture.claim.holds for picture in self.pictures)

    @property
    def headline(self) -> str:
        """All of it in a sentence."""
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
    """A document that needs nothing from anywhere."""
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
<p class="quiet">Counts as {escape(claim.word.removeprefix("not "))} if {escape(claim.criterion)}.</p>{note}
</section>"""


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
    """The page as one SVG document."""
    parts: list[str] = []
    y = float(_MARGIN)
    for text, size, colour, weight in (
        ([TITLE], _TOP, _INK, "bold"),
        ([f"{page.headline}."], _BODY + 4, _INK, "normal"),
        ([f"{name} {value}" for name, value in page.made.items()], _SMALL, _QUIET, "normal"),
    ):
        lines = wrapped(text, " · ", size, _INNER)
        parts += _lines(lines, _MARGIN, y, size, colour, weight)
        y += len(lines) * size * _LEADING + 8
    for number, picture in enumerate(page.pictures, start=1):
        drawn, y = _drawn(number, picture, y + _GAP)
        parts += drawn
    height = round(y + _MARGIN)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="{_WIDTH}" '
        f'height="{height}" viewBox="0 0 {_WIDTH} {height}"><rect width="100%" height="100%" fill="white"/>'
        f"{''.join(parts)}</svg>"
    )


def _drawn(number: int, picture: Picture, y: float) -> tuple[list[str], float]:
    """A picture from y on, and where it ends."""
    claim = picture.claim
    parts = [f'<rect x="{_MARGIN}" y="{y}" width="{_INNER}" height="2" fill="#e4e4e4"/>']
    y += 26
    parts += _lines([f"{number}. {claim.title}"], _MARGIN, y, _HEAD, _INK, "bold")
    parts += _stamp(claim, y)
    y += _HEAD * _LEADING + 12
    column = (_INNER - _GAP) / 2
    bottom = y
    for index, (heading, text) in enumerate(((_ARTICLE, claim.article), (_HERE, claim.here))):
        x = _MARGIN + index * (column + _GAP)
        parts += _lines([heading], x, y, _SMALL, _QUIET, "normal")
        lines = wrapped(text.split(), " ", _BODY, column)
        parts += _lines(lines, x, y + _SMALL * _LEADING, _BODY, _INK, "normal")
        bottom = max(bottom, y + _SMALL * _LEADING + len(lines) * _BODY * _LEADING)
    y = bottom + 12
    width, height = _size(picture.svg)
    scaled = height * _INNER / width
    parts.append(_inlined(picture.svg, f"p{number}-", f'x="{_MARGIN}" y="{y}" width="{_INNER}" height="{scaled}"'))
    y += scaled + 6
    words = f"Counts as {claim.word.removeprefix('not ')} if {claim.criterion}. {picture.note}".split()
    lines = wrapped(words, " ", _SMALL, _INNER)
    parts += _lines(lines, _MARGIN, y, _SMALL, _QUIET, "normal")
    return parts, y + len(lines) * _SMALL * _LEADING


def _stamp(claim: Claim, y: float) -> Iterator[str]:
    width = 34 + len(claim.word) * _BODY * 0.58
    x = _WIDTH - _MARGIN - width
    colour = _YES if claim.holds else _NO
    yield f'<rect x="{x}" y="{y + 2}" width="{width}" height="{_HEAD + 6}" rx="{(_HEAD + 6) / 2}" fill="{colour}"/>'
    yield (
        f'<text x="{x + width / 2}" y="{y + 2 + (_HEAD + 6) * 0.7}" font-family="{FAMILIES}" font-size="{_BODY}" '
        f'font-weight="bold" fill="white" text-anchor="middle">{escape(claim.word)}</text>'
    )


def _lines(lines: Sequence[str], x: float, y: float, size: int, colour: str, weight: str) -> Iterator[str]:
    for index, line in enumerate(lines):
        yield (
            f'<text x="{x}" y="{y + size + index * size * _LEADING}" font-family="{FAMILIES}" font-size="{size}" '
            f'font-weight="{weight}" fill="{colour}">{escape(line)}</text>'
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
    """The document without its head; its ids are its own, whatever else the page holds."""
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
