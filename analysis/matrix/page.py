"""Writes the matrix as a self-contained HTML file: a cell per server and dialect, with small timelines. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from statistics import median

from analysis.figures.palette import GRID, INK, QUIET, RESOURCES, ink_on
from analysis.loads.probe import Probe
from analysis.matrix.cells import Cell, Crossing, Layer, Matrix, Reading
from analysis.matrix.text import MARKS

_COLOURS = {Layer.NOWHERE: "#00664b", Layer.SOCKET: "#1f9384", Layer.FRONT: "#ddcc77", Layer.SERVER: "#e4e4e4"}
_WIDTH, _STRIPE, _LABEL = 150, 12, 46
_BINS = 50

_STYLE = f"""
:root {{ color-scheme: light; }}
body {{ margin: 0 auto; padding: 2rem 1.5rem 4rem; background: #fff; color: {INK};
  font: 1rem/1.45 "Liberation Sans", Helvetica, Arial, sans-serif; }}
h1 {{ font-size: 1.9rem; margin: 0 0 .4rem; }}
p {{ max-width: 62rem; margin: .4rem 0; }}
.quiet {{ color: {QUIET}; font-size: .92rem; }}
.scroll {{ overflow-x: auto; margin: 1.2rem 0; }}
table {{ border-collapse: separate; border-spacing: 4px; }}
thead th {{ font-size: .9rem; color: {QUIET}; font-weight: normal; text-align: left; padding: 0 .5rem .2rem; }}
tbody th {{ text-align: left; vertical-align: top; padding: .5rem .8rem .5rem 0; min-width: 8rem; }}
tbody th span {{ display: block; font-weight: normal; color: {QUIET}; font-size: .82rem; }}
td {{ vertical-align: top; padding: 0; border: 1px solid {GRID}; border-radius: 4px; }}
.stamp {{ padding: .2rem .5rem; font-size: .85rem; border-radius: 3px 3px 0 0; }}
td svg {{ display: block; margin: .35rem .4rem .4rem; }}
svg text {{ font: 9px "Liberation Sans", Helvetica, Arial, sans-serif; fill: {QUIET}; }}
.key {{ display: inline-block; width: .8rem; height: .8rem; border-radius: 2px; margin: 0 .3rem 0 1rem; }}
"""


def html(matrix: Matrix) -> str:
    """Returns the HTML document."""
    longest_s = max(
        piece[0] for cell in matrix.cells.values() for each in _crossings(matrix, cell) for piece in each.lanes
    )
    rows = "\n".join(_row(matrix, server, longest_s) for server in matrix.servers)
    head = "".join(f'<th scope="col">{escape(dialect)}</th>' for dialect in matrix.dialects)
    absent = "".join(f"<p class='quiet'>{escape(server)}: {escape(why)}.</p>" for server, why in matrix.absent.items())
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Who keeps the order?</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>Who keeps the order?</h1>
<p>A row is a server, a column a dialect. In each cell the client asks the server in the dialect to send the script
before the image: in a probe, in which only the client's window limits the server, and over a slow link with a large
send buffer, with LOWAT unset and with LOWAT set.</p>
<p class="quiet">{_key()}</p>
<div class="scroll"><table>
<thead><tr><th></th>{head}</tr></thead>
<tbody>
{rows}
</tbody>
</table></div>
<p class="quiet">In each cell: <b>window</b>, the order of the bytes that the server sent as the window was opened (no
time axis); <b>unset</b> and <b>lowat</b>, the bytes that arrived over the slow link, LOWAT unset and LOWAT=16384;
<b>native</b>, the same with the server's own mechanism in place of LOWAT. Unset, lowat and native share one time axis
of {longest_s:.1f}&nbsp;s. If the server does not follow a dialect, unset and lowat show loads without priorities.</p>
{absent}</body>
</html>
"""


def _key() -> str:
    resources = [(name, colour) for name, colour in RESOURCES.items()]
    layers = [(MARKS[layer], colour) for layer, colour in _COLOURS.items()]
    return "".join(
        f'<span class="key" style="background:{colour}"></span>{escape(str(name))}'
        for name, colour in resources + layers
    )


