"""Draws the figures of a hypothesis: a panel of bars for each quantity, a bar with name and value for each case."""

from collections.abc import Mapping
from typing import Any

from priolab.analysis.figures.palette import IMPORTANT, INK, OTHERS, QUIET
from priolab.analysis.figures.sheet import CONFIG, TEXT, Declaration, layer
from priolab.extras.studies.hypothesis import Found, Hypothesis, Panel

_FONT = 20
_WIDTH_PX, _BAR_PX = 520, 34
_ROOM = 1.3
"""The axis's length as a multiple of the longest bar: the value stands at the bar's end."""
_UNSET, _LIMITED, _CLAIMED = "LOWAT unset", "with LOWAT", "what the belief says"
_COLOURS: Mapping[str, str] = {_UNSET: OTHERS[0], _LIMITED: IMPORTANT[0], _CLAIMED: "#b0b0b0"}


def draw(hypothesis: Hypothesis, found: Found) -> Declaration:
    """Returns the picture of a hypothesis as a Vega-Lite declaration."""
    panels = [_panel(panel, _rows(hypothesis, panel, found)) for panel in hypothesis.panels]
    return {"vconcat": panels, "spacing": 16, "resolve": {"scale": {"color": "shared"}}, "config": CONFIG}


def _rows(hypothesis: Hypothesis, panel: Panel, found: Found) -> list[dict[str, Any]]:
    limited = {case.name: case.is_limited for case in hypothesis.cases}
    bars = [(name, found[name][panel.quantity], _LIMITED if limited[name] else _UNSET) for name in panel.cases]
    if panel.claimed:
        bars.append((*panel.claimed, _CLAIMED))
    return [
        {"case": name, "value": round(value, 6), "kind": kind, "text": panel.quantity.said(value)}
        for name, value, kind in bars
    ]


def _panel(panel: Panel, rows: list[dict[str, Any]]) -> Declaration:
    most = max(row["value"] for row in rows) or 1.0
    names = {"title": None, "labelFontSize": _FONT, "labelColor": INK, "labelLimit": 0, "domain": False, "ticks": False}
    y = {"field": "case", "type": "nominal", "sort": None, "axis": {**names, "labelPadding": 10}}
    x = {
        "field": "value",
        "type": "quantitative",
        "scale": {"domain": [0, most * _ROOM], "nice": False},
        "axis": None,
    }
    scale = {"domain": list(_COLOURS), "range": list(_COLOURS.values())}
    present = [kind for kind in _COLOURS if any(row["kind"] == kind for row in rows)]
    legend = {"values": present, "columns": len(_COLOURS), "labelFontSize": _FONT}
    colour = {"field": "kind", "type": "nominal", "scale": scale, "legend": legend}
    bar = {"type": "bar", "height": {"band": 0.72}}
    text = {"type": "text", "align": "left", "dx": 6, "baseline": "middle", "fontSize": _FONT, "color": INK}
    title = {
        "text": panel.quantity.name,
        "fontSize": _FONT,
        "fontWeight": "normal",
        "color": QUIET,
        "anchor": "start",
        "frame": "group",
        "offset": 8,
    }
    layers = [layer(rows, bar, x=x, y=y, color=colour), layer(rows, text, x=x, y=y, text=TEXT)]
    return {"title": title, "width": _WIDTH_PX, "height": _BAR_PX * len(rows), "layer": layers}
