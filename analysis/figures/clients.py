"""Compares clients: when resources arrived, in arms that differ only in the client.

Arms that differ only in the client share a panel, for example all arms with LOWAT unset. A panel has a bar for each
client and resource, from the resource's first byte to its last byte.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from priolab.analysis.figures import sheet
from priolab.analysis.figures.arms import CLIENTS, Arm, arms, headline
from priolab.analysis.figures.lanes import Lane, lanes_of
from priolab.analysis.figures.lettering import beside
from priolab.analysis.figures.palette import INK, QUIET
from priolab.analysis.figures.sheet import FONT, SMALL, WIDTH, Axis, Declaration, Panel, heading, number
from priolab.analysis.loads.metrics import Piece
from priolab.analysis.records.runs import Experiment
from priolab.common.formats.scenario import ClientKind, ScenarioRecord

_TOOLTIP = [
    {"field": "resource", "type": "nominal", "title": "resource"},
    number("start", "first byte, s", ",.3f"),
    number("end", "last byte, s", ",.3f"),
]

_ROW_PX = 40
_BAR = 0.33
_GAP_ROWS = 0.7
_ROOM = 1.24
"""Room to the right of the bars for labels, as a factor of the longest bar."""

_SAYS = ("request-sent", "priority-sent")


def draw(experiment: Experiment) -> Declaration | None:
    """Returns the figure; None if no two arms differ in the client alone."""
    groups = [group for group in _groups(arms(experiment)) if len(group) > 1]
    if not groups:
        return None
    shown = [arm for group in groups for arm in group]
    ends = [arm.load.ms(times[-1].t_ns) / 1000 for arm in shown for _, times in _lanes(arm)]
    axis = Axis(most=max(ends) * _ROOM, title="seconds after the page was asked for")
    panels = [_panel(group, axis, is_last=group is groups[-1]) for group in groups]
    return sheet.sheet(panels, heading(headline(experiment, shown)))


def _groups(shown: Sequence[Arm]) -> list[list[Arm]]:
    groups: dict[ScenarioRecord, list[Arm]] = {}
    for arm in shown:
        groups.setdefault(replace(arm.run.scenario, client=ClientKind.H2), []).append(arm)
    return list(groups.values())


def _panel(group: Sequence[Arm], axis: Axis, *, is_last: bool) -> Declaration:
    rows = len(group) * (len(_lanes(group[0])) + _GAP_ROWS) - _GAP_ROWS
    panel = Panel(axis=axis, bottom=-rows, top=0.1, height_px=round((rows + 0.1) * _ROW_PX), is_last=is_last)
    bars: list[dict[str, Any]] = []
    texts: list[Declaration] = []
    row = 0.0
    for arm in group:
        texts.append(panel.margin(_client(arm), row - 1, INK, side=-1, font_px=SMALL))
        for lane, times in _lanes(arm):
            name = lane.name
            first_s, last_s = (arm.load.ms(piece.t_ns) / 1000 for piece in (times[0], times[-1]))
            at = row - 0.5
            bars.append(
                {
                    "start": first_s,
                    "end": last_s,
                    "base": at - _BAR,
                    "top": at + _BAR,
                    "resource": name,
                    "colour": lane.colour,
                }
            )
            words = f"{name} {first_s:.2f} to {last_s:.2f} s"
            texts.append(panel.text(beside(words, axis.pixels(last_s), FONT - 4, WIDTH), at, QUIET))
            row -= 1
        row -= _GAP_ROWS
    verdicts = {_client(arm): arm.judgement.verdict.value for arm in group}
    alike = len(set(verdicts.values())) == 1
    told = f"{next(iter(verdicts.values()))} with {' and '.join(verdicts)}"
    if not alike:
        told = ", ".join(f"{verdict} with {client}" for client, verdict in verdicts.items())
    subtitle = " ".join(_asked(arm) for arm in group).split()
    return panel.made_of([panel.bars(bars, _TOOLTIP), *texts], sheet.title(f"{group[0].setting}: {told}", subtitle))


def _lanes(arm: Arm) -> list[tuple[Lane, list[Piece]]]:
    return [(lane, lane.pieces(arm.load)) for lane in reversed(lanes_of(arm.load.page))]


def _client(arm: Arm) -> str:
    return CLIENTS[arm.run.scenario.client]


def _asked(arm: Arm) -> str:
    """Returns a sentence with the priorities that the client sent in the measured load, in the order of sending."""
    names = {each.name for each in arm.load.page.contents}
    said = [
        f"{event.resource} ({event.detail or 'no priority'})"
        for event in arm.evidence.events
        if event.load == arm.load.number and event.kind in _SAYS and event.resource in names
    ]
    return f"{_client(arm)} asked: {', then '.join(said)}."
