"""Draws the ledger over time: where the other resources' bytes are, from the front (top) to the client (bottom).

The front can still send the focal resource before the pending bytes. All other bytes have a fixed order.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from priolab.analysis.figures import lettering, sheet
from priolab.analysis.figures.arms import Arm, arms, headline
from priolab.analysis.figures.backlog import columns, ticks
from priolab.analysis.figures.palette import IMPORTANT, LAYERS, OTHERS, QUIET, RECEIVED
from priolab.analysis.figures.sheet import FONT, SMALL, WIDTH, Axis, Declaration, Panel, heading
from priolab.analysis.loads.layer import Layer
from priolab.analysis.loads.ledger import NAMES, Ledger, Moment
from priolab.analysis.loads.verdict import possessive
from priolab.analysis.records.runs import Experiment
from priolab.common.formats.page import called

_HEIGHT_PX = 220
_COLUMN_PX = 4
_STEP_PX = 10
# Rows of text above the areas, as multiples of the areas' height.
_FIRST_BYTE_ROW = 1.11
_AVAILABLE_ROW = 1.28
_TOP = 1.38
_LABEL_HALF = 0.075
_LINE_MARGIN_PX = 8
_TICK = 0.25


@dataclass(frozen=True, kw_only=True)
class _Where:
    """A place of bytes. layer: the layer in which the bytes wait; None if they have been received."""

    layer: Layer | None
    size: Callable[[Moment], int]

    @property
    def colour(self) -> str:
        """The place's colour."""
        return RECEIVED if self.layer is None else LAYERS[self.layer]

    @property
    def name(self) -> str:
        """The name in the legend."""
        return "received" if self.layer is None else NAMES[self.layer]


# From the bottom of the stack to its top. The bottleneck is behind the delay line, so it is nearest to the client.
_PLACES: Mapping[str, _Where] = MappingProxyType(
    {
        "received": _Where(layer=None, size=lambda moment: moment.received_bytes),
        "lost, or behind a loss": _Where(layer=Layer.RECOVERY, size=lambda moment: moment.recovery_bytes),
        "in the bottleneck queue": _Where(layer=Layer.QUEUE, size=lambda moment: moment.queue_bytes),
        "in propagation": _Where(layer=Layer.PROPAGATION, size=lambda moment: moment.propagation_bytes),
        "unsent in the kernel": _Where(layer=Layer.UNSENT, size=lambda moment: moment.unsent_bytes),
        "in the front's output queue": _Where(layer=Layer.COMMITTED, size=lambda moment: moment.committed_bytes),
        "pending in the front": _Where(layer=Layer.PENDING, size=lambda moment: moment.pending_bytes),
    }
)


def draw(experiment: Experiment) -> Declaration | None:
    """Returns the figure; None if no arm has a ledger."""
    shown = [(arm, ledger) for arm in arms(experiment) if (ledger := arm.ledger()) is not None and ledger.moments]
    if not shown:
        return None
    most_s = max(arm.load.ms(max(ledger.moments[-1].t_ns, ledger.first_byte_ns)) for arm, ledger in shown) / 1000
    axis = Axis(most=most_s * 1.01, title="seconds after the page was asked for")
    # Only places that appear in the figure are in the legend.
    present = [
        where.name
        for where in reversed(list(_PLACES.values()))
        if any(where.size(moment) for _, ledger in shown for moment in ledger.moments)
    ]
    panels = [
        _panel(arm, ledger, present, axis, is_last=index == len(shown) - 1) for index, (arm, ledger) in enumerate(shown)
    ]
    return sheet.sheet(panels, heading(headline(experiment, [arm for arm, _ in shown])))


def _panel(arm: Arm, ledger: Ledger, present: Sequence[str], axis: Axis, *, is_last: bool) -> Declaration:
    panel = Panel(axis=axis, bottom=0, top=_TOP, height_px=round(_TOP * _HEIGHT_PX), is_last=is_last)
    size_bytes = max(1, sum(where.size(ledger.moments[0]) for where in _PLACES.values()))
    marks = ticks(size_bytes / 1024, _TICK * size_bytes / 1024)
    layers = [
        _areas(arm, ledger, size_bytes, present, panel),
        panel.margin(_others(arm), 0.5, OTHERS[0], side=-1),
        *(panel.margin(f"{kib:,g} KiB", kib * 1024 / size_bytes, QUIET, side=1, font_px=SMALL) for kib in marks),
        *_instants(arm, ledger, panel),
        _numbers(arm, ledger, panel),
    ]
    return panel.made_of(layers, sheet.title(*_words(arm, ledger)))


