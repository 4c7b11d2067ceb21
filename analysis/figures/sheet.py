"""Composes sheets: panels one above the other on a common axis.

Elements of a panel have positions on the axis, not on the paper, so that they move when the reader moves the axis of
the interactive figure. Fields of the data: start and end are values of the axis; base and top are heights in the panel.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from priolab.analysis.figures import lettering
from priolab.analysis.figures.lettering import FAMILIES, Label
from priolab.analysis.figures.palette import GRID, INK, QUIET

WIDTH = 1320
FONT = 24
SMALL = FONT - 3
_NAME_PX = 14

Declaration = dict[str, Any]
"""A figure, or a part of a figure, in Vega-Lite."""

Rows = Sequence[Mapping[str, Any]]
"""The data of a layer."""

CONFIG: Declaration = {
    "font": FAMILIES,
    "padding": 24,
    "background": "white",
    "view": {"stroke": None},
    "legend": {
        "title": None,
        "orient": "bottom",
        "labelFontSize": SMALL,
        "labelLimit": 0,
        "symbolType": "square",
        "symbolSize": 400,
        "symbolStrokeWidth": 0,
        "columnPadding": 30,
        "rowPadding": 8,
        "offset": 18,
    },
}
"""The configuration of all figures."""

START: Declaration = {"field": "start", "type": "quantitative"}
END: Declaration = {"field": "end"}
TEXT: Declaration = {"field": "text", "type": "nominal"}
_OWN_COLOUR: Declaration = {"field": "colour", "type": "nominal", "scale": None, "legend": None}


@dataclass(frozen=True, kw_only=True)
class Axis:
    """The horizontal axis that all panels share, from 0 to `most`."""

    most: float
    title: str

    def pixels(self, value: float) -> float:
        """Returns the position of a value, in pixels from the left."""
        return value / self.most * WIDTH

    def value(self, at_px: float) -> float:
        """Returns the value at a position in pixels from the left."""
        return at_px / WIDTH * self.most

    def step(self, index: int, step_px: float) -> dict[str, float]:
        """Returns the start and end of a step of the axis. step_px: the width of a step. index: its number, from 0."""
        start, end = (round(self.value(at * step_px), 4) for at in (index, index + 1))
        return {"start": start, "end": min(end, self.most)}

    def seconds(self, value_s: float) -> str:
        """Formats a time with as many digits as the axis can show."""
        digits = 3 if self.most < 1 else 2 if self.most < 200 else 0
        return f"{value_s:.{digits}f} s"


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A panel's coordinates: the horizontal axis, and the vertical scale from `bottom` to `top`.

    is_last: True if the panel shows the axis's title and labels.
    """

    axis: Axis
    bottom: float
    top: float
    height_px: float
    is_last: bool

    def x(self) -> Declaration:
        """Returns the horizontal channel with the axis, for a single layer of the panel. The other layers use START."""
        axis = {
            "title": self.axis.title if self.is_last else None,
            "labelFontSize": FONT - 2,
            "titleFontSize": FONT,
            "titleFontWeight": "normal",
            "titlePadding": 12,
            "grid": True,
            "gridColor": GRID,
            "tickCount": 12,
            "labels": self.is_last,
            "ticks": self.is_last,
            "domain": self.is_last,
        }
        return START | {"scale": {"domain": [0, self.axis.most], "nice": False}, "axis": axis}

    def y(self, field: str) -> Declaration:
        """Returns the vertical channel for a field of the data that is a height in the panel."""
        scale = {"domain": [self.bottom, self.top], "nice": False}
        return {"field": field, "type": "quantitative", "scale": scale, "axis": None}

    def marks(self, rows: Rows, mark: Declaration, **channels: Any) -> Declaration:
        """Draws a mark for each row, at its start and from its base to its top.

        channels: further channels, or channels that replace these.
        """
        return layer(rows, mark, **{"x": START, "y": self.y("base"), "y2": {"field": "top"}, **channels})

    def text(self, label: Label, row: float, colour: str, *, bold: bool = False) -> Declaration:
        """Draws a label. row: its height in the panel."""
        mark = {
            "type": "text",
            "align": "left" if label.side > 0 else "right",
            "dx": 7 * label.side,
            "baseline": "middle",
            "fontSize": label.font_px,
            "fontWeight": "bold" if bold else "normal",
            "color": colour,
        }
        rows = [{"start": self.axis.value(label.at_px), "base": row, "text": label.text}]
        return layer(rows, mark, x=START, y=self.y("base"), text=TEXT)

    def margin(self, text: str, row: float, colour: str, *, side: int, font_px: float = FONT) -> Declaration:
        """Writes text beside the panel, at the height `row`: to the left if side is -1, to the right if side is 1."""
        mark = {
            "type": "text",
            "align": "left" if side > 0 else "right",
            "baseline": "middle",
            "fontSize": font_px,
            "fontWeight": "bold" if side < 0 and font_px == FONT else "normal",
            "color": colour,
            "clip": False,
        }
        at_px = WIDTH + _NAME_PX if side > 0 else -_NAME_PX
        return layer([{"base": row, "text": text}], mark, x={"value": at_px}, y=self.y("base"), text=TEXT)

    def level(self, row: float, colour: str, *, dash: Sequence[int] = ()) -> Declaration:
        """Draws a thin horizontal line across the panel, at the height `row`."""
        mark = {"type": "rule", "strokeWidth": 1.5, "strokeDash": list(dash), "color": colour}
        return layer([{"base": row}], mark, y=self.y("base"))

    def instant(
        self, at: float, spans: Sequence[tuple[float, float]], colour: str = INK, *, width_px: float = 3
    ) -> Declaration:
        """Draws a dashed vertical line at a value of the axis. spans: the line's parts, each as (bottom, top)."""
        rows = [{"start": at, "base": bottom, "top": top} for bottom, top in spans]
        mark = {"type": "rule", "strokeWidth": width_px, "strokeDash": [9, 6], "color": colour}
        return self.marks(rows, mark, y=self.y("top"), y2={"field": "base"})

    def bars(self, rows: Rows, tooltip: Sequence[Declaration], **channels: Declaration) -> Declaration:
        """Draws a bar for each row, from start to end and from base to top, in the row's colour.

        channels: further channels, or channels that replace these.
        """
        ends = {"x": self.x(), "x2": END, "color": _OWN_COLOUR, "tooltip": list(tooltip)}
        return self.marks(rows, {"type": "rect"}, **(ends | channels))

    def numbers(self, rows: Rows, tooltip: Mapping[str, str]) -> Declaration:
        """Makes a tooltip for each row, shown between the row's start and end. tooltip: the title of each field."""
        return self.marks(
            rows,
            {"type": "rect", "opacity": 0, "aria": False},
            x2=END,
            y={"value": 0},
            y2={"value": self.height_px},
            tooltip=[number(field, words, ",.2f") for field, words in tooltip.items()],
        )

    def made_of(self, layers: Sequence[Declaration], title: Declaration) -> Declaration:
        """Returns the panel made of these layers. The first layer must have the axis."""
        return {"width": WIDTH, "height": self.height_px, "title": title, "layer": merged(layers)}


