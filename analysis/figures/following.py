"""Draws how LOWAT follows a link whose rate changes: a panel for each arm, on one time axis.

Bytes are shown as the time that the link needs to send them. The scale is logarithmic, so a factor of ten is the same
distance everywhere. Each panel shows:

    area            the unsent bytes in the front's kernel
    line            the most unsent bytes that LOWAT and one packet buffer allow; no line if LOWAT is unset
    dotted line     the target: the longest time for which a byte should be unsent
    band            from a quarter below the target to a quarter above; LOWAT is correct while the line is in the band
    dashed line     a change of the link's rate
    shade           the two round trips of the connection after this change

The top panel shows the rate.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log10
from pathlib import Path
from typing import Any

from priolab.analysis.figures import picture
from priolab.analysis.figures.backlog import columns
from priolab.analysis.figures.lettering import beside
from priolab.analysis.figures.palette import GRID, INK, LAYERS, NO_DIFFERENCE, QUIET, STEERED
from priolab.analysis.figures.sheet import (
    END,
    SMALL,
    START,
    WIDTH,
    Axis,
    Declaration,
    Panel,
    heading,
    layer,
    sheet,
    title,
)
from priolab.analysis.loads.layer import Layer
from priolab.analysis.reports.following import BAND, Seen, Step, steps
from priolab.common.amounts import milliseconds, rate

NAME = "following"
"""The name of the figure's files, without suffix."""

_LEAST_MS, _MOST_MS = 1.0, 10_000.0
_TICKS_MS = (10, 100, 1000)
_HEIGHT_PX, _RATE_PX = 190, 90
_COLUMN_PX = 4
_LOWAT_ROW, _UNSENT_ROW = 2.6, 1.4
_SHADE = "#f3e6c4"
_MS = 10**6
_S = 10**9


@dataclass(frozen=True, kw_only=True)
class Followed:
    """An arm of the figure. name: the arm's name in words. began_ns: the start of the measured load."""

    name: str
    seen: Seen
    began_ns: int

    def s(self, t_ns: float) -> float:
        """Converts a time to seconds after the start of the measured load."""
        return (t_ns - self.began_ns) / _S


def save(arms: Sequence[Followed], headline: Sequence[str], folder: Path) -> list[Path]:
    """Writes the figure into the folder, as SVG, PNG and HTML. Returns the paths. Raises OSError."""
    return picture.save(draw(arms, headline), folder, NAME)


def draw(arms: Sequence[Followed], headline: Sequence[str]) -> Declaration:
    """Draws the figure, with a panel for each arm. arms: at least one arm. headline: the texts above the panels."""
    most_s = max(arm.s(arm.seen.until_ns) for arm in arms)
    axis = Axis(most=most_s * 1.02, title="seconds after the page was asked for")
    panels = [_panel(arm, axis, is_last=arm is arms[-1]) for arm in arms]
    return sheet([_rate_panel(arms[0], axis), *panels], heading(headline))


def words_of(step: Step) -> str:
    """Describes in words how soon LOWAT followed a step of the rate, and how long the next two round trips took."""
    if step.lowat_ns is None:
        return "LOWAT never correct"
    if not step.lowat_ns:
        return "LOWAT correct at once"
    after = f"LOWAT correct after {milliseconds(step.lowat_ns / _MS)}"
    if not step.round_trips_ns:
        return after
    trips = "two round trips" if len(step.round_trips_ns) > 1 else "a round trip"
    return f"{after} ({trips}: {milliseconds(step.round_trips_ns[-1] / _MS)})"


def _panel(arm: Followed, axis: Axis, *, is_last: bool) -> Declaration:
    panel = Panel(axis=axis, bottom=log10(_LEAST_MS), top=log10(_MOST_MS), height_px=_HEIGHT_PX, is_last=is_last)
    found = steps(arm.seen)
    target_ms = arm.seen.target_ns / _MS
    layers = [
        _shades(arm, found, panel),
        _band(target_ms, panel),
        *(panel.level(log10(mark), GRID) for mark in _TICKS_MS),
        *(panel.margin(milliseconds(mark), log10(mark), QUIET, side=1, font_px=SMALL) for mark in _TICKS_MS),
        _unsent(arm, panel),
        panel.level(log10(target_ms), INK, dash=(3, 5)),
        *_limit(arm, panel),
        *_instants(arm, found, panel),
        panel.margin("LOWAT", _LOWAT_ROW, STEERED, side=-1),
        panel.margin("unsent", _UNSENT_ROW, LAYERS[Layer.UNSENT], side=-1),
    ]
    told = [f"{rate(step.rate_bit_s)}: {words_of(step)}{';' if step is not found[-1] else ''}" for step in found]
    follows = bool(found) and all(step.is_followed for step in found)
    return panel.made_of(layers, title(arm.name, told, STEERED if follows else INK))


