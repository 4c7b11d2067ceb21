"""The least and the most of each number of a Link: for the Link's own check, and for the parsers of its knobs."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from priolab.common.packets import PACKET_BYTES


class LinkError(ValueError):
    """A value that a link cannot have. knob: the knob that sets it. allowed: what is allowed instead, in words."""

    def __init__(self, knob: str, allowed: str) -> None:
        super().__init__(f"{knob.lower()}: allowed {allowed}")
        self.knob = knob
        self.allowed = allowed


@dataclass(frozen=True)
class Range:
    """The range of a number. knob: the knob that sets it. words: what is allowed, in words."""

    knob: str
    least: float
    most: float
    words: str

    @property
    def error(self) -> LinkError:
        """The error for a number outside."""
        return LinkError(self.knob, self.words)

    def check(self, number: float | None) -> None:
        """Raises LinkError for a number outside. None stands for nothing, which is allowed."""
        if number is not None and not self.least <= number <= self.most:
            raise self.error


LEAST_MTU, MOST_MTU = 576, 1500
"""The range of MTU: a host need not take larger packets than the first (RFC 791); devices have the second."""

MOST_PACKETS = 100_000
"""The longest queue in packets. In bytes it is as many full-size packets."""

_LONGEST_NS = 60 * 10**9
_RATES = "1kbit to 100gbit"

STEP_RATES = Range("RATE_STEPS", 1000, 100 * 10**9, f"are rates of {_RATES}")

UP: Mapping[str, str] = MappingProxyType(
    {
        "rate_bit_s": "rate_up_bit_s",
        "delay_ns": "delay_up_ns",
        "queue_packets": "queue_up_packets",
        "queue_bytes": "queue_up_bytes",
        "trace": "trace_up",
        "loss": "loss_up",
        "loss_burst_packets": "loss_burst_up_packets",
        "jitter_ns": "jitter_up_ns",
        "reorder": "reorder_up",
        "duplicate": "duplicate_up",
        "corrupt": "corrupt_up",
        "prepared": "prepared_up",
    }
)
"""The fields of Link toward the client, each with that of the other direction."""

_DOWN: Mapping[str, Range] = {
    "rate_bit_s": Range("RATE", STEP_RATES.least, STEP_RATES.most, f"are {_RATES}, or unlimited"),
    "delay_ns": Range("DELAY", 0, _LONGEST_NS, "are 0ms to 60s"),
    "queue_packets": Range("QUEUE", 1, MOST_PACKETS, f"are 1 to {MOST_PACKETS} packets of {PACKET_BYTES} bytes"),
    "loss": Range("LOSS", 0, 1, "are 0% to 100%"),
    "loss_burst_packets": Range("LOSS_BURST", 1, 1000, "are 1 to 1000 packets, with a loss above 0%"),
    "reorder": Range("REORDER", 0, 0.25, "are 0% to 25%, without a delay 0%"),
    "duplicate": Range("DUPLICATE", 0, 1, "are 0% to 100%"),
    "corrupt": Range("CORRUPT", 0, 1, "are 0% to 100%"),
}

RANGES: Mapping[str, Range] = MappingProxyType(
    {
        **_DOWN,
        **{UP[name]: replace(each, knob=f"{each.knob}_UP") for name, each in _DOWN.items()},
        "mtu_bytes": Range("MTU", LEAST_MTU, MOST_MTU, f"are {LEAST_MTU} to {MOST_MTU} bytes"),
        "coalesce_ns": Range("COALESCE", 0, 10 * 10**6, "are 0us to 10ms"),
    }
)
"""The ranges by the fields of Link."""