def _row(matrix: Matrix, server: str, longest_s: float) -> str:
    cells = "".join(_cell(matrix, matrix.cells[server, dialect], longest_s) for dialect in matrix.dialects)
    version = escape(matrix.versions[server])
    return f'<tr><th scope="row">{escape(server)}<span>{version}</span></th>{cells}</tr>'


def _cell(matrix: Matrix, cell: Cell, longest_s: float) -> str:
    colour = _COLOURS[cell.layer]
    asked, swapped = (f"{cell.probes[name].important_share:.0%}" for name in ("spdy", "swap"))
    told = f"{cell.server}, {cell.dialect}: {cell.reading} (script's share: {asked}, or {swapped} if asked for last)"
    told += f"; {cell.sentence}"
    word = f"{cell.reading} {asked}" if cell.reading is Reading.PROPORTIONAL else str(cell.reading)
    return (
        f'<td title="{escape(told)}"><div class="stamp" style="background:{colour};color:{ink_on(colour)}">'
        f"{escape(word)}</div>{_picture(cell, _crossings(matrix, cell), longest_s)}</td>"
    )


def _crossings(matrix: Matrix, cell: Cell) -> list[Crossing]:
    if cell.control is None:
        unasked = matrix.unasked[cell.server]
        return [unasked.control, unasked.lowat]
    return [each.asked for each in (cell.control, cell.lowat, cell.native) if each]


def _picture(cell: Cell, crossings: Sequence[Crossing], longest_s: float) -> str:
    stripes = [("window", _of_probe(cell.probes["spdy"]))]
    names = ("unset", "lowat", "native")
    stripes += [(name, _of_link(each, longest_s)) for name, each in zip(names, crossings, strict=False)]
    height = len(stripes) * (_STRIPE + 4)
    drawn = "".join(
        f'<text x="0" y="{row * (_STRIPE + 4) + _STRIPE - 3}">{name}</text>'
        f'<g transform="translate({_LABEL} {row * (_STRIPE + 4)})">{_drawn(marks)}</g>'
        for row, (name, marks) in enumerate(stripes)
    )
    return f'<svg width="{_LABEL + _WIDTH}" height="{height}" role="img" aria-label="timelines">{drawn}</svg>'


Mark = tuple[str, str]
"""A rectangle: its colour, and its outline as an SVG path."""


def _of_probe(probe: Probe) -> Iterator[Mark]:
    """Yields the rectangles of a probe. A probe shows the order only, so a rectangle's width is bytes, not time."""
    total, x = sum(size for _, size in probe.served), 0.0
    for name, size in probe.served:
        width = size / total * _WIDTH
        yield _mark(x, width, _STRIPE, RESOURCES[name])
        x += width


def _of_link(crossing: Crossing, longest_s: float) -> Iterator[Mark]:
    """Yields the rectangles of a load: in each bin of time, one per resource, as high as its share of the link."""
    bins: list[dict[str, int]] = [{} for _ in range(_BINS)]
    for t_s, name, size in crossing.lanes:
        own = bins[min(_BINS - 1, int(t_s / longest_s * _BINS))]
        own[name] = own.get(name, 0) + size
    usual = median([sum(own.values()) for own in bins if own])
    width = _WIDTH / _BINS
    for number, own in enumerate(bins):
        y, full = float(_STRIPE), max(usual, sum(own.values()))
        for name, colour in RESOURCES.items():
            if height := own.get(name, 0) / full * _STRIPE:
                y -= height
                yield _mark(number * width, width, height, colour, y)


def _mark(x: float, width: float, height: float, colour: str, y: float = 0.0) -> Mark:
    right, bottom = x + width, y + height
    return colour, f"M{x:.1f} {y:.1f}H{right:.1f}V{bottom:.1f}H{x:.1f}z"


def _drawn(marks: Iterable[Mark]) -> str:
    outlines: dict[str, str] = {}
    for colour, outline in marks:
        outlines[colour] = outlines.get(colour, "") + outline
    return "".join(f'<path fill="{colour}" d="{outline}"/>' for colour, outline in outlines.items())


def colours() -> Sequence[str]:
    """Returns the background colours of the cells' headings, for a test of their contrast."""
    return list(_COLOURS.values())
