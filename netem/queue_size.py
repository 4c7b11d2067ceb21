"""The notations of QUEUE: packets, bytes, a time at the bottleneck's rate, or bandwidth-delay products.

A queue in packets holds so many packets, whatever their size. All other notations stand for bytes, whatever the size of
the packets. In both cases the packet being sent counts.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from priolab.common.packets import PACKET_BYTES
from priolab.netem import units
from priolab.netem.link_ranges import MOST_PACKETS, LinkError

MOST_BYTES = MOST_PACKETS * PACKET_BYTES

ALLOWED = (
    f"1 to {MOST_PACKETS} packets; bytes with a unit, such as 30kb, from {PACKET_BYTES}b (a full packet) to"
    f" {MOST_BYTES}b; a time at the rate, such as 200ms; or bandwidth-delay products, such as 1bdp or 0.5bdp"
)

_BDP = "bdp"
_BYTE_BITS = 8
_NS = 10**9


@dataclass(frozen=True, kw_only=True)
class QueueSize:
    """A value of QUEUE. One of the fields is not None.

    packets: the most packets. size_bytes: the most bytes, as Ethernet frames. time_ns: the time in which the link sends
    a full queue. products: a multiple of the bandwidth-delay product.
    """

    packets: int | None = None
    size_bytes: int | None = None
    time_ns: int | None = None
    products: Fraction | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parses a value of QUEUE. Raises ValueError."""
        if text.isascii() and text.isdigit():
            return cls(packets=_within(int(text), 1, MOST_PACKETS))
        if text.lower().endswith(_BDP):
            products = units.parse_number(text[: -len(_BDP)])
            if not products:
                raise ValueError("no queue")
            return cls(products=products)
        try:
            return cls(time_ns=_within(units.parse_time_ns(text), 1, 3600 * _NS))
        except ValueError:
            return cls(size_bytes=_within(units.parse_size_bytes(text), PACKET_BYTES, MOST_BYTES))

    def fields(
        self, *, rate_bit_s: int | None, rate_up_bit_s: int | None, round_trip_ns: int, knob: str = "QUEUE"
    ) -> dict[str, Any]:
        """Returns the fields of a Link: queue_packets, queue_bytes and queue_up_bytes.

        rate_bit_s, rate_up_bit_s: the first or the mean rate of each direction; None without a bottleneck.
        round_trip_ns: the link's delay in both directions together. knob: its name, for errors. Raises LinkError.
        """
        if self.packets is not None:
            return {"queue_packets": self.packets}
        rates = {"queue_bytes": rate_bit_s, "queue_up_bytes": rate_up_bit_s}
        found = {name: self._bytes(rate, round_trip_ns) for name, rate in rates.items() if rate is not None}
        if not found and self.size_bytes is None:
            raise LinkError(knob, "packets or bytes, such as 25 or 30kb, with an unlimited rate")
        largest = max(found.values(), default=self.size_bytes or 0)
        if largest > MOST_BYTES:
            raise LinkError(knob, f"at most {MOST_BYTES} bytes; with this link it would have {largest}")
        return {**found, "queue_packets": found.get("queue_bytes", largest) // PACKET_BYTES}

    def _bytes(self, rate_bit_s: int, round_trip_ns: int) -> int:
        """Returns the most bytes at a rate: at least a full packet."""
        if self.size_bytes is not None:
            return self.size_bytes
        time_ns = self.time_ns if self.products is None else self.products * round_trip_ns
        assert time_ns is not None
        return max(PACKET_BYTES, round(Fraction(rate_bit_s) * time_ns / (_BYTE_BITS * _NS)))


def _within(number: int, least: int, most: int) -> int:
    if not least <= number <= most:
        raise ValueError("out of range")
    return number