def _others(arm: Arm) -> str:
    others = arm.load.page.others
    return called(others, f"{len(others)} others")


def _words(arm: Arm, ledger: Ledger) -> tuple[str, list[str]]:
    """Returns title and subtitle: the bytes that were ahead of the focal resource when the origin had the resource."""
    moment = ledger.at_available
    ahead = f"{arm.name}: {moment.ahead_bytes / 1024:,.0f} KiB of the {_others(arm)} ahead of the {ledger.focal}"
    parts = [
        f"{where.size(moment) / 1024:,.0f} KiB {name}"
        for name, where in reversed(list(_PLACES.items()))
        if where.size(moment)
    ]
    return ahead, f"when the {ledger.focal} was available: {', '.join(parts)}".split()


def _areas(arm: Arm, ledger: Ledger, size_bytes: int, present: Sequence[str], panel: Panel) -> Declaration:
    axis = panel.axis
    drawn = columns(
        ledger.moments,
        axis.value(_COLUMN_PX),
        lambda moment: arm.load.ms(moment.t_ns) / 1000,
        lambda moment: moment.ahead_bytes,
    )
    rows: list[dict[str, Any]] = []
    below = [0] * len(drawn)
    for where in _PLACES.values():
        above = [base + where.size(moment) for base, moment in zip(below, drawn, strict=True)]
        if above != below:
            rows += [
                {
                    "start": round(arm.load.ms(moment.t_ns) / 1000, 4),
                    "base": round(base / size_bytes, 4),
                    "top": round(top / size_bytes, 4),
                    "place": where.name,
                }
                for moment, base, top in zip(drawn, below, above, strict=True)
            ]
        below = above
    scale = {
        "domain": [where.name for where in _PLACES.values()],
        "range": [where.colour for where in _PLACES.values()],
    }
    colour = {"field": "place", "type": "nominal", "scale": scale, "legend": sheet.legend(present)}
    return panel.marks(rows, {"type": "area", "opacity": 1}, x=panel.x(), color=colour)


def _instants(arm: Arm, ledger: Ledger, panel: Panel) -> list[Declaration]:
    """Draws the instants at which the focal resource became available, and at which its first byte could be used."""
    axis = panel.axis
    available_s, first_s = (arm.load.ms(t_ns) / 1000 for t_ns in (ledger.available_ns, ledger.first_byte_ns))
    first = lettering.beside(
        f"{possessive(ledger.focal)} first byte {axis.seconds(first_s)}", axis.pixels(first_s), FONT - 2, WIDTH
    )
    available = lettering.beside(
        f"{ledger.focal} available at the front {axis.seconds(available_s)}", axis.pixels(available_s), FONT - 2, WIDTH
    )
    in_the_way = [_FIRST_BYTE_ROW] if first.covers(axis.pixels(available_s), _LINE_MARGIN_PX) else []
    return [
        panel.instant(available_s, lettering.spans(0, _AVAILABLE_ROW, in_the_way, _LABEL_HALF)),
        panel.instant(first_s, [(0, _FIRST_BYTE_ROW)], IMPORTANT[0]),
        panel.text(available, _AVAILABLE_ROW, QUIET),
        panel.text(first, _FIRST_BYTE_ROW, IMPORTANT[0]),
    ]


def _numbers(arm: Arm, ledger: Ledger, panel: Panel) -> Declaration:
    """Makes the tooltips. The tooltip of each step of the axis shows the first sample in this step."""
    step_s = panel.axis.value(_STEP_PX)
    seen = {int(arm.load.ms(moment.t_ns) / 1000 / step_s): moment for moment in reversed(ledger.moments)}
    rows = [
        panel.axis.step(index, _STEP_PX)
        | {f"place{number}": round(where.size(moment) / 1024, 2) for number, where in enumerate(_PLACES.values())}
        for index, moment in sorted(seen.items())
    ]
    tooltip = {f"place{number}": f"{name}, KiB" for number, name in enumerate(_PLACES)}
    return panel.numbers(rows, {"start": "seconds"} | dict(reversed(list(tooltip.items()))))
