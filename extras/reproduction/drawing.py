"""Draws the reproduction's page as SVG: in one tall column, or on sheets of A4. Pure.

The drawing has the texts and pictures of the page, and the article's numbers beside the lab's; it has no other tables.
A block (the head of the page, a picture with its texts) is never divided between two sheets.
"""

from collections.abc import Iterable, Sequence
from html import escape

from priolab.analysis.figures.lettering import FAMILIES, wrapped
from priolab.extras.reproduction.article import CITATION_IN_LATIN, Compared
from priolab.extras.reproduction.page import ARTICLE, HERE, TITLE, Page, Picture, criterion, inlined, size

A4_POINTS = (595.276, 841.89)
"""Width and height of a sheet of A4, in points."""

_WIDTH = 1500
_SHEET = _WIDTH * A4_POINTS[1] / A4_POINTS[0]
_MARGIN = 70
_INNER = _WIDTH - 2 * _MARGIN
_GAP = 40
_BODY, _SMALL, _HEAD, _TOP = 22, 19, 30, 36
_LEADING = 1.38
_PICTURE = 0.9 * _INNER
_COLUMNS = (0.0, 0.25, 0.66)
_COLUMN_GAP = 24
_INK, _QUIET, _LINE, _YES, _NO = "#1a1a1a", "#5a5a5a", "#e4e4e4", "#00664b", "#b00020"


class _Block:
    """A part of the drawing that grows downwards. height: its height so far."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.height = 0.0

    def write(self, text: str, size_px: int, colour: str, *, bold: bool = False) -> None:
        """Writes text across the whole width."""
        for line in wrapped(text.split(), " ", size_px, _INNER):
            self.height += size_px * _LEADING
            self._line(line, _MARGIN, self.height, size_px, colour, bold=bold)

    def write_rows(self, rows: Iterable[Sequence[str]]) -> None:
        """Writes a table of three columns, with a thin line below each row."""
        ends = [*_COLUMNS[1:], 1.0]
        for index, row in enumerate(rows):
            widths = [(end - start) * _INNER - _COLUMN_GAP for start, end in zip(_COLUMNS, ends, strict=True)]
            cells = [wrapped(cell.split(), " ", _SMALL, width_px) for cell, width_px in zip(row, widths, strict=True)]
            for column, (start, lines) in enumerate(zip(_COLUMNS, cells, strict=True)):
                colour = _INK if index and column else _QUIET
                for number, line in enumerate(lines, start=1):
                    y = self.height + number * _SMALL * _LEADING
                    self._line(line, _MARGIN + start * _INNER, y, _SMALL, colour)
            self.height += max(map(len, cells)) * _SMALL * _LEADING + 9
            self.parts.append(
                f'<line x1="{_MARGIN}" x2="{_MARGIN + _INNER}" y1="{self.height:.1f}" y2="{self.height:.1f}" '
                f'stroke="{_LINE}" stroke-width="2"/>'
            )

    def draw(self, svg: str, prefix: str) -> None:
        """Draws a picture. prefix: makes the picture's ids unique."""
        width, height = size(svg)
        scaled = height * _PICTURE / width
        self.height += _BODY
        place = f'x="{_MARGIN}" y="{self.height:.1f}" width="{_PICTURE:.1f}" height="{scaled:.1f}"'
        self.parts.append(inlined(svg, prefix, place))
        self.height += scaled

    def leave(self, gap_px: float) -> None:
        """Leaves a gap."""
        self.height += gap_px

    def _line(self, text: str, x: float, y: float, size_px: int, colour: str, *, bold: bool = False) -> None:
        weight = "bold" if bold else "normal"
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-family="{FAMILIES}" font-size="{size_px}" font-weight="{weight}" '
            f'fill="{colour}">{escape(text)}</text>'
        )


def column(page: Page) -> str:
    """Returns the page as one SVG document, in one column."""
    return _document(_blocks(page), None)


def sheets(page: Page) -> list[str]:
    """Returns the page as SVG documents of the size of A4, each with its number at the bottom."""
    room = _SHEET - 2 * _MARGIN
    filled: list[list[_Block]] = [[]]
    for block in _blocks(page):
        if filled[-1] and sum(each.height + _GAP for each in filled[-1]) + block.height > room:
            filled.append([])
        filled[-1].append(block)
    return [_document(blocks, (number, len(filled))) for number, blocks in enumerate(filled, start=1)]


def _blocks(page: Page) -> list[_Block]:
    return [_head(page), *(_section(number, picture) for number, picture in enumerate(page.pictures, start=1))]


def _head(page: Page) -> _Block:
    block = _Block()
    block.write(TITLE, _TOP, _INK, bold=True)
    block.leave(8)
    block.write(f"{ARTICLE}: {CITATION_IN_LATIN}", _BODY, _INK)
    block.leave(8)
    block.write(f"{page.headline}.", _BODY, _INK, bold=True)
    block.leave(8)
    block.write_rows(_rows(page.set_up))
    return block


def _section(number: int, picture: Picture) -> _Block:
    block, claim = _Block(), picture.claim
    block.write(f"{number}. {claim.title}", _HEAD, _INK, bold=True)
    block.write(claim.word, _BODY, _YES if claim.holds else _NO, bold=True)
    block.write(f"{ARTICLE}, {claim.source}: {claim.article}", _BODY, _INK)
    block.write(f"{HERE}: {claim.here}", _BODY, _INK)
    block.leave(6)
    block.write_rows(_rows(claim.numbers))
    block.draw(picture.svg, f"p{number}-")
    block.write(f"{criterion(claim)} {picture.note}", _SMALL, _QUIET)
    return block


def _rows(compared: Iterable[Compared]) -> list[list[str]]:
    return [["", ARTICLE, HERE], *([row.what, row.article, row.here] for row in compared)]


def _document(blocks: Sequence[_Block], sheet: tuple[int, int] | None) -> str:
    """Returns an SVG document of these blocks. sheet: the number of a sheet of A4 and of all sheets."""
    parts, y = [], float(_MARGIN)
    for block in blocks:
        parts.append(f'<g transform="translate(0 {y:.1f})" data-height="{block.height:.1f}">{"".join(block.parts)}</g>')
        y += block.height + _GAP
    width, height, bottom = str(_WIDTH), f"{y - _GAP + _MARGIN:.0f}", y - _GAP + _MARGIN
    if sheet is not None:
        width, height = (f"{points}" for points in A4_POINTS)
        bottom = _SHEET
        words = f"{sheet[0]} of {sheet[1]}"
        parts.append(
            f'<text x="{_WIDTH - _MARGIN}" y="{_SHEET - _MARGIN / 2:.1f}" text-anchor="end" font-family="{FAMILIES}" '
            f'font-size="{_SMALL}" fill="{_QUIET}">{words}</text>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="{width}" '
        f'height="{height}" viewBox="0 0 {_WIDTH} {bottom:.2f}">'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>'
    )
