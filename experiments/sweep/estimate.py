"""Estimates the time of runs: link time by arithmetic, wall time from measured runs. Pure.

An estimate is good to a factor of two. That is enough to warn before a sweep that takes a night. While a sweep runs,
finished runs correct the estimate of the remaining runs (`tally.py`).

Runs in the guest were measured with the named sweeps `maps` (three loads of 1.4 MB) and `modem` (four loads), with
`maps` at 10 Mbit/s, and with pages of 10 MB at 10 Mbit/s, in two guests at once on two processors. A run took half a
second plus one second per 15 MB, whatever the link. The first run of a guest took two seconds more. (Two other guests
were running, so these figures are half of the measured times.) A browser's timers keep the guest's clock from jumping:
a browser's run took ten seconds plus a quarter to a third of the link time (`fast-link`, `maps` and `modem` with
CLIENT=chromium).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log2, sqrt

from experiments.execution.executor import fair_share
from experiments.scenario.scenario import ClientKind, Scenario
from netem.link import PACKET_BYTES

_FRAMING = 1.055
"""Bytes on the link per byte of a page: Ethernet, IP, TCP, TLS and HTTP/2."""

_FIRST_WINDOW_BYTES = 10 * PACKET_BYTES
_LOSS_FACTOR = sqrt(1.5)
"""Under random loss, a sender's window in packets is this factor divided by the square root of the loss rate (Mathis
and others, 1997)."""

_GUEST_S = 2.0
_START_S = 0.5
_BYTES_PER_S = 15_000_000
_REAL_START_S = 12.0
_BROWSER_START_S = 10.0
_BROWSER_PER_LINK_S = 0.35


@dataclass(frozen=True, kw_only=True)
class TimeEstimate:
    """The estimated time of runs: link time, and wall time with side_by_side runs at once, in seconds."""

    link_s: float
    wall_s: float
    side_by_side: int


def of_all(
    scenarios: Sequence[Scenario], runs: int, *, virtual_clock: bool, side_by_side: int, runs_per_command: int
) -> TimeEstimate:
    """Returns the estimate for that many runs, the same number of each scenario."""
    each = runs / len(scenarios)
    walls = sum(wall_s(scenario, virtual_clock=virtual_clock) for scenario in scenarios)
    guests_s = _GUEST_S * _commands(runs, side_by_side, runs_per_command) if virtual_clock else 0.0
    return TimeEstimate(
        link_s=each * sum(map(link_s, scenarios)),
        wall_s=(each * walls + guests_s) / min(side_by_side, runs),
        side_by_side=side_by_side,
    )


def _commands(runs: int, side_by_side: int, most: int) -> int:
    """Returns the number of commands that together carry out the runs. most: the most runs of one command."""
    count = 0
    while runs:
        runs -= fair_share(runs, side_by_side, most, count)
        count += 1
    return count


def link_s(scenario: Scenario) -> float:
    """Estimates the link time of all page loads of a run, in seconds."""
    link, loads = scenario.link, scenario.reloads + 1
    page_bytes = scenario.page.total_bytes * _FRAMING
    round_trip_s = link.round_trip_ns / 10**9
    moved_s = link.transmission_ns(round(page_bytes)) / 10**9
    if link.loss and scenario.congestion_control != "bbr":
        window_bytes = _LOSS_FACTOR / sqrt(link.loss) * PACKET_BYTES
        moved_s = max(moved_s, page_bytes / window_bytes * round_trip_s)
    slow_start = ceil(log2(1 + _pipe_bytes(scenario, page_bytes) / _FIRST_WINDOW_BYTES)) * round_trip_s
    return slow_start + loads * (moved_s + 2 * round_trip_s + _held_back_s(scenario, moved_s))


def _pipe_bytes(scenario: Scenario, page_bytes: float) -> float:
    """Returns the bytes to which the congestion window has to grow."""
    rate_bit_s = scenario.link.rate_bit_s
    return page_bytes if rate_bit_s is None else min(page_bytes, rate_bit_s / 8 * scenario.link.round_trip_ns / 10**9)


def _held_back_s(scenario: Scenario, moved_s: float) -> float:
    """Estimates the seconds of a load in which the link is idle because the origin holds responses back."""
    return max(0.0, scenario.page.longest_ns / 10**9 - moved_s / 2)


def wall_s(scenario: Scenario, *, virtual_clock: bool) -> float:
    """Estimates the wall time of a run in seconds, without the start of its guest.

    With the virtual clock the wall time depends on the bytes that are transferred, and hardly on link time. The
    wall time of a browser's run depends on both.
    """
    if not virtual_clock:
        return _REAL_START_S + link_s(scenario)
    by_browser = scenario.client is ClientKind.CHROMIUM
    browser_s = _BROWSER_START_S + _BROWSER_PER_LINK_S * link_s(scenario) if by_browser else 0.0
    return _START_S + browser_s + (scenario.reloads + 1) * scenario.page.total_bytes / _BYTES_PER_S


def duration(seconds: float) -> str:
    """Formats a time for people, in two units at most: `45 s`, `12 min`, `3 h 20 min`, `2 d 4 h`."""
    minutes = round(seconds / 60)
    if seconds < 100:
        return f"{seconds:.0f} s"
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes // 1440} d {minutes % 1440 // 60} h"
