"""Draws the two charts that only the reproduction has: the script against LOWAT, and against the load's number."""

from collections.abc import Sequence
from typing import Any

from priolab import Layer, Verdict
from priolab.analysis.figures.palette import GRID, INK, LAYERS, QUIET, RESOURCES, VERDICTS
from priolab.analysis.figures.sheet import CONFIG, TEXT, Declaration, Rows, layer
from priolab.extras.reproduction.figures import Figures
from priolab.extras.reproduction.loads import LoadSeen

_WIDTH = 1400
_HEIGHT = 420
_FONT = 24
_IMAGE, _SCRIPT, _KEPT = RESOURCES["image"], RESOURCES["script"], VERDICTS[Verdict.KEPT]
_BUFFER = LAYERS[Layer.UNSENT]
_PALE_SCRIPT = "#b98a63"
_ROOM = 1.12
_POINT = 130


def most_seconds(figures: Sequence[Figures], loads: Sequence[LoadSeen]) -> float:
    """Returns the upper end of the scale of seconds that both charts share."""
    return _ROOM * max([*(each.complete_s for each in figures), *(load.first_byte_s for load in loads)])


def by_value(control: Figures, ladder: Sequence[Figures], most_s: float) -> Declaration:
    """Draws first and last bytes against LOWAT, with LOWAT unset at the right. The oracle's bound is dashed."""
    values = [*ladder, control]
    order = [each.value for each in values]
    lines = {
        "script first byte": (_SCRIPT, [each.script_first_s for each in values]),
        "script last byte": (_PALE_SCRIPT, [each.script_last_s for each in values]),
        "image last byte": (_IMAGE, [each.image_last_s for each in values]),
    }
    axis = _axis("LOWAT, bytes", grid=False)
    x = {"field": "value", "type": "nominal", "sort": order, "axis": axis, "scale": {"padding": 0.7}}
    y = _y("seconds", "seconds", most_s)
    layers = []
    for colour, seconds in lines.values():
        rows = [{"value": value, "seconds": at_s} for value, at_s in zip(order, seconds, strict=True)]
        # Lines do not join LOWAT unset to the fixed values.
        layers += [_line(rows[:-1], x, y, colour), _line(rows[-1:], x, y, colour)]
    first = [
        {"value": each.value, "seconds": each.script_first_s, "text": f"{each.script_first_s:.2f}"} for each in values
    ]
    layers.append(_words(first, x, y, _SCRIPT, dy=-24))
    # The names are below the lines. That of the lowest line is at its high end, away from the bound.
    for name, (colour, seconds) in lines.items():
        at = -2 if name == "script first byte" else 0
        row = {"value": order[at], "seconds": seconds[at], "text": name}
        layers.append(_words([row], x, y, colour, align="left", dx=12 if at else -6, dy=21))
    bound = [{"seconds": control.possible_s, "text": f"possible: {control.possible_s:.2f} s"}]
    rule = {"type": "rule", "strokeWidth": 3, "strokeDash": [9, 6], "color": QUIET}
    label = {"type": "text", "align": "right", "baseline": "bottom", "dy": -7, "fontSize": _FONT - 2, "color": QUIET}
    layers += [layer(bound, rule, y=y), layer(bound, label, x={"value": _WIDTH}, y=y, text=TEXT)]
    return {"width": _WIDTH, "height": _HEIGHT, "layer": layers, "config": CONFIG}


def by_number(control: Sequence[LoadSeen], treatment: Sequence[LoadSeen], most_s: float) -> Declaration:
    """Draws two charts against the load's number.

    Above is the script's first byte, with LOWAT unset and set. Below is the send buffer with LOWAT unset.
    """
    series = {"LOWAT unset": (_SCRIPT, control, -26), "LOWAT 131072": (_KEPT, treatment, 26)}
    numbers = [load.number for load in control]

    def x(*, shown: bool) -> Declaration:
        words = "load on the connection" if shown else None
        axis = _axis(
            words, grid=False, values=numbers, labels=shown, tickCount=len(numbers), labelOverlap=False, format="d"
        )
        scale = {"domain": [numbers[0] - 0.6, numbers[-1] + 1.4], "nice": False}
        return {"field": "load", "type": "quantitative", "scale": scale, "axis": axis}

    y = _y("seconds", "seconds", most_s)
    layers = []
    for name, (colour, loads, dy) in series.items():
        rows = [
            {"load": load.number, "seconds": load.first_byte_s, "text": f"{load.first_byte_s:.2f}"} for load in loads
        ]
        layers += [_line(rows, x(shown=False), y, colour)]
        layers += [_words(rows[1:], x(shown=False), y, colour, dy=dy)]
        layers += [_words(rows[:1], x(shown=False), y, colour, align="right", dx=-16, dy=dy // 2)]
        layers += [_words([rows[-1] | {"text": name}], x(shown=False), y, colour, align="left", dx=18)]
    above = {
        "width": _WIDTH,
        "height": _HEIGHT,
        "title": title("script first byte, seconds after the page was asked for"),
        "layer": layers,
    }
    sizes = {load.number: load.sndbuf_bytes / 1024 for load in control if load.sndbuf_bytes is not None}
    buffers = [{"load": number, "kib": size_kib, "text": f"{size_kib:.0f}"} for number, size_kib in sizes.items()]
    most_kib = max(sizes.values(), default=1.0) * 1.25
    height = _y("kib", "KiB", most_kib)
    bar = {"type": "bar", "size": 64, "color": _BUFFER}
    below = {
        "width": _WIDTH,
        "height": _HEIGHT // 2,
        "title": title("send buffer when the script was available, KiB, with LOWAT unset: it grew by itself"),
        "layer": [
            layer(buffers, bar, x=x(shown=True), y=height),
            _words(buffers, x(shown=True), height, _BUFFER, dy=-16),
        ],
    }
    return {"vconcat": [above, below], "spacing": 18, "config": CONFIG}


def _line(rows: Rows, x: Declaration, y: Declaration, colour: str) -> Declaration:
    line = {"type": "line", "strokeWidth": 4, "color": colour}
    point = {"type": "point", "size": _POINT, "filled": True, "color": colour, "opacity": 1}
    return {"layer": [layer(rows, mark, x=x, y=y) for mark in (line, point)]}


def _words(
    rows: Rows, x: Declaration, y: Declaration, colour: str, *, align: str = "center", dx: int = 0, dy: int = 0
) -> Declaration:
    mark = {
        "type": "text",
        "align": align,
        "baseline": "middle",
        "dx": dx,
        "dy": dy,
        "fontSize": _FONT - 2,
        "color": colour,
        "fontWeight": "bold",
    }
    return layer(rows, mark, x=x, y=y, text=TEXT)


def _y(field: str, title: str, most: float) -> Declaration:
    scale = {"domain": [0, most], "nice": False}
    return {"field": field, "type": "quantitative", "scale": scale, "axis": _axis(title, grid=True)}


def _axis(title: str | None, *, grid: bool, **more: Any) -> Declaration:
    return {
        "title": title,
        "labelFontSize": _FONT - 2,
        "labelColor": INK,
        "titleFontSize": _FONT,
        "titleFontWeight": "normal",
        "titlePadding": 12,
        "labelAngle": 0,
        "grid": grid,
        "gridColor": GRID,
        "tickCount": 6,
        **more,
    }


def title(text: str) -> Declaration:
    """Returns the title above a chart."""
    return {"text": text, "fontSize": _FONT, "fontWeight": "normal", "color": QUIET, "anchor": "start", "offset": 12}
