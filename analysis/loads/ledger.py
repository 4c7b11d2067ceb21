"""The ledger: where the focal resource's first byte waited, and how many bytes of the others were ahead of it. Pure.

The first byte exists when the origin has it, and can be used when its TLS record is complete at the client. In between
it is at every moment in exactly one of these layers, in this order:

1. pending: in the front, which could still send it before the others, but the kernel takes nothing;
2. committed: in the front's output queue, behind bytes of the others (in a TLS record or an output buffer);
3. unsent: in the front's kernel, behind the bytes taken before. The only layer that TCP_NOTSENT_LOWAT bounds;
4. queue: sent, behind other packets in the bottleneck queue;
5. propagation: on its way; the delay, and the transmission of its own packet;
6. record: at the client, which cannot decrypt a TLS record before the record's last byte arrives.

The times of passing from one to the next are measured from outside. The front's kernel counts the bytes that it got and
sent (`SocketSample`); the client knows where in the same stream the resource began (`stream.Payload`). The time in 4
follows from the bytes that the link reports, its rate and its delay. Some of the time that passed may be left over. It
is `recovery` if it is longer than the sampling interval and packets were retransmitted meanwhile, because a byte cannot
be read before those ahead of it; but never more than the time in which nothing arrived at the client. The rest is
`unexplained`. So the parts add up, and the last one shows how reliable the others are.

If the front sends the others first by its own choice, as when no order was asked for, that time is in 2.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from types import MappingProxyType

from common.formats.run import LedgerRecord, OtherBytes


class Layer(StrEnum):
    """The places where that first byte can wait; see above."""

    PENDING = "front_pending"
    COMMITTED = "front_committed"
    UNSENT = "kernel_unsent"
    QUEUE = "bottleneck_queue"
    PROPAGATION = "propagation"
    RECOVERY = "recovery"
    RECORD = "tls_record"
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True, kw_only=True)
class Moment:
    """The places of the others' bytes at an instant. The numbers add up to the others' size.

    committed: bytes in the front that are still sent before the resource; known while the resource is in the front.
    All other bytes in the front count as pending. recovery: bytes sent, neither on the link nor readable: they are
    lost, or at the client behind lost ones.
    """

    t_ns: int
    pending_bytes: int
    committed_bytes: int
    unsent_bytes: int
    queue_bytes: int
    propagation_bytes: int
    recovery_bytes: int
    received_bytes: int

    @property
    def in_flight_bytes(self) -> int:
        """Sent, and not yet readable at the client."""
        return self.queue_bytes + self.propagation_bytes + self.recovery_bytes

    @property
    def ahead_bytes(self) -> int:
        """Bytes that the focal resource cannot overtake any more."""
        return self.committed_bytes + self.unsent_bytes + self.in_flight_bytes


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """The ledger of a load. available_ns: the focal resource exists. first_byte_ns: its first byte can be used.

    parts: the wait by layer, in order.
    """

    load: int
    focal: str
    available_ns: int
    first_byte_ns: int
    parts: Mapping[Layer, int]
    moments: tuple[Moment, ...]

    @property
    def wait_ns(self) -> int:
        """The time from available_ns to first_byte_ns: the sum of the parts."""
        return self.first_byte_ns - self.available_ns

    @property
    def largest(self) -> Layer:
        """The layer with the longest wait."""
        return max(self.parts, key=lambda layer: abs(self.parts[layer]))

    @property
    def explained(self) -> float:
        """The fraction of the wait that is not unexplained, 0 to 1."""
        return 1 - min(1.0, abs(self.parts[Layer.UNEXPLAINED]) / self.wait_ns)

    @property
    def at_available(self) -> Moment:
        """The last sample before the focal resource existed, with the bytes committed then."""
        index = bisect_right(self.moments, self.available_ns, key=lambda moment: moment.t_ns)
        return self.moments[max(0, index - 1)]

    def as_record(self) -> LedgerRecord:
        """The ledger as run.json has it: milliseconds and bytes."""
        moment = self.at_available
        bytes_in = {each.name: getattr(moment, f"{each.name}_bytes") for each in fields(OtherBytes)}
        return LedgerRecord(
            focal=self.focal,
            wait_ms=self.wait_ns / 10**6,
            parts_ms={layer.value: wait_ns / 10**6 for layer, wait_ns in self.parts.items()},
            largest=self.largest.value,
            explained=round(self.explained, 4),
            other_bytes_at_available=OtherBytes(**bytes_in),
        )


WORDS: Mapping[Layer, str] = MappingProxyType(
    {
        Layer.PENDING: "in the front, still reorderable",
        Layer.COMMITTED: "in the front's output queue",
        Layer.UNSENT: "unsent in the kernel",
        Layer.QUEUE: "in the bottleneck queue",
        Layer.PROPAGATION: "in propagation",
        Layer.RECOVERY: "for retransmissions",
        Layer.RECORD: "for its TLS record to be complete",
        Layer.UNEXPLAINED: "unexplained",
    }
)
"""The layers in sentences: "it waited", a time, and this."""

_SHORTEST_MS = 5.0


def sentence(record: LedgerRecord) -> str:
    """Puts a ledger of run.json into words, without parts shorter than 5 ms."""
    parts = [
        f"{'-' if wait_ms < 0 else '+'} {abs(wait_ms) / 1000:.2f} {words}"
        for layer, words in WORDS.items()
        if abs(wait_ms := record.parts_ms.get(layer.value, 0)) >= _SHORTEST_MS
    ]
    return f"the {record.focal} waited {record.wait_ms / 1000:.2f} s = {' '.join(parts).removeprefix('+ ')}"
