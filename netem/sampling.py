"""The knob SAMPLE: how often a run samples the front's socket and the link's queue.

`auto` samples once per packet while the measured load runs: the socket and the queue of a saturated link change when a
packet leaves. Before the measured load it samples a tenth as often. The figures of earlier loads come from the client,
which records every arrival.
"""

from dataclasses import dataclass
from typing import Final, Literal

from priolab.common.packets import PACKET_BYTES
from priolab.netem import units
from priolab.netem.link import Link

AUTO: Final = "auto"
ALLOWED = "auto, a time from 1ms to 100ms, or none"
_LEAST_NS, _MOST_NS = 10**6, 10**8
_AUTO_LEAST_NS = 10**7
"""The shortest interval of `auto`. Packets of a fast link leave more often than samples are useful."""
_SELDOM = 10

Sample = int | Literal["auto"] | None
"""A value of SAMPLE: an interval in ns; None for a single sample."""


@dataclass(frozen=True, kw_only=True)
class Intervals:
    """The sampling intervals of a run. measured_ns: during the measured load. before_ns: before the measured load."""

    measured_ns: int
    before_ns: int


def parse_sample(text: str) -> Sample:
    """Parses a value of SAMPLE. Raises ValueError."""
    if text == AUTO:
        return AUTO
    if text == "none":
        return None
    interval_ns = units.parse_time_ns(text)
    if not _LEAST_NS <= interval_ns <= _MOST_NS:
        raise ValueError(f"allowed: {ALLOWED}")
    return interval_ns


def intervals(sample: Sample, link: Link) -> Intervals | None:
    """Returns the sampling intervals on a link; None for a single sample."""
    if sample is None:
        return None
    if sample != AUTO:
        return Intervals(measured_ns=sample, before_ns=sample)
    packet_ns = 0 if link.rate_bit_s is None else PACKET_BYTES * 8 * 10**9 // max(link.rates_bit_s)
    measured_ns = min(_MOST_NS, max(_AUTO_LEAST_NS, packet_ns))
    return Intervals(measured_ns=measured_ns, before_ns=_SELDOM * measured_ns)
