"""The knee: script first byte, its part in the send queue, and goodput against LOWAT, for each network of a sweep.

LOWAT is on a logarithmic axis, the same for all, with unset at the right of it, joined to nothing. Bars are intervals.
The grey band is what is no difference: from the soonest first byte, and from the goodput that others are held against.
A ring is around the recommended value; what LOWAT=auto reached is a dashed line.

It is declared in Vega-Lite's own words: Altair copies and checks what stands in a row of a row again and again, which
takes half a minute for two dozen networks.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from pathlib import Path
from typing import Any, Self

from analysis.figures import lettering, picture
from analysis.figures.palette import GOODPUT, GRID, INK, LAYERS, NO_DIFFERENCE, QUIET, RESOURCES, STEERED
from analysis.figures.sheet import CONFIG, FONT, WIDTH
from analysis.ledger import Layer
from analysis.metrics import SCRIPT
from analysis.sweeps import words
from analysis.sweeps.folder import Sweep
from analysis.sweeps.knee import Knee, find
from analysis.sweeps.measures import Measure
from analysis.sweeps.networks import NONE, Level, Network, networks

NAME = "knee"
"""Of the files."""

Declaration = dict[str, Any]

_GAP_PX = 36
_AXIS_PX = 84  # what stands left of a plot
_UNSET_AFTER = 1.5  # doublings
_ROOM = 1.12
_SERIES: Mapping[Measure, tuple[str, str]] = {
    Measure.FIRST_BYTE: ("script first byte", RESOURCES[SCRIPT]),
    Measure.SEND_QUEUE: ("of it, unsent in the kernel", LAYERS[Layer.UNSENT]),
    Measure.GOODPUT: ("goodput", GOODPUT),
}
_AUTO = "LOWAT=auto"
_COLOURS = {**dict(_SERIES.values()), _AUTO: STEERED}


@dataclass(frozen=True, kw_only=True)
class _Size:
    """What a network has of the sheet."""

    columns: int
    font_px: int

    @property
    def width_px(self) -> int:
        """Of a plot, without what stands left of it."""
        return (WIDTH - (self.columns - 1) * _GAP_PX) // self.columns - _AXIS_PX

    def height_px(self, measure: Measure) -> int:
        return round(self.width_px * (0.14 if measure is Measure.GOODPUT else 0.34)) + 50

    def letters(self, **more: Any) -> Declaration:
        """Of an axis."""
        return {
            "labelFontSize": self.font_px - 2,
            "titleFontSize": self.font_px,
            "titleFontWeight": "normal",
            **more,
        }


_SIZES = ((1, _Size(columns=1, font_px=22)), (4, _Size(columns=2, font_px=19)), (10**6, _Size(columns=3, font_px=16)))


@dataclass(frozen=True, kw_only=True)
class _Axis:
    """Places of the values on the common axis: by binary logarithm, unset after them.

    has_steered: whether LOWAT=auto, which has no place on it, is in any of the plots.
    """

    values: tuple[int, ...]
    has_steered: bool

    @classmethod
    def of(cls, shown: Sequence[Network]) -> Self:
        levels = [level for network in shown for level in network.levels]
        tried = {level.lowat_bytes for level in levels}
        return cls(
            values=tuple(sorted(value for value in tried if value is not None)),
            has_steered=any(level.is_steered and level.is_good for level in levels),
        )

    def place(self, level: Level) -> float:
        return self.unset if level.lowat_bytes is None else log2(level.lowat_bytes)

    @property
    def unset(self) -> float:
        return log2(max(self.values, default=1)) + _UNSET_AFTER

    @property
    def domain(self) -> tuple[float, float]:
        return log2(min(self.values, default=1)) - 0.6, self.unset + 0.6

    def x(self, size: _Size, *, is_shown: bool) -> Declaration:
        """The axis, labelled with the values."""
        labels = [(log2(value), _short(value)) for value in self.values] + [(self.unset, NONE)]
        text = " : ".join(f"abs(datum.value - {place:.6f}) < 0.001 ? '{label}'" for place, label in labels)
        axis = {
            "title": "LOWAT, bytes" if is_shown else None,
            "values": [place for place, _ in labels],
            "labelExpr": f"{text} : ''",
            "labels": is_shown,
            "ticks": is_shown,
            "labelOverlap": "greedy",
            "grid": False,
        }
        scale = {"domain": list(self.domain), "nice": False}
        return {"field": "at", "type": "quantitative", "scale": scale, "axis": size.letters(**axis)}


def save(sweep: Sweep) -> list[Path]:
    """The picture in the sweep's folder, as SVG, PNG and HTML; none if no run is ok. Raises FolderError, OSError."""
    declaration = draw(sweep)
    return picture.save_declaration(declaration, sweep.path, NAME) if declaration else []


