"""The ledger: where the focal resource's first byte waited, and how much of the others stood before it. Pure.

Its first byte exists when the origin has it to give, and can be used when its TLS record is complete at the
client. Between the two it is at every moment in exactly one of these, in this order:

1. pending: with the front, which could still send it before the others, but the kernel takes nothing;
2. committed: with the front, behind bytes of the others that it had already put in line (TLS record, output buffer);
3. unsent: with the front's kernel, behind all that it took before. The only one that TCP_NOTSENT_LOWAT bounds;
4. queue: sent, behind other packets in the bottleneck;
5. propagation: on its way, delay and its own packet's transmission;
6. record: with the client, which cannot decrypt a record before its last byte is here.

When it passes from one to the next is seen from outside: the front's kernel counts the bytes handed to it and sent
(`SocketSample`), the client where in the same stream the resource began (`stream.Payload`). How long 4 takes
follows from what the link says it holds, its rate and its delay. What that leaves over of the time that passed is
`recovery` if it is more than the time from look to look and anything was sent again in the meantime, because a byte
cannot be read before those ahead of it, but no more than the time in which the client saw nothing come. The rest is
`unexplained`. So the parts add up, and the last says what the others are worth.

A front that sends the others first by its own choice, as when no order was asked for, shows as 2.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from types import MappingProxyType

from common.formats.run import LedgerRecord, OtherBytes


class Layer(StrEnum):
    """Where that first byte can be; see above."""

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
    """Where the bytes of the others are at an instant; they add up to all of theirs.

    committed is known from the moment the resource exists until the front hands it over: bytes that then still went
    before it. What else is with the front counts as pending. recovery: sent, neither on the link nor readable: lost,
    or with the client behind something that was.
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
    """The ledger of a load. available_ns: the focal resource exists; first_byte_ns: it can be used.

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
        """From when it existed to when it could be used: the sum of the parts."""
        return self.first_byte_ns - self.available_ns

    @property
    def largest(self) -> Layer:
        """The part that was longest."""
        return max(self.parts, key=lambda layer: abs(self.parts[layer]))

    @property
    def explained(self) -> float:
        """Part of the wait that has a name, 0 to 1."""
        return 1 - min(1.0, abs(self.parts[Layer.UNEXPLAINED]) / self.wait_ns)

    @property
    def at_available(self) -> Moment:
        """The last look before the focal resource existed, told with what was already committed then."""
        index = bisect_right(self.moments, self.available_ns, key=lambda moment: moment.t_ns)
        return self.moments[max(0, index - 1)]

    def as_record(self) -> LedgerRecord:
        """As run.json keeps it: milliseconds and bytes."""
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
        Layer.PENDING: "with the front, still reorderable",
        Layer.COMMITTED: "behind what the front had put in line",
        Layer.UNSENT: "unsent in the kernel",
        Layer.QUEUE: "in the bottleneck's queue",
        Layer.PROPAGATION: "propagation",
        Layer.RECOVERY: "for lost packets to be sent again",
        Layer.RECORD: "for its TLS record to be complete",
        Layer.UNEXPLAINED: "unexplained",
    }
)
"""What the focal resource does in each, after \"it waited\" and a time."""

_SHORTEST_MS = 5.0


def sentence(record: LedgerRecord) -> str:
    """A ledger, as run.json keeps it, in words; parts shorter than 5 ms are left out."""
    parts = [
        f"{'-' if wait_ms < 0 else '+'} {abs(wait_ms) / 1000:.2f} {words}"
        for layer, words in WORDS.items()
        if abs(wait_ms := record.parts_ms.get(layer.value, 0)) >= _SHORTEST_MS
    ]
    return f"the {record.focal} waited {record.wait_ms / 1000:.2f} s = {' '.join(parts).removeprefix('+ ')}"