def layer(rows: Rows, mark: Declaration, **channels: Any) -> Declaration:
    """Returns a layer with a mark for each row. channels: the marks' positions, colours and texts."""
    return {"data": {"values": list(rows)}, "mark": mark, "encoding": channels}


def merged(layers: Sequence[Declaration]) -> list[Declaration]:
    """Merges equal layers of texts or thin lines into one layer, because each layer takes time to draw.

    Layers are equal if only their rows and the colours of their marks differ. A line is never moved above an area that
    is drawn after it; a text may be.
    """
    made: list[Declaration] = []
    for each in layers:
        if each["mark"]["type"] not in _JOINED or "color" not in each["mark"]:
            made.append(each)
            continue
        rows = _coloured(each)
        twin = next((index for index, one in enumerate(made) if _style(one) == _style(each)), None)
        if twin is not None and (each["mark"]["type"] == "text" or _may_be_later(made[twin:])):
            rows = [*made.pop(twin)["data"]["values"], *rows]
        made.append(_with_rows(each, rows))
    return made


_JOINED = ("text", "rule")


def _may_be_later(layers: Sequence[Declaration]) -> bool:
    """True if a line may be drawn after these layers instead of before, because they have only texts and lines."""
    return all(each["mark"]["type"] in _JOINED for each in layers)


