"""Draws the first-byte ladder of two resources in each arm: from the first packet to the first whole frame.

A rung is a meaning of "first byte", such as "frame header readable" (`priolab.analysis.loads.ladder`). Every rung has
its own row, with a bar from the time of the previous rung to the time of this rung. The bar's label is the difference
of these times.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from priolab.analysis.figures import sheet
from priolab.analysis.figures.arms import Arm, arms, headline
from priolab.analysis.figures.lettering import beside
from priolab.analysis.figures.palette import IMPORTANT, INK, OTHERS
from priolab.analysis.figures.sheet import FONT, WIDTH, Axis, Declaration, Panel, heading, number
from priolab.analysis.loads.ladder import Reached, Rung, ladder
from priolab.analysis.loads.verdict import possessive
from priolab.analysis.records.runs import Experiment

_TOOLTIP = [
    {"field": "rung", "type": "nominal", "title": "rung"},
    number("end", "ms after the first packet", ",.3f"),
    number("step_ms", "ms after the previous rung", ",.3f"),
]

_ROW_PX = 40
_BAR = 0.27
_GAP_ROWS = 0.8
# Room to the right of the bars for the longest label.
_ROOM = 1.8

_Ladders = dict[str, list[Reached]]


def draw(experiment: Experiment) -> Declaration | None:
    """Returns the figure; None if no arm has a ladder."""
    shown = arms(experiment)
    every = [{name: ladder(arm.load, arm.evidence, name) for name in _compared(arm)} for arm in shown]
    lengths_ms = [(rungs[-1].t_ns - rungs[0].t_ns) / 10**6 for ladders in every for rungs in ladders.values() if rungs]
    if not lengths_ms:
        return None
    axis = Axis(most=max(1.0, *lengths_ms) * _ROOM, title="milliseconds after the first packet")
    panels = [
        _panel(arm, ladders, axis, is_last=index == len(shown) - 1)
        for index, (arm, ladders) in enumerate(zip(shown, every, strict=True))
    ]
    return sheet.sheet(panels, heading(headline(experiment, shown)))


def _compared(arm: Arm) -> list[str]:
    """Returns the focal resource's name and, before it, the name of the other whose first byte came first, if any."""
    load = arm.load
    others = sorted(load.page.others, key=lambda each: load.resources[each.name].first_byte_ns)
    return [*(each.name for each in others[:1]), load.focal.name]


def _panel(arm: Arm, ladders: _Ladders, axis: Axis, *, is_last: bool) -> Declaration:
    rows = sum(map(len, ladders.values())) + _GAP_ROWS
    panel = Panel(axis=axis, bottom=-rows, top=0.3, height_px=round((rows + 0.3) * _ROW_PX), is_last=is_last)
    bars: list[dict[str, Any]] = []
    texts: list[Declaration] = []
    row = 0.0
    colours = dict.fromkeys(ladders, OTHERS[0]) | {arm.load.focal.name: IMPORTANT[0]}
    for name, rungs in ladders.items():
        if not rungs:
            continue
        texts.append(panel.margin(name, row - len(rungs) / 2, colours[name], side=-1))
        for start, end, rung, words in _steps(arm, rungs):
            at = row - 0.5
            bars.append(
                {
                    "start": start,
                    "end": end,
                    "base": at - _BAR,
                    "top": at + _BAR,
                    "resource": name,
                    "colour": colours[name],
                    "rung": rung.value,
                    "step_ms": end - start,
                }
            )
            texts.append(panel.text(beside(words, axis.pixels(end), FONT - 2, WIDTH), at, INK))
            row -= 1
        row -= _GAP_ROWS
    return panel.made_of([panel.bars(bars, _TOOLTIP), _ends(bars, panel), *texts], sheet.title(*_words(arm, ladders)))


def _steps(arm: Arm, rungs: Sequence[Reached]) -> Iterator[tuple[float, float, Rung, str]]:
    """Yields for each rung (start of its bar, end of its bar, rung, label). Times are in ms after the first rung."""
    before_ns = first_ns = rungs[0].t_ns
    for rung in rungs:
        step_ms = (rung.t_ns - before_ns) / 10**6
        later = f"at {arm.load.ms(rung.t_ns) / 1000:.2f} s" if rung is rungs[0] else f"+{step_ms:.1f} ms"
        yield (before_ns - first_ns) / 10**6, (rung.t_ns - first_ns) / 10**6, rung.rung, f"{rung.rung} {later}"
        before_ns = rung.t_ns


def _words(arm: Arm, ladders: _Ladders) -> tuple[str, list[str]]:
    """Returns the title and the subtitle of an arm's panel."""
    focal = arm.load.focal.name
    reached = {each.rung: each.t_ns for each in ladders[focal]}
    payload_ns, packet_ns = reached.get(Rung.PAYLOAD), reached.get(Rung.PACKET)
    if payload_ns is None or packet_ns is None:
        return arm.name, []
    later_ms = (payload_ns - packet_ns) / 10**6
    words = f"{arm.name}: the {possessive(focal)} first byte {later_ms:,.0f} ms after its first packet"
    whole_ns = reached.get(Rung.FRAME)
    if whole_ns is None:
        return words, []
    usable_s, whole_s = (arm.load.ms(t_ns) / 1000 for t_ns in (payload_ns, whole_ns))
    return words, f"usable at {usable_s:.2f} s; if a program gets whole DATA frames only, at {whole_s:.2f} s".split()


def _ends(rows: Sequence[dict[str, Any]], panel: Panel) -> Declaration:
    """Draws a mark at every rung, so that a bar of zero length is visible."""
    ends = [{"start": row["end"], "base": row["base"], "top": row["top"]} for row in rows]
    return panel.marks(ends, {"type": "rule", "strokeWidth": 4, "color": INK})
