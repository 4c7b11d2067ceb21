"""Draws the timeline: a panel for each arm, one above the other on one time axis.

In a panel resources are lanes, whose thickness is their share of the link's rate at that time. If the front's socket
was sampled, the socket's lane is below the resources' lanes. The socket's lane shows bytes unsent in the kernel, and
bytes in flight, including the bytes in the bottleneck queue. The scales of this lane are the same in all panels.

Text has rows of its own, so that nothing overlaps: above each lane the times of its first and last byte, above all
lanes the time at which the focal resource was available. The line at this time has gaps where it would cross text.

A change of the link's rate is a thin line through the panel, with the new rate at its top.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from priolab.analysis.figures import lettering, picture
from priolab.analysis.figures.arms import Arm, arms, headline, longest_s
from priolab.analysis.figures.backlog import Look, backlog, bends, columns, ticks
from priolab.analysis.figures.lanes import lanes, lanes_of
from priolab.analysis.figures.lettering import Label
from priolab.analysis.figures.palette import INK, LAYERS, QUIET, VERDICTS
from priolab.analysis.figures.rate_lines import rate_lines, steps_made
from priolab.analysis.figures.sheet import FONT, SMALL, WIDTH, Axis, Declaration, Panel, heading, sheet, title
from priolab.analysis.loads.layer import Layer
from priolab.analysis.loads.metrics import PageLoad, Traffic
from priolab.analysis.records.rate import Rate
from priolab.analysis.records.runs import Experiment

_STEP_PX = 10
_LOOK_PX = 4

# Vertical layout of a panel, in multiples of a lane's greatest thickness.
_UNIT_PX = 66
_LANE = 1.85
_MARK = 1.16
_LABEL_ABOVE = 1.36
_LABEL_HALF = 0.24
# Heights above the base of the highest lane.
_AVAILABLE_ROW = 1.8
_TOP = 2.15
_STEPS_ROW = 2.25
_TOP_WITH_STEPS = 2.6
_LINE_MARGIN_PX = 8
UNSENT = (-2.0, -0.45)
NETWORK = (-3.5, -2.35)
_BOTTOM = NETWORK[0]

_COLOURS = {
    "unsent": LAYERS[Layer.UNSENT],
    "in flight": LAYERS[Layer.PROPAGATION],
    "queue": LAYERS[Layer.QUEUE],
}
_LOWAT_ROOM = 1.6


@dataclass(frozen=True, kw_only=True)
class _Row:
    """The scale of a row of the socket's lane, the same in all panels: 0 bytes at height base, most_bytes at top."""

    base: float
    top: float
    most_bytes: float

    def height(self, size_bytes: float) -> float:
        return round(self.base + size_bytes / self.most_bytes * (self.top - self.base), 4)


@dataclass(frozen=True, kw_only=True)
class _Rows:
    unsent: _Row
    network: _Row


def _bases(load: PageLoad) -> dict[str, float]:
    """Returns the height of each lane's lower edge, by the lane's name."""
    return {lane.name: index * _LANE for index, lane in enumerate(lanes_of(load.page))}


def _highest(load: PageLoad) -> float:
    return max(_bases(load).values())


def draw(experiment: Experiment) -> Declaration | None:
    """Returns the figure; None if no arm has an ok run."""
    shown = arms(experiment)
    return sheet(panels_of(shown), heading(headline(experiment, shown))) if shown else None


def axis_of(shown: Sequence[Arm]) -> Axis:
    """Returns the time axis of all arms."""
    return Axis(most=longest_s(shown) * 1.03, title="seconds after the page was asked for")


def panels_of(
    shown: Sequence[Arm], *, socket: bool = True, has_axis: bool = True, apart: bool = False
) -> list[Declaration]:
    """Returns a panel for each arm, on one time axis.

    socket: False to leave out the socket's lane. has_axis: True if the last panel shows the axis. apart:
    True if every panel shows it, because the panels are not drawn below each other.
    """
    axis = axis_of(shown)
    looks = [backlog(arm.load, arm.layers, axis.most) if socket else [] for arm in shown]
    rows = _rows(looks, [arm.lowat for arm in shown])
    return [
        _panel(arm, seen, rows, axis, is_last=apart or (has_axis and index == len(shown) - 1))
        for index, (arm, seen) in enumerate(zip(shown, looks, strict=True))
    ]


def save(experiment: Experiment) -> list[Path]:
    """Writes timeline.svg, .png and .html into the experiment's folder. Returns the paths; none without an ok run."""
    declaration = draw(experiment)
    return [] if declaration is None else picture.save(declaration, experiment.path, "timeline")


