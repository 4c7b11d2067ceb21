"""Draws the ledger as bars: how long the focal resource waited in each layer, in the order of the layers.

A mark below each bar shows the oracle's bound: the soonest possible first byte with any server and kernel. A legend
below each bar has the names and the seconds of its parts, as the end card of the demo's film.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from priolab.analysis.figures import sheet
from priolab.analysis.figures.arms import Arm, arms, headline
from priolab.analysis.figures.lettering import beside
from priolab.analysis.figures.palette import INK, LAYERS, QUIET
from priolab.analysis.figures.sheet import FONT, WIDTH, Axis, Declaration, Panel, heading, number
from priolab.analysis.loads.findings import bound_of
from priolab.analysis.loads.layer import Layer
from priolab.analysis.loads.ledger import NAMES, Ledger, sentence
from priolab.analysis.records.runs import Experiment

_UNIT_PX = 76
_BOTTOM = -0.75
_LABEL_ROW = -0.42
_SHORTEST_NS = 5 * 10**6
"""Shorter parts are not in the legend: their time would be 0.00 s."""


def draw(experiment: Experiment) -> Declaration | None:
    """Returns the figure; None if no arm has a ledger."""
    shown = [(arm, ledger) for arm in arms(experiment) if (ledger := arm.ledger()) is not None]
    if not shown:
        return None
    most_s = max(ledger.wait_ns for _, ledger in shown) / 10**9
    place = "origin" if shown[0][0].run.scenario.via else "front"
    axis = Axis(most=most_s * 1.03, title=f"seconds after the {shown[0][1].focal} was available at the {place}")
    panels = [_panel(arm, ledger, axis, is_last=index == len(shown) - 1) for index, (arm, ledger) in enumerate(shown)]
    independent = {"resolve": {"scale": {"color": "independent"}, "legend": {"color": "independent"}}}
    return sheet.sheet(panels, heading(headline(experiment, [arm for arm, _ in shown]))) | independent


def _panel(arm: Arm, ledger: Ledger, axis: Axis, *, is_last: bool) -> Declaration:
    panel = Panel(axis=axis, bottom=_BOTTOM, top=1, height_px=round((1 - _BOTTOM) * _UNIT_PX), is_last=is_last)
    parts = list(_parts(ledger))
    layers = [_bar(parts, panel), *_possible(arm, panel)]
    largest = ledger.parts[ledger.largest]
    words = f"{arm.name}: {largest / 10**9:.2f} of {ledger.wait_ns / 10**9:.2f} s {ledger.largest.words}"
    return panel.made_of(layers, sheet.title(words, sentence(ledger.as_record()).split()))


def _parts(ledger: Ledger) -> Iterator[dict[str, Any]]:
    """Yields the start and end of each part. Parts that are not positive are left out."""
    start_s = 0.0
    for layer, wait_ns in ledger.parts.items():
        if wait_ns > 0:
            end_s = start_s + wait_ns / 10**9
            yield {
                "start": start_s,
                "end": end_s,
                "name": NAMES[layer],
                "words": layer.words,
                "colour": LAYERS[layer],
                "s": wait_ns / 10**9,
            }
            start_s = end_s


def _bar(parts: Sequence[dict[str, Any]], panel: Panel) -> Declaration:
    scale = {"domain": [NAMES[layer] for layer in Layer], "range": [LAYERS[layer] for layer in Layer]}
    seen = {part["name"]: f"{part['name']} {part['s']:.2f} s" for part in parts if part["s"] * 10**9 >= _SHORTEST_NS}
    return panel.bars(
        [part | {"base": 0, "top": 1} for part in parts],
        [{"field": "words", "type": "nominal", "title": "waited"}, number("s", "seconds", ",.3f")],
        color={"field": "name", "type": "nominal", "scale": scale, "legend": sheet.legend(list(seen), seen)},
    )


def _possible(arm: Arm, panel: Panel) -> list[Declaration]:
    """Draws the mark of the oracle's bound, the soonest possible first byte."""
    load = arm.load
    limit = bound_of(load, arm.run.scenario, arm.layers, arm.judgement.sooner)
    limit_ns = limit.first_byte_ns - (load.focal.available_ns - load.started_ns)
    at_s = max(0, limit_ns) / 10**9
    label = beside(f"possible: {at_s:.2f} s", panel.axis.pixels(at_s), FONT - 2, WIDTH)
    rows = [{"start": at_s, "base": _BOTTOM + 0.1, "top": 0}]
    return [
        panel.marks(rows, {"type": "rule", "strokeWidth": 4, "color": INK}),
        panel.text(label, _LABEL_ROW, QUIET),
    ]
