"""The Link: what the network between client and front is asked to be.

Rules:
1. A Link that exists is valid.
2. "Down" is toward the client, where the pages travel; "up" carries requests and acknowledgements.
3. `queue` is the bottleneck's buffer alone. Packets that are merely on their way (the delay) never count against it.
"""

from dataclasses import dataclass

PACKET_BYTES = 1514
"""A full-size Ethernet frame as a Linux qdisc counts it: 1500 bytes of IP and the 14 byte header."""

_LONGEST_DELAY_NS = 60 * 10**9
_LARGEST_QUEUE_PACKETS = 100_000


@dataclass(frozen=True, kw_only=True)
class Link:
    """One link. Raises ValueError, naming the field, if a value is out of range.

    rate_bit_s: bits per second toward the client, None for unlimited; counted per Ethernet frame, as tc does.
    delay_ns, delay_up_ns: one-way delay toward the client, and toward the front.
    queue_packets: full-size packets the bottleneck holds, the one being sent included.
    loss: fraction of packets lost toward the client.
    jitter_ns: the delay toward the client varies by up to this much, evenly; order is kept.
    """

    rate_bit_s: int | None
    delay_ns: int
    delay_up_ns: int = 0
    queue_packets: int = 25
    loss: float = 0.0
    jitter_ns: int = 0

    def __post_init__(self) -> None:
        if self.rate_bit_s is not None and not 1000 <= self.rate_bit_s <= 100 * 10**9:
            raise ValueError("rate: allowed are 1kbit to 100gbit, or unlimited")
        for name in ("delay_ns", "delay_up_ns"):
            if not 0 <= getattr(self, name) <= _LONGEST_DELAY_NS:
                raise ValueError(f"{name.removesuffix('_ns')}: allowed are 0ms to 60s")
        if not 1 <= self.queue_packets <= _LARGEST_QUEUE_PACKETS:
            raise ValueError(f"queue: allowed are 1 to {_LARGEST_QUEUE_PACKETS} packets of {PACKET_BYTES} bytes")
        if not 0 <= self.loss <= 0.5:
            raise ValueError("loss: allowed are 0% to 50%")
        if not 0 <= self.jitter_ns <= self.delay_ns:
            raise ValueError("jitter: allowed are 0ms to the delay")

    @property
    def shaped(self) -> bool:
        """Whether anything has to be done to the packets at all."""
        return bool(self.rate_bit_s or self.delay_ns or self.delay_up_ns or self.loss)

    @property
    def round_trip_ns(self) -> int:
        """Delay there and back, without the time to put the packet on the wire."""
        return self.delay_ns + self.delay_up_ns

    def transmission_ns(self, size_bytes: int) -> int:
        """Time the bottleneck needs for so many bytes, headers counted by the caller."""
        return 0 if self.rate_bit_s is None else size_bytes * 8 * 10**9 // self.rate_bit_s