def _rate_panel(arm: Followed, axis: Axis) -> Declaration:
    """Draws the panel of the link's rate, from zero to its maximum."""
    pieces = arm.seen.rate.pieces
    most_bit_s = max(rate_bit_s for _, rate_bit_s in pieces)
    panel = Panel(axis=axis, bottom=0, top=1.5, height_px=_RATE_PX, is_last=False)
    starts_s = [max(0.0, arm.s(t_ns)) for t_ns, _ in pieces]
    rows = [
        {"start": start_s, "base": 0, "top": rate_bit_s / most_bit_s}
        for start_s, (_, rate_bit_s) in zip(starts_s, pieces, strict=True)
    ]
    rows.append({**rows[-1], "start": axis.most})
    mark = {"type": "area", "interpolate": "step-after", "opacity": 1, "color": LAYERS[Layer.QUEUE]}
    area = panel.marks(rows, mark, x=panel.x())
    labels = [
        panel.text(beside(rate(bit_s), axis.pixels(start_s), SMALL, WIDTH), bit_s / most_bit_s + 0.25, QUIET)
        for start_s, (_, bit_s) in zip(starts_s, pieces, strict=True)
    ]
    return panel.made_of([area, *labels, panel.margin("link", 0.5, LAYERS[Layer.QUEUE], side=-1)], title("", []))


def _shades(arm: Followed, found: Sequence[Step], panel: Panel) -> Declaration:
    """Draws the shade of two round trips after each step. The shades must be the panel's first layer."""
    rows = [
        {
            "start": arm.s(step.at_ns),
            "end": min(panel.axis.most, arm.s(step.at_ns + step.round_trips_ns[-1])),
            "base": panel.bottom,
            "top": panel.top,
        }
        for step in found
        if step.round_trips_ns
    ]
    return panel.marks(rows, {"type": "rect", "color": _SHADE, "opacity": 1}, x=panel.x(), x2=END)


def _band(target_ms: float, panel: Panel) -> Declaration:
    low, high = (log10(target_ms * (1 + sign * BAND)) for sign in (-1, 1))
    rows = [{"start": 0, "end": panel.axis.most, "base": low, "top": high}]
    return panel.marks(rows, {"type": "rect", "color": NO_DIFFERENCE, "opacity": 1}, x2=END)


def _unsent(arm: Followed, panel: Panel) -> Declaration:
    """Draws the area of unsent bytes, with the largest sample in each column."""
    axis, seen = panel.axis, arm.seen
    looks = [look for look in seen.looks if 0 <= arm.s(look.t_ns) <= arm.s(seen.until_ns)]
    rows = [
        {"start": round(arm.s(look.t_ns), 4), "base": panel.bottom, "top": _height(seen.unsent_ns(look) / _MS)}
        for look in columns(looks, axis.value(_COLUMN_PX), lambda look: arm.s(look.t_ns), seen.unsent_ns)
    ]
    mark = {"type": "area", "opacity": 0.8, "color": LAYERS[Layer.UNSENT], "interpolate": "step-after"}
    return panel.marks(rows, mark)


def _limit(arm: Followed, panel: Panel) -> Iterator[Declaration]:
    """Draws the line of the most unsent bytes that LOWAT allows."""
    seen, most_ns = arm.seen, arm.seen.until_ns
    changes = sorted({*(each.t_ns for each in seen.settings), *(t_ns for t_ns, _ in seen.rate.pieces), arm.began_ns})
    rows: list[dict[str, Any]] = [
        {"start": round(arm.s(t_ns), 4), "base": _height(lets_stand_ns / _MS)}
        for t_ns in [*(t_ns for t_ns in changes if arm.began_ns <= t_ns < most_ns), most_ns]
        if (lets_stand_ns := seen.lets_stand_ns(t_ns)) is not None
    ]
    if rows:
        mark = {"type": "line", "interpolate": "step-after", "strokeWidth": 4, "color": STEERED}
        yield layer(rows, mark, x=START, y=panel.y("base"))


def _instants(arm: Followed, found: Sequence[Step], panel: Panel) -> Iterator[Declaration]:
    for step in found:
        yield panel.instant(arm.s(step.at_ns), [(panel.bottom, panel.top)], QUIET, width_px=2)


def _height(time_ms: float) -> float:
    return round(log10(min(_MOST_MS, max(_LEAST_MS, time_ms))), 4)
