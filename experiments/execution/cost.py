"""Estimates the cost of a run, in seconds, from its scenario alone: first the link time, from this the cost.

With the virtual clock a run costs processor time: a fixed time, a time per byte, a time per second of the guest's
clock, and a time per sample. The constants of this module were measured on two processors with two guests at once and
few other programs; on a busy machine a run takes up to half as much more. Other servers, congestion controls and losses
change a run's processor time by less than a third.

A browser's timers keep the guest's clock from jumping. So a browser's run costs ten seconds plus an eighth of the link
time, as measured in the scenarios `fast-link`, `maps` and `modem` with CLIENT=chromium.
"""

from math import ceil, log2, sqrt

from priolab.common.packets import INITIAL_WINDOW_SEGMENTS, PACKET_BYTES
from priolab.experiments.scenario.scenario import Scenario
from priolab.netem.sampling import Sample, intervals

GUEST_S = 0.75
"""The processor time for the start and the end of a guest, in seconds."""

_FRAMING = 1.055
"""Bytes on the link per byte of a page, with the headers of Ethernet, IP, TCP, TLS and HTTP/2."""

_FIRST_WINDOW_BYTES = INITIAL_WINDOW_SEGMENTS * PACKET_BYTES
_LOSS_FACTOR = sqrt(1.5)
"""Under random loss, a sender's window in packets is this factor divided by the square root of the loss rate (Mathis
and others, 1997)."""

_START_S = 0.31
_BYTES_PER_S = 22_000_000
_PER_SAMPLE_S = 0.00011
_PER_LINK_S = 0.0004
_BROWSER_START_S = 9.5
_BROWSER_PER_LINK_S = 0.12
_REAL_START_S = 12.0


def cost_s(scenario: Scenario, *, virtual_clock: bool, sample: Sample) -> float:
    """Estimates what a run costs, in seconds, without the start of its guest.

    With the virtual clock the cost is processor time, otherwise wall time. sample: the value of the execution option
    SAMPLE.
    """
    time_s = link_s(scenario)
    if not virtual_clock:
        return _REAL_START_S + time_s
    by_browser = scenario.client.is_browser
    browser_s = _BROWSER_START_S + _BROWSER_PER_LINK_S * time_s if by_browser else 0.0
    loads, found = scenario.reloads + 1, intervals(sample, scenario.link)
    samples = 1.0
    if found is not None:
        samples = time_s / loads * 10**9 * (1 / found.measured_ns + scenario.reloads / found.before_ns)
    bytes_s = loads * scenario.whole_page.total_bytes / _BYTES_PER_S
    return _START_S + browser_s + bytes_s + _PER_SAMPLE_S * samples + _PER_LINK_S * time_s


def link_s(scenario: Scenario) -> float:
    """Estimates the link time of all page loads of a run, in seconds."""
    link, loads = scenario.link, scenario.reloads + 1
    page_bytes = scenario.whole_page.total_bytes * _FRAMING
    round_trip_s = link.round_trip_ns / 10**9
    moved_s = link.transmission_ns(round(page_bytes)) / 10**9
    if link.loss and scenario.congestion_control != "bbr":
        window_bytes = _LOSS_FACTOR / sqrt(link.loss) * PACKET_BYTES
        moved_s = max(moved_s, page_bytes / window_bytes * round_trip_s)
    slow_start = ceil(log2(1 + _pipe_bytes(scenario, page_bytes) / _FIRST_WINDOW_BYTES)) * round_trip_s
    return slow_start + loads * (moved_s + 2 * round_trip_s + _held_back_s(scenario, moved_s))


def _pipe_bytes(scenario: Scenario, page_bytes: float) -> float:
    """Returns the bytes to which the congestion window has to grow to fill the link, or to hold the whole page."""
    rate_bit_s = scenario.link.rate_bit_s
    return page_bytes if rate_bit_s is None else min(page_bytes, rate_bit_s / 8 * scenario.link.round_trip_ns / 10**9)


def _held_back_s(scenario: Scenario, moved_s: float) -> float:
    """Estimates the seconds of a load in which the link is idle because the origin holds responses back.

    moved_s: the seconds in which the link transmits the page.
    """
    return max(0.0, scenario.whole_page.longest_ns / 10**9 - moved_s / 2)