def _rows(looks: Sequence[Sequence[Look]], lowats: Sequence[int | None]) -> _Rows:
    """Returns the scales of the socket's lane. They have room for all samples, and for a LOWAT not far above them."""
    every = [look for seen in looks for look in seen]
    unsent = max((look.unsent_bytes for look in every), default=0)
    near = [lowat for lowat in lowats if lowat is not None and lowat <= unsent * _LOWAT_ROOM]
    in_flight = max((look.in_flight_bytes for look in every), default=0)
    return _Rows(
        unsent=_Row(base=UNSENT[0], top=UNSENT[1], most_bytes=max(1024, unsent, *near)),
        network=_Row(base=NETWORK[0], top=NETWORK[1], most_bytes=max(1024, in_flight)),
    )


def _panel(arm: Arm, looks: Sequence[Look], rows: _Rows, axis: Axis, *, is_last: bool) -> Declaration:
    steps = steps_made(arm.run.observed, axis.most)
    bottom, top = _BOTTOM if looks else 0.0, _highest(arm.load) + (_TOP_WITH_STEPS if steps else _TOP)
    bases = _bases(arm.load)
    panel = Panel(axis=axis, bottom=bottom, top=top, height_px=round((top - bottom) * _UNIT_PX), is_last=is_last)
    verdict = arm.judgement.verdict
    labels = {name: _edge_labels(arm.load, name, axis) for name in bases}
    layers = [
        _lanes(arm, panel),
        *(panel.margin(lane.name, bases[lane.name] + 0.5, lane.colour, side=-1) for lane in lanes_of(arm.load.page)),
        *(_socket(looks, rows, arm.lowat, panel) if looks else ()),
        *rate_lines(steps, panel, _highest(arm.load) + _STEPS_ROW, _text_rows(arm.load, labels, panel), _LABEL_HALF),
        *_available(arm.load, labels, panel),
        _marks(arm.load, panel),
        *(panel.text(label, bases[name] + _LABEL_ABOVE, INK) for name, beside in labels.items() for label in beside),
        _numbers(arm.load, looks, panel),
    ]
    words = title(f"{arm.name}: {verdict}", arm.judgement.reason.split(), VERDICTS.get(verdict, INK))
    return panel.made_of(layers, words)


def _lanes(arm: Arm, panel: Panel) -> Declaration:
    rows = []
    bases, shown = _bases(arm.load), lanes_of(arm.load.page)
    for name, steps in lanes(arm.load, Rate.of(arm.run.scenario), panel.axis.value(_STEP_PX)).items():
        # The area keeps each height until the next row. The last row only ends the area.
        ends = [(step.start_s, step.height) for step in steps] + [(steps[-1].end_s, steps[-1].height)]
        base = bases[name]
        rows += [{"start": at_s, "base": base, "top": base + height, "resource": name} for at_s, height in ends]
    scale = {"domain": [lane.name for lane in shown], "range": [lane.colour for lane in shown]}
    colour = {"field": "resource", "type": "nominal", "scale": scale, "legend": None}
    return panel.marks(rows, {"type": "area", "interpolate": "step-after", "opacity": 1}, x=panel.x(), color=colour)


def _socket(looks: Sequence[Look], rows: _Rows, lowat: int | None, panel: Panel) -> list[Declaration]:
    """Draws the socket's lane with scales and names."""
    drawn = columns(
        looks,
        panel.axis.value(_LOOK_PX),
        lambda look: look.at_s,
        lambda look: look.unsent_bytes + look.in_flight_bytes,
    )
    limit = lowat if lowat is not None and lowat <= rows.unsent.most_bytes else None
    middle = (rows.network.top - rows.network.base) / 4
    return [
        *_scale(rows.unsent, limit, panel),
        *_scale(rows.network, None, panel),
        _area(drawn, lambda look: look.unsent_bytes, rows.unsent, "unsent", panel),
        _area(drawn, lambda look: look.in_flight_bytes, rows.network, "in flight", panel),
        _area(drawn, lambda look: look.queue_bytes, rows.network, "queue", panel),
        *([] if limit is None else _limit(limit, rows.unsent, panel)),
        panel.margin("unsent", (rows.unsent.base + rows.unsent.top) / 2, _COLOURS["unsent"], side=-1),
        panel.margin("in flight", rows.network.top - middle, _COLOURS["in flight"], side=-1),
        panel.margin("in queue", rows.network.base + middle, _COLOURS["queue"], side=-1),
    ]


def _area(looks: Sequence[Look], size: Callable[[Look], int], row: _Row, name: str, panel: Panel) -> Declaration:
    points = bends([(round(look.at_s, 4), row.height(size(look))) for look in looks])
    rows = [{"start": at_s, "base": row.base, "top": top} for at_s, top in points]
    return panel.marks(rows, {"type": "area", "opacity": 1, "color": _COLOURS[name]})


def _limit(lowat: int, row: _Row, panel: Panel) -> list[Declaration]:
    height = row.height(lowat)
    return [
        panel.level(height, INK),
        panel.margin("LOWAT", height, INK, side=1, font_px=SMALL),
    ]