def draw(sweep: Sweep) -> Declaration | None:
    """The declaration, None if there is nothing to show. Raises FolderError."""
    found = networks(sweep)
    shown = [network for network in found if any(level.is_good for level in network.levels)]
    if not shown:
        return None
    size = next(size for most, size in _SIZES if len(shown) <= most)
    axis = _Axis.of(shown)
    cells = [_cell(network, axis, size, number) for number, network in enumerate(shown)]
    _level_titles(cells)
    return {
        "title": {
            "text": lettering.wrapped(list(_headline(sweep, found, shown)), " · ", FONT, WIDTH),
            "fontSize": FONT,
            "fontWeight": "normal",
            "color": QUIET,
            "anchor": "start",
            "offset": 14,
        },
        "vconcat": [
            {"hconcat": cells[start : start + size.columns], "spacing": _GAP_PX}
            for start in range(0, len(cells), size.columns)
        ],
        "spacing": 30,
        "resolve": {"scale": {"color": "shared"}},
        "config": CONFIG,
    }


def _headline(sweep: Sweep, found: Sequence[Network], shown: Sequence[Network]) -> Iterator[str]:
    document = sweep.document
    yield document["name"]
    yield f"{len(found)} network{'s' if len(found) > 1 else ''}"
    yield document["fabric"]
    yield "one repetition" if document["repeat"] == 1 else f"{document['repeat']} repetitions"
    yield "ring: recommended"
    yield "grey: no difference"
    if troubles := sum(len(arm.troubles) for arm in sweep.arms):
        yield f"{troubles} run{'s' if troubles > 1 else ''} missing or not ok"
    yield from (f"{network.name}: no run is ok" for network in found if network not in shown)


def _cell(network: Network, axis: _Axis, size: _Size, number: int) -> Declaration:
    knee = find(network)
    room_px = size.width_px + _AXIS_PX
    title = {
        "text": lettering.wrapped(network.name.split(), " ", size.font_px, room_px),
        "subtitle": lettering.wrapped(_subtitle(network, knee).split(), " ", size.font_px - 2, room_px),
        "fontSize": size.font_px,
        "subtitleFontSize": size.font_px - 2,
        "subtitleColor": QUIET,
        "color": INK,
        "anchor": "start",
        "offset": 8,
    }
    above = _Plot(network, knee, axis, size, (Measure.SEND_QUEUE, Measure.FIRST_BYTE))
    below = _Plot(network, knee, axis, size, (Measure.GOODPUT,))
    plots = [above.declaration(f"move{number}above"), below.declaration(f"move{number}below")]
    return {"title": title, "vconcat": plots, "spacing": 10}


def _level_titles(cells: Sequence[Declaration]) -> None:
    """As many lines above each, so that the plots of a row stand at one height."""
    most = max(len(cell["title"]["text"]) + len(cell["title"]["subtitle"]) for cell in cells)
    for cell in cells:
        title = cell["title"]
        title["text"] = [""] * (most - len(title["text"]) - len(title["subtitle"])) + title["text"]


def _subtitle(network: Network, knee: Knee) -> str:
    if knee.recommended is None:
        said = "no value can be recommended"
    else:
        first = words.interval(Measure.FIRST_BYTE, knee.recommended.estimate(Measure.FIRST_BYTE))
        said = f"recommended: {words.lowat(knee.recommended)}, {first}"
    if knee.falls_at:
        said += f"; goodput falls at {knee.falls_at.value}"
    missing = [level.value for level in network.levels if not level.is_good]
    return f"{said}; without a good run: {', '.join(missing)}" if missing else said