def _style(layer: Declaration) -> tuple[Declaration, Declaration]:
    """Returns the mark and the channels of a layer without its colour: they are the same in equal layers."""
    mark = {name: value for name, value in layer["mark"].items() if name != "color"}
    return mark, {name: channel for name, channel in layer["encoding"].items() if channel != _OWN_COLOUR}


def _coloured(layer: Declaration) -> list[dict[str, Any]]:
    return [{**row, "colour": layer["mark"]["color"]} for row in layer["data"]["values"]]


def _with_rows(layer: Declaration, rows: list[dict[str, Any]]) -> dict[str, Any]:
    mark, encoding = _style(layer)
    return {"data": {"values": rows}, "mark": mark, "encoding": {**encoding, "color": _OWN_COLOUR}}


def number(field: str, words: str, digits: str) -> Declaration:
    """Declares a tooltip's line for a number. words: its title. digits: its format in the notation of d3-format."""
    return {"field": field, "type": "quantitative", "title": words, "format": digits}


def title(words: str, subtitle: Sequence[str], colour: str = INK) -> Declaration:
    """Returns the title above a panel. subtitle: a list of words; lines are broken between words."""
    return {
        "text": words,
        "subtitle": lettering.wrapped(subtitle, " ", SMALL, WIDTH),
        "fontSize": FONT + 8,
        "subtitleFontSize": SMALL,
        "subtitleColor": QUIET,
        "subtitlePadding": 6,
        "color": colour,
        "anchor": "start",
        "frame": "group",
        "offset": 10,
    }


def heading(parts: Iterable[str]) -> Declaration:
    """Returns the title of a figure. parts: the parts of the title, to be separated by dots."""
    return {
        "text": lettering.wrapped(parts, " · ", FONT, WIDTH),
        "fontSize": FONT,
        "fontWeight": "normal",
        "color": QUIET,
        "anchor": "start",
        "offset": 14,
    }


def sheet(panels: Sequence[Declaration], title: Declaration) -> Declaration:
    """Returns a sheet of all panels below a title. The axes of all panels move together."""
    names = [f"panel{index}" for index in range(len(panels))]
    move = {"name": "move", "select": {"type": "interval", "encodings": ["x"]}, "bind": "scales", "views": names}
    return {
        "title": title,
        "vconcat": [_named(panel, name) for panel, name in zip(panels, names, strict=True)],
        "spacing": 26,
        "params": [move],
        "config": CONFIG,
    }


def _named(panel: Declaration, name: str) -> Declaration:
    """Returns the panel with a name for its first layer, which has the axis."""
    first, *others = panel["layer"]
    return panel | {"layer": [first | {"name": name}, *others]}


def legend(present: Sequence[str], texts: Mapping[str, str] | None = None) -> Declaration:
    """Returns a legend that has only these entries, in as many columns as fit into the figure's width.

    texts: what the legend says in place of each entry.
    """
    said = texts or {name: name for name in present}
    widest_px = max((lettering.text_px(said[name], SMALL) for name in present), default=0) + _SYMBOL_PX
    made: Declaration = {"values": list(present), "columns": max(1, int(WIDTH // widest_px))}
    return made | {"labelExpr": f"({json.dumps(said)})[datum.label]"} if texts else made


_SYMBOL_PX = 65
"""The width of an entry's square, and of the room around it."""