def _scale(row: _Row, limit: int | None, panel: Panel) -> list[Declaration]:
    marks = scale_marks(row.most_bytes, limit, (row.top - row.base) * _UNIT_PX)
    return [
        panel.level(row.base, QUIET),
        *(panel.level(row.height(kib * 1024), "#c4c4c4") for kib in marks),
        *(panel.margin(f"{kib:,g} KiB", row.height(kib * 1024), QUIET, side=1, font_px=SMALL) for kib in marks),
    ]


def scale_marks(most_bytes: float, limit_bytes: int | None, height_px: float) -> list[float]:
    """Returns the values in KiB at which a row's scale has marks.

    The marks are at least a line of text apart from each other and from the limit. most_bytes: the scale's upper end.
    """
    line = SMALL * 1.1 / height_px * most_bytes / 1024
    marks = ticks(most_bytes / 1024, line)
    return [kib for kib in marks if limit_bytes is None or abs(kib - limit_bytes / 1024) >= line]


def _edges_s(load: PageLoad, name: str) -> tuple[float, float]:
    """Returns the times of a lane's first and last byte."""
    pieces = next(lane for lane in lanes_of(load.page) if lane.name == name).pieces(load)
    return load.ms(pieces[0].t_ns) / 1000, load.ms(pieces[-1].t_ns) / 1000


def _marks(load: PageLoad, panel: Panel) -> Declaration:
    rows = [
        {"start": at_s, "base": base, "top": base + _MARK}
        for name, base in _bases(load).items()
        for at_s in _edges_s(load, name)
    ]
    return panel.marks(rows, {"type": "rule", "strokeWidth": 3, "color": INK})


def _edge_labels(load: PageLoad, name: str, axis: Axis) -> list[Label]:
    first_s, last_s = _edges_s(load, name)
    return lettering.edges(
        f"first byte {axis.seconds(first_s)}",
        f"last byte {axis.seconds(last_s)}",
        (axis.pixels(first_s), axis.pixels(last_s)),
        FONT,
        WIDTH,
    )


def _text_rows(load: PageLoad, labels: Mapping[str, Sequence[Label]], panel: Panel) -> dict[float, Sequence[Label]]:
    """Returns all labels above the lanes, by row."""
    bases = _bases(load)
    rows: dict[float, Sequence[Label]] = {bases[name] + _LABEL_ABOVE: beside for name, beside in labels.items()}
    return rows | {_highest(load) + _AVAILABLE_ROW: [_available_label(load, panel)]}


def _available_label(load: PageLoad, panel: Panel) -> Label:
    at_s = load.ms(load.focal.available_ns) / 1000
    words = f"{load.focal.name} available at the front {panel.axis.seconds(at_s)}"
    return lettering.beside(words, panel.axis.pixels(at_s), FONT - 2, WIDTH)


def _available(load: PageLoad, labels: Mapping[str, Sequence[Label]], panel: Panel) -> list[Declaration]:
    at_s = load.ms(load.focal.available_ns) / 1000
    bases, row = _bases(load), _highest(load) + _AVAILABLE_ROW
    at_px = panel.axis.pixels(at_s)
    in_the_way = [
        bases[name] + _LABEL_ABOVE
        for name, beside in labels.items()
        if any(label.covers(at_px, _LINE_MARGIN_PX) for label in beside)
    ]
    return [
        panel.instant(at_s, lettering.spans(panel.bottom, row, in_the_way, _LABEL_HALF)),
        panel.text(_available_label(load, panel), row, QUIET),
    ]


_SOCKET_TOOLTIP = {
    "unsent": "unsent in the kernel, KiB",
    "in_flight": "in flight, KiB",
    "queue": "in the bottleneck queue, KiB",
}


def _numbers(load: PageLoad, looks: Sequence[Look], panel: Panel) -> Declaration:
    """Makes the tooltips. The tooltip of each step of the axis shows the lanes' bytes and the socket's first sample."""
    step_s = panel.axis.value(_STEP_PX)
    seen = {int(look.at_s / step_s): look for look in reversed(looks)}
    rows: list[dict[str, Any]] = []
    received = {lane.name: Traffic(lane.pieces(load)) for lane in reversed(lanes_of(load.page))}
    tooltip = {"start": "seconds"} | {name: f"{name} received, KiB" for name in received}
    for index in range(WIDTH // _STEP_PX):
        until_ns = load.started_ns + round((index + 1) * step_s * 10**9)
        row: dict[str, Any] = {
            **panel.axis.step(index, _STEP_PX),
            **{name: _kib(traffic.bytes_until(until_ns)) for name, traffic in received.items()},
        }
        if look := seen.get(index):
            row |= {
                "unsent": _kib(look.unsent_bytes),
                "in_flight": _kib(look.in_flight_bytes),
                "queue": _kib(look.queue_bytes),
            }
        rows.append(row)
    return panel.numbers(rows, tooltip | (_SOCKET_TOOLTIP if looks else {}))


def _kib(size_bytes: int) -> float:
    return round(size_bytes / 1024, 2)
