"""Draws a plot of the knee's figure: measures of a network against LOWAT, in plain Vega-Lite.

LOWAT is on a logarithmic axis. LOWAT unset is at the right end, not joined to the other values. Vertical bars are
bootstrap intervals. The grey band is the noise band (analysis/sweeps/noise_band.py) around the median of one value of
LOWAT, the base. In the plot of goodput the base is LOWAT unset or, if too few of its runs are ok, the largest fixed
value. In the other plot the base is the value with the soonest first byte, and the band begins at the base's median.
Another value differs measurably from the base if its median is outside the band, and its bar does not overlap the
base's bar. A ring marks the recommended value. A dashed line shows the result of LOWAT=auto.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any, Self

from priolab.analysis.figures.backlog import ticks
from priolab.analysis.figures.palette import GOODPUT, GRID, IMPORTANT, INK, LAYERS, NO_DIFFERENCE, STEERED
from priolab.analysis.figures.sheet import WIDTH, Declaration, layer
from priolab.analysis.loads.layer import Layer
from priolab.analysis.sweeps import words
from priolab.analysis.sweeps.knee import Knee
from priolab.analysis.sweeps.measures import Measure
from priolab.analysis.sweeps.network_knobs import NONE
from priolab.analysis.sweeps.networks import Level, Network

GAP_PX = 36
"""The gap between plots side by side."""

AXIS_PX = 84
"""The width of the axis left of a plot."""

_UNSET_AFTER = 1.5  # from the largest value to LOWAT unset, in doublings
_ROOM, _GOODPUT_ROOM = 1.12, 1.5  # above the highest value, as a factor; the plot of goodput has text there
_SERIES: Mapping[Measure, tuple[str, str]] = {
    Measure.FIRST_BYTE: ("script first byte", IMPORTANT[0]),
    Measure.SEND_QUEUE: ("script unsent in the kernel", LAYERS[Layer.UNSENT]),
    Measure.GOODPUT: ("goodput", GOODPUT),
}
_AUTO = "LOWAT=auto"
_COLOURS = {**dict(_SERIES.values()), _AUTO: STEERED}


@dataclass(frozen=True, kw_only=True)
class Size:
    """The size of a network's plots. columns: the number of networks side by side. font_px: the size of the titles."""

    columns: int
    font_px: int

    @property
    def width_px(self) -> int:
        """The width of a plot, without its axis."""
        return (WIDTH - (self.columns - 1) * GAP_PX) // self.columns - AXIS_PX

    def height_px(self, measure: Measure) -> int:
        """Returns the height of a plot. measure: the measure whose noise band the plot shows."""
        return round(self.width_px * (0.14 if measure is Measure.GOODPUT else 0.34)) + 50

    def letters(self, **more: Any) -> Declaration:
        """Returns the properties of an axis: its font sizes, and the properties in `more`."""
        return {
            "labelFontSize": self.font_px - 2,
            "titleFontSize": self.font_px,
            "titleFontWeight": "normal",
            **more,
        }


@dataclass(frozen=True, kw_only=True)
class Axis:
    """The axis that all plots share: fixed values of LOWAT on a binary logarithmic scale, then LOWAT unset.

    has_steered: True if any of the plots shows LOWAT=auto, which has no position on the axis.
    """

    values: tuple[int, ...]
    has_steered: bool

    @classmethod
    def of(cls, shown: Sequence[Network]) -> Self:
        """Returns the common axis of all networks."""
        levels = [level for network in shown for level in network.levels]
        tried = {level.lowat_bytes for level in levels}
        return cls(
            values=tuple(sorted(value for value in tried if value is not None)),
            has_steered=any(level.is_steered and level.is_good for level in levels),
        )

    def place(self, level: Level) -> float:
        """Returns the position of a value of LOWAT on the axis."""
        return self.unset if level.lowat_bytes is None else log2(level.lowat_bytes)

    @property
    def unset(self) -> float:
        """The position of LOWAT unset."""
        return log2(max(self.values, default=1)) + _UNSET_AFTER

    @property
    def domain(self) -> tuple[float, float]:
        """The axis's lower and upper end."""
        return log2(min(self.values, default=1)) - 0.6, self.unset + 0.6

    def x(self, size: Size, *, is_shown: bool) -> Declaration:
        """Returns the declaration of the axis. is_shown: True if the axis has title, labels and ticks."""
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


class Plot:
    """A plot of some measures of a network.

    drawn: the measures. Only the last one has the noise band, and the ring around the recommended value.
    """

    def __init__(self, network: Network, knee: Knee, axis: Axis, size: Size, drawn: Sequence[Measure]) -> None:
        self._knee, self._axis, self._size, self._drawn = knee, axis, size, drawn
        self._judged = drawn[-1]
        self._good = [level for level in network.levels if level.is_good]
        self._most = max(level.estimate(self._judged).high for level in self._good)
        self._scale, self._unit = _unit(self._judged, self._most)

    def declaration(self, move: str) -> Declaration:
        """Returns the declaration of the plot. move: the Vega-Lite name of the selection that moves the axis."""
        layers = [*self._band(), *self._auto(), *self._lines(), *self._ring()]
        layers[0]["params"] = [{"name": move, "select": {"type": "interval", "encodings": ["x"]}, "bind": "scales"}]
        return {"width": self._size.width_px, "height": self._size.height_px(self._judged), "layer": layers}

    def _layer(self, rows: Sequence[Mapping[str, Any]], mark: Declaration, **encoding: Any) -> Declaration:
        axes = {"x": self._axis.x(self._size, is_shown=self._judged is Measure.GOODPUT), "y": self._y()}
        return layer(rows, mark, **(axes | encoding))

    def _y(self) -> Declaration:
        most = self._most / self._scale
        axis = self._size.letters(
            title=self._unit,
            # No tick at the very top: the tick's label would make this plot higher than the plot beside it.
            values=[0.0, *ticks(most, most / (3 if self._judged is Measure.GOODPUT else 5))],
            gridColor=GRID,
            minExtent=AXIS_PX - 30,
            maxExtent=AXIS_PX - 30,
            domain=False,
        )
        scale = {"domain": [0, self._top], "nice": False}
        return {"field": "y", "type": "quantitative", "scale": scale, "axis": axis}

    @property
    def _top(self) -> float:
        room = _GOODPUT_ROOM if self._judged is Measure.GOODPUT else _ROOM
        return self._most / self._scale * room

    def _band(self) -> list[Declaration]:
        """Returns the layer of the noise band: around the best first byte, or around the goodput of the reference."""
        is_goodput = self._judged is Measure.GOODPUT
        level = self._knee.reference if is_goodput else self._knee.best
        if level is None:
            return []
        median = level.estimate(self._judged).median
        low, high = self._knee.spreads[self._judged].reach(median, median)
        left, right = self._axis.domain
        bottom, top = (low if is_goodput else median) / self._scale, min(high / self._scale, self._top)
        row = {"at": left, "to": right, "y": bottom, "top": top}
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
            # Lines do not join LOWAT unset to the fixed values.
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
    """Formats a number of bytes; a multiple of 1024 in KiB, such as 16K."""
    return f"{value // 1024}K" if value % 1024 == 0 else str(value)
