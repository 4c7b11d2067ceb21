"""Draws the gain of LOWAT against its price: a plot for each network, and beside them the law, the memory, the goodput.

In the plots of networks a line joins the values of LOWAT of a server, from unset at the left to the smallest one. Down
is the gain, and to the right is the price. Beside them each mark is a server, with its median over networks.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from priolab.analysis.figures.palette import GOODPUT, GRID, IMPORTANT, INK, OTHERS, QUIET
from priolab.analysis.figures.sheet import CONFIG, TEXT, Declaration, heading, layer
from priolab.extras.studies.cost_document import LAWFUL, short
from priolab.extras.studies.cost_grid import Compared, Network, Price, compared, law, law_of_whole_buffers

_FONT = 21
_PANEL_PX, _BESIDE_PX, _HEIGHT_PX = 232, 330, 215
_AXIS_PX = 74
_COLOURS = (OTHERS[0], IMPORTANT[0], GOODPUT)
_WAKEUPS = {"domain": [0.2, 160], "type": "log", "nice": False}
_WAKEUP_TICKS, _MS_TICKS = (1, 10, 100), (10, 100, 1000)
_ROOM = 1.6
_NAMED: Mapping[int | None, Declaration] = {
    None: {"align": "right", "dx": -8, "dy": 10},
    131_072: {"align": "right", "dx": 6, "dy": 24},
}
"""The values of LOWAT whose marks have names at the line of LAWFUL, and where: two marks may be close to each other."""


def draw(found: Sequence[Price]) -> Declaration:
    """Returns the figure as a Vega-Lite declaration. found: with the prices with LOWAT unset."""
    servers = list(dict.fromkeys(each.server for each in found))
    networks = list(dict.fromkeys(each.network for each in found))
    rates = list(dict.fromkeys(each.rate for each in networks))
    trips = list(dict.fromkeys(each.round_trip_ms for each in networks))
    colour = _colour(servers)
    y = _times(found)
    rows: list[Declaration] = []
    for trip_ms, beside in zip(trips, [*_beside(compared(found), colour), *({},) * len(trips)], strict=False):
        panels = [
            _network(
                Network(rate=rate, round_trip_ms=trip_ms),
                [each for each in found if (each.network.rate, each.network.round_trip_ms) == (rate, trip_ms)],
                colour,
                y,
                is_left=rate == rates[0],
                is_last=trip_ms == trips[-1],
            )
            for rate in rates
        ]
        rows.append({"hconcat": [*panels, beside] if beside else panels, "spacing": 18})
    values = ", ".join(dict.fromkeys(short(each.lowat) for each in found))
    parts = (
        "down: the script comes sooner",
        "right: the server is woken more often",
        f"along a line, LOWAT is {values}",
    )
    return {
        "title": heading(parts),
        "vconcat": rows,
        "spacing": 22,
        "resolve": {"scale": {"color": "shared"}},
        "config": CONFIG,
    }


def _network(
    network: Network,
    prices: Sequence[Price],
    colour: Declaration,
    y: Declaration,
    *,
    is_left: bool,
    is_last: bool,
) -> Declaration:
    axis = {"title": "wake-ups per MB" if is_last else None, "values": _WAKEUP_TICKS, "labels": is_last}
    x = {"field": "wakeups", "type": "quantitative", "scale": _WAKEUPS, "axis": _letters(**axis)}
    times = y | {"axis": y["axis"] | {"labels": is_left, "title": "script first byte" if is_left else None}}
    if not is_left:
        times["axis"] = times["axis"] | {"minExtent": 0, "maxExtent": 0}
    rows = [
        {
            "server": each.server,
            "lowat": short(each.lowat),
            "wakeups": round(each.wakeups_per_mb, 2),
            "ms": round(each.first_byte_ms, 1),
            "number": number,
        }
        for number, each in enumerate(prices)
    ]
    channels = {"x": x, "y": times, "color": colour}
    tooltip = [{"field": name, "title": title} for name, title in _TOOLTIP.items()]
    line = {"type": "line", "strokeWidth": 2.5}
    names = {"type": "text", "fontSize": _FONT - 4, "color": INK}
    layers = [
        layer(rows, line, order={"field": "number"}, **channels),
        layer(rows, _DOT, tooltip=tooltip, **channels),
        *(
            layer([row | {"text": row["lowat"]}], names | _NAMED[each.lowat], x=x, y=times, text=TEXT)
            for row, each in zip(rows, prices, strict=True)
            if each.server == LAWFUL and each.lowat in _NAMED
        ),
    ]
    return {"title": _title(str(network)), "width": _PANEL_PX, "height": _HEIGHT_PX, "layer": layers}


_TOOLTIP = {"server": "server", "lowat": "LOWAT", "wakeups": "wake-ups per MB", "ms": "script first byte, ms"}
_DOT = {"type": "point", "filled": True, "size": 75, "opacity": 1}


def _times(found: Sequence[Price]) -> Declaration:
    """Returns the vertical channel of the plots of networks."""
    times_ms = [each.first_byte_ms for each in found]
    scale = {"domain": [min(times_ms) / _ROOM, max(times_ms) * _ROOM], "type": "log", "nice": False}
    label = "datum.value >= 1000 ? datum.value / 1000 + ' s' : datum.value + ' ms'"
    axis = _letters(values=_MS_TICKS, labelExpr=label, minExtent=_AXIS_PX, maxExtent=_AXIS_PX)
    return {"field": "ms", "type": "quantitative", "scale": scale, "axis": axis}


def _beside(known: Sequence[Compared], colour: Declaration) -> list[Declaration]:
    """Returns the plots of the law, of memory and of goodput, of each server by LOWAT.

    The law is about networks whose link the connection fills, so the medians are over these. Goodput is the worst of
    all networks.
    """
    lowats = sorted({each.lowat for each in known})
    order = [short(lowat) for lowat in lowats]
    lawful = [
        layer(
            [{"lowat": short(lowat), "value": round(form(lowat), 2)} for lowat in lowats],
            {"type": "line", "strokeWidth": 3, "strokeDash": [9, 6], "color": INK},
        )
        for form in (law, law_of_whole_buffers)
    ]
    part = _y({"domain": [0, 1.1], "nice": False}, (0, 0.5, 1), ".0%")
    wakeups = _y(_WAKEUPS, _WAKEUP_TICKS, ".0f")
    filled = [each for each in known if each.fills]
    kinds: Sequence[tuple[str, Sequence[dict[str, Any]], Declaration, Sequence[Declaration]]] = (
        (
            "wake-ups per MB; dashed: law",
            _rows(filled, lambda each: each.price.wakeups_per_mb, median),
            wakeups,
            lawful,
        ),
        ("send buffer, of unset", _rows(filled, lambda each: each.memory, median), part, []),
        ("worst goodput, of unset", _rows(known, lambda each: 1 - each.lost, min), part, []),
    )
    plots = []
    for words, rows, y, under in kinds:
        is_last = words is kinds[-1][0]
        axis = _letters(title="LOWAT" if is_last else None, labels=is_last, labelAngle=0)
        channels = {"x": {"field": "lowat", "type": "nominal", "sort": order, "axis": axis}, "y": y}
        tooltip = [{"field": name, "title": name} for name in ("server", "lowat", "value")]
        marks = [each | {"encoding": channels} for each in under]
        marks.append(
            layer(rows, _DOT | {"size": 120}, color=colour, xOffset={"field": "server"}, tooltip=tooltip, **channels)
        )
        plots.append({"title": _title(words), "width": _BESIDE_PX, "height": _HEIGHT_PX, "layer": marks})
    return plots


def _wakeups(of: Compared) -> float:
    return of.price.wakeups_per_mb


def _rows(
    known: Sequence[Compared], value: Callable[[Compared], float], of_all: Callable[[Iterable[float]], float]
) -> list[dict[str, Any]]:
    """Returns a row for each server and LOWAT. of_all: makes one value from those of the networks."""
    values: dict[tuple[str, int], list[float]] = {}
    for each in known:
        values.setdefault((each.price.server, each.lowat), []).append(value(each))
    return [
        {"server": server, "lowat": short(lowat), "value": round(of_all(found), 4)}
        for (server, lowat), found in values.items()
    ]


def _y(scale: Declaration, values: Sequence[float], digits: str) -> Declaration:
    axis = _letters(values=values, format=digits, minExtent=_AXIS_PX - 8, maxExtent=_AXIS_PX - 8)
    return {"field": "value", "type": "quantitative", "scale": scale, "axis": axis}


def _colour(servers: Sequence[str]) -> Declaration:
    scale = {"domain": list(servers), "range": list(_COLOURS[: len(servers)])}
    return {"field": "server", "type": "nominal", "scale": scale}


def _title(words: str) -> Declaration:
    return {
        "text": words,
        "fontSize": _FONT,
        "fontWeight": "normal",
        "color": INK,
        "anchor": "start",
        "frame": "group",
        "offset": 6,
    }


def _letters(**more: Any) -> Declaration:
    """Returns the properties of an axis: its letters and its grid, and the properties in `more`."""
    letters = {"labelFontSize": _FONT - 3, "titleFontSize": _FONT - 1, "titleFontWeight": "normal", "labelColor": QUIET}
    return {**letters, "title": None, "gridColor": GRID, "domain": False, "ticks": False, **more}