class _Plot:
    """One of a network's two plots: these measures, the last of which is the one that is judged."""

    def __init__(self, network: Network, knee: Knee, axis: _Axis, size: _Size, drawn: Sequence[Measure]) -> None:
        self._knee, self._axis, self._size, self._drawn = knee, axis, size, drawn
        self._judged = drawn[-1]
        self._good = [level for level in network.levels if level.is_good]
        self._most = max(level.estimate(self._judged).high for level in self._good)
        self._scale, self._unit = _unit(self._judged, self._most)

    def declaration(self, move: str) -> Declaration:
        """The plot. move: a name for what moves its axis."""
        layers = [*self._band(), *self._auto(), *self._lines(), *self._ring()]
        layers[0]["params"] = [{"name": move, "select": {"type": "interval", "encodings": ["x"]}, "bind": "scales"}]
        return {"width": self._size.width_px, "height": self._size.height_px(self._judged), "layer": layers}

    def _layer(self, rows: Sequence[Mapping[str, Any]], mark: Declaration, **encoding: Any) -> Declaration:
        axes = {"x": self._axis.x(self._size, is_shown=self._judged is Measure.GOODPUT), "y": self._y()}
        return {"data": {"values": list(rows)}, "mark": mark, "encoding": axes | encoding}

    def _y(self) -> Declaration:
        axis = self._size.letters(
            title=self._unit,
            tickCount=3 if self._judged is Measure.GOODPUT else 5,
            gridColor=GRID,
            minExtent=_AXIS_PX - 30,
            maxExtent=_AXIS_PX - 30,
            domain=False,
        )
        scale = {"domain": [0, self._most * _ROOM / self._scale], "nice": False}
        return {"field": "y", "type": "quantitative", "scale": scale, "axis": axis}

    def _band(self) -> list[Declaration]:
        """Above the best first byte, or to both sides of the goodput that others are held against."""
        is_goodput = self._judged is Measure.GOODPUT
        level = self._knee.reference if is_goodput else self._knee.best
        if level is None:
            return []
        median = level.estimate(self._judged).median
        band = self._knee.spreads[self._judged].band(median)
        bottom = max(0.0, median - band) if is_goodput else median
        left, right = self._axis.domain
        row = {"at": left, "to": right, "y": bottom / self._scale, "top": (median + band) / self._scale}
        return [self._layer([row], {"type": "rect", "color": NO_DIFFERENCE}, x2={"field": "to"}, y2={"field": "top"})]

    def _auto(self) -> list[Declaration]:
        left, right = self._axis.domain
        rows = [
            {
                "at": left,
                "to": right,
                "y": level.estimate(self._judged).median / self._scale,
                "series": _AUTO,
                "text": f"{level.value} {words.amount(self._judged, level.estimate(self._judged).median)}",
            }
            for level in self._good
            if level.is_steered
        ]
        if not rows:
            return []
        text = {
            "type": "text",
            "align": "right",
            "baseline": "bottom",
            "dy": -4,
            "fontSize": self._size.font_px - 2,
            "color": STEERED,
        }
        rule = {"type": "rule", "strokeWidth": 3, "strokeDash": [9, 6]}
        ends = [row | {"at": right} for row in rows]
        line = self._layer(rows, rule, x2={"field": "to"}, color=self._colour())
        return [line] if self._judged is Measure.GOODPUT else [line, self._layer(ends, text, text={"field": "text"})]

    def _lines(self) -> Iterator[Declaration]:
        for measure in self._drawn:
            points = [point for level in self._good if (point := self._point(level, measure)) and not level.is_steered]
            width = 2 if measure is Measure.SEND_QUEUE else 4
            series = {"color": self._colour(), "detail": {"field": "joined"}}
            yield self._layer(points, {"type": "line", "strokeWidth": width}, **series)
            yield self._layer(
                [{**point, "y": point["low"]} for point in points],
                {"type": "rule", "strokeWidth": 3},
                y2={"field": "high"},
                color=self._colour(),
            )
            tooltip = [{"field": "lowat", "title": "LOWAT"}, {"field": "told", "title": _SERIES[measure][0]}]
            dot = {"type": "point", "filled": True, "size": 40 * width, "opacity": 1}
            yield self._layer(points, dot, color=self._colour(), tooltip=tooltip)

    def _ring(self) -> list[Declaration]:
        point = self._point(self._knee.recommended, self._judged) if self._knee.recommended else None
        if point is None:
            return []
        text = {
            "type": "text",
            "dy": -self._size.font_px,
            "fontSize": self._size.font_px - 1,
            "fontWeight": "bold",
            "color": INK,
            "baseline": "bottom",
        }
        ring = {"type": "point", "size": 480, "filled": False, "strokeWidth": 3, "color": INK, "opacity": 1}
        return [self._layer([point], ring), self._layer([point], text, text={"field": "text"})]

    def _colour(self) -> Declaration:
        names = [name for name in _COLOURS if name != _AUTO or self._axis.has_steered]
        return {
            "field": "series",
            "type": "nominal",
            "scale": {"domain": names, "range": [_COLOURS[name] for name in names]},
            "legend": {"columns": len(names)},
        }

    def _point(self, level: Level, measure: Measure) -> Declaration | None:
        found = level.estimates.get(measure)
        if found is None:
            return None
        return {
            "at": self._axis.place(level),
            "y": found.median / self._scale,
            "low": found.low / self._scale,
            "high": found.high / self._scale,
            "lowat": level.value,
            # Unset is no value among the others: it is not joined to them.
            "joined": level.value != NONE,
            "series": _SERIES[measure][0],
            "text": words.amount(measure, found.median),
            "told": f"{words.interval(measure, found)}, {found.repetitions} of {level.asked} repetitions",
        }


def _unit(measure: Measure, most: float) -> tuple[float, str]:
    if measure is not Measure.GOODPUT:
        return 1000.0, "seconds"
    return (10**6, "Mbit/s") if most >= 10**6 else (10**3, "kbit/s")


def _short(value: int) -> str:
    """In K if it is a whole number of them."""
    return f"{value // 1024}K" if value % 1024 == 0 else str(value)
