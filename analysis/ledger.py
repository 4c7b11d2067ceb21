"""The ledger: where the script's first byte waited, and how much of the image stood before it. Pure.

The script's first byte exists when the origin has it to give, and can be used when its TLS record is complete at the
client. Between the two it is at every moment in exactly one of these, in this order:

1. pending: with the front, which could still send it before the image, but the kernel takes nothing;
2. committed: with the front, behind image bytes that it had already put in line (TLS record, output buffer);
3. unsent: with the front's kernel, behind all that it took before. The only one that TCP_NOTSENT_LOWAT bounds;
4. queue: sent, behind other packets in the bottleneck;
5. propagation: on its way, delay and its own packet's transmission;
6. record: with the client, which cannot decrypt a record before its last byte is here.

When it passes from one to the next is seen from outside: the front's kernel counts the bytes handed to it and sent
(`SocketSample`), the client where in the same stream the script began (`stream.Payload`). How long 4 takes follows from
what the link says it holds, its rate and its delay. What that leaves over of the time that passed is `recovery` if
it is more than the time from look to look and anything was sent again in the meantime, because a byte cannot be read
before those ahead of it; and `unexplained` otherwise. So the parts add up, and the last says what the others are worth.

A front that sends the image first by its own choice, as when no order was asked for, shows as 2.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Self

from analysis.journals import QueueSample, SocketSample
from analysis.load import Evidence, Layers
from analysis.metrics import IMAGE, SCRIPT, PageLoad
from analysis.stream import Payload

HEADERS_BYTES = 66
"""Of a packet: Ethernet 14, IPv4 20, TCP with time stamps 32."""

PACKET_BYTES = 1514


class Layer(StrEnum):
    """Where the script's first byte can be; see above."""

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
    """Where the image's bytes are at an instant; they add up to the image.

    committed is known from the moment the script exists until the front hands it over: image bytes that then still went
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
        """Image bytes that the script cannot overtake any more."""
        return self.committed_bytes + self.unsent_bytes + self.in_flight_bytes


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """One load's. available_ns: the script exists; first_byte_ns: it can be used. parts: wait by layer, in order."""

    load: int
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
        """The last look before the script existed, told with what was already committed then."""
        index = bisect_right(self.moments, self.available_ns, key=lambda moment: moment.t_ns)
        return self.moments[max(0, index - 1)]

    def as_document(self) -> dict[str, Any]:
        """As run.json keeps it: milliseconds and bytes."""
        moment = self.at_available
        return {
            "wait_ms": self.wait_ns / 10**6,
            "parts_ms": {layer.value: wait_ns / 10**6 for layer, wait_ns in self.parts.items()},
            "largest": self.largest.value,
            "explained": round(self.explained, 4),
            "image_bytes_at_available": {
                field.name.removesuffix("_bytes"): getattr(moment, field.name)
                for field in fields(moment)
                if field.name.endswith("_bytes")
            },
        }


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
"""What the script does in each, after \"it waited\" and a time."""

_SHORTEST_MS = 5.0


def sentence(document: Mapping[str, Any]) -> str:
    """A ledger, as run.json keeps it, in words; parts shorter than 5 ms are left out."""
    parts = [
        f"{'-' if wait_ms < 0 else '+'} {abs(wait_ms) / 1000:.2f} {words}"
        for layer, words in WORDS.items()
        if abs(wait_ms := document["parts_ms"].get(layer.value, 0)) >= _SHORTEST_MS
    ]
    return f"the script waited {document['wait_ms'] / 1000:.2f} s = {' '.join(parts).removeprefix('+ ')}"


class NoLedger(Exception):
    """There is too little to make one of; the text says what is missing."""


@dataclass(frozen=True, kw_only=True)
class _Link:
    rate_bit_s: int | None
    delay_ns: int

    @classmethod
    def of(cls, scenario: Mapping[str, Any]) -> Self:
        return cls(rate_bit_s=scenario["rate_bit_s"], delay_ns=scenario["delay_ns"])

    def transmission_ns(self, frame_bytes: float) -> int:
        return 0 if self.rate_bit_s is None else round(frame_bytes * 8 * 10**9 / self.rate_bit_s)


def ledger(load: PageLoad, evidence: Evidence, layers: Layers, scenario: Mapping[str, Any]) -> Ledger:
    """The ledger of a load. Raises NoLedger."""
    image = Payload(evidence.events, load.number, IMAGE)
    try:
        position = Payload(evidence.events, load.number, SCRIPT).first() + 1
    except ValueError as error:
        raise NoLedger(str(error)) from error
    sockets = [sample for sample in layers.sockets if load.started_ns <= sample.t_ns <= load.finished_ns]
    if len(sockets) < _FEWEST_LOOKS:
        raise NoLedger(f"the front's socket was looked at {len(sockets)} times during the load")
    waited_ns = load.script.first_byte_ns - load.script_available_ns
    if waited_ns < _look_ns(sockets):
        raise NoLedger(f"the script waited {waited_ns / 10**6:.1f} ms, less than from one look to the next")
    parts = _parts(load, _record_ns(load, evidence), position, sockets, layers, _Link.of(scenario))
    moments = _moments(load, evidence, image, position, sockets, layers)
    return Ledger(
        load=load.number,
        available_ns=load.script_available_ns,
        first_byte_ns=load.script.first_byte_ns,
        parts=parts,
        moments=tuple(moments),
    )


_FEWEST_LOOKS = 10


def _record_ns(load: PageLoad, evidence: Evidence) -> int:
    """When the first byte of the record arrived that held the script's first byte."""
    for event in evidence.events:
        if (event.load, event.resource, event.kind) == (load.number, SCRIPT, "data"):
            return event.t_ns if event.record_ns is None else event.record_ns
    raise NoLedger("the script has no data")


def _parts(
    load: PageLoad,
    record_ns: int,
    position: int,
    sockets: Sequence[SocketSample],
    layers: Layers,
    link: _Link,
) -> dict[Layer, int]:
    available_ns = load.script_available_ns
    before = _last(sockets, available_ns) or sockets[0]
    handed_ns = _reached(sockets, [sample.handed_bytes for sample in sockets], position, available_ns, record_ns)
    accepted_ns = _reached(
        sockets, [sample.handed_bytes for sample in sockets], before.handed_bytes + 1, available_ns, handed_ns
    )
    sent_ns = _reached(sockets, [sample.sent_bytes for sample in sockets], position, handed_ns, record_ns)
    own_ns = link.delay_ns + link.transmission_ns(min(PACKET_BYTES, HEADERS_BYTES + before.mss_bytes))
    network_ns = record_ns - sent_ns
    cleared_ns = _cleared_ns(position, sockets, layers, link)
    queue_ns = 0 if cleared_ns is None else max(0, cleared_ns - sent_ns - own_ns)
    own_ns = min(own_ns, network_ns)
    rest_ns = network_ns - queue_ns - own_ns
    recovery_ns = rest_ns if rest_ns > _look_ns(sockets) and _resent(sockets, available_ns, record_ns) else 0
    return {
        Layer.PENDING: accepted_ns - available_ns,
        Layer.COMMITTED: handed_ns - accepted_ns,
        Layer.UNSENT: sent_ns - handed_ns,
        Layer.QUEUE: queue_ns,
        Layer.PROPAGATION: own_ns,
        Layer.RECOVERY: recovery_ns,
        Layer.RECORD: load.script.first_byte_ns - record_ns,
        Layer.UNEXPLAINED: rest_ns - recovery_ns,
    }


def _resent(sockets: Sequence[SocketSample], from_ns: int, until_ns: int) -> bool:
    """Whether anything was sent again in that time."""
    counts = [sample.bytes_retrans for sample in sockets if from_ns <= sample.t_ns <= until_ns]
    return bool(counts) and counts[-1] > counts[0]


def _cleared_ns(position: int, sockets: Sequence[SocketSample], layers: Layers, link: _Link) -> int | None:
    """When the link is through with all that was sent before a position; None if that was not seen.

    At the first look that finds the position sent, the link says what it holds; what was sent behind does not count. It
    transmits without a pause, but not before what its delay line holds has come to the bottleneck.
    """
    sample = next((sample for sample in sockets if sample.sent_bytes >= position), None)
    if sample is None:
        return None
    held: QueueSample | None = _last(layers.queue, sample.t_ns)
    if held is None:
        return None
    behind = (sample.sent_bytes - position) * (sample.mss_bytes + HEADERS_BYTES) / sample.mss_bytes
    begins_ns = sample.t_ns if held.bytes else max(sample.t_ns, _delayed_since(layers.queue, held) + link.delay_ns)
    return begins_ns + link.transmission_ns(max(0.0, held.bytes + held.delay_line_bytes - behind))


def _delayed_since(queue: Sequence[QueueSample], held: QueueSample) -> int:
    """When the delay line was last found to have become other than empty."""
    since_ns = held.t_ns
    for sample in reversed(queue[: bisect_right(queue, held.t_ns, key=lambda sample: sample.t_ns)]):
        if not sample.delay_line_bytes:
            break
        since_ns = sample.t_ns
    return since_ns


def _reached(
    sockets: Sequence[SocketSample], counts: Sequence[int], position: int, earliest_ns: int, latest_ns: int
) -> int:
    """When a count reached a position: between two looks, in their middle, and never outside of what is possible."""
    for index, count in enumerate(counts):
        if count >= position:
            t_ns = sockets[index].t_ns
            middle_ns = (sockets[index - 1].t_ns + t_ns) // 2 if index else t_ns
            return min(max(earliest_ns, middle_ns), latest_ns)
    return latest_ns


def _moments(
    load: PageLoad,
    evidence: Evidence,
    image: Payload,
    position: int,
    sockets: Sequence[SocketSample],
    layers: Layers,
) -> list[Moment]:
    ahead = image.before(position)
    from_ns = _image_ns(load, evidence)
    moments = []
    for sample in sockets:
        if sample.t_ns < from_ns:
            continue
        arrived = _last(layers.arrivals, sample.t_ns)
        received_to = arrived.tcp_bytes if arrived else sample.bytes_acked
        handed, sent = image.before(sample.handed_bytes), image.before(sample.sent_bytes)
        received = min(image.before(received_to), sent)
        # In the order of the stream: what is missing at the client, the bottleneck, and the delay line before it.
        in_queue, in_line = _on_link(_last(layers.queue, sample.t_ns), sample)
        line_from = max(received, image.before(sample.sent_bytes - in_line))
        queue_from = max(received, image.before(sample.sent_bytes - in_line - in_queue))
        # The look just before the script exists stands for the instant at which it does.
        is_waiting = sample.t_ns > load.script_available_ns - _look_ns(sockets) and handed < ahead
        committed = ahead - handed if is_waiting else 0
        moments.append(
            Moment(
                t_ns=sample.t_ns,
                pending_bytes=image.size_bytes - handed - committed,
                committed_bytes=committed,
                unsent_bytes=handed - sent,
                queue_bytes=line_from - queue_from,
                propagation_bytes=sent - line_from,
                recovery_bytes=queue_from - received,
                received_bytes=received,
            )
        )
    return moments


def _image_ns(load: PageLoad, evidence: Evidence) -> int:
    """When the image came to be with the front."""
    for request in evidence.requests:
        if request.path == _IMAGE_PATH and request.received_ns >= load.started_ns and request.available_ns:
            return request.available_ns
    return load.image.requested_ns


_IMAGE_PATH = "/image.jpg"


def _on_link(held: QueueSample | None, sample: SocketSample) -> tuple[int, int]:
    """Bytes of the stream in the bottleneck and in the delay line."""
    if held is None:
        return 0, 0
    payload = sample.mss_bytes / (sample.mss_bytes + HEADERS_BYTES)
    return round(held.bytes * payload), round(held.delay_line_bytes * payload)


def _look_ns(sockets: Sequence[SocketSample]) -> int:
    """Time between looks."""
    return (sockets[-1].t_ns - sockets[0].t_ns) // (len(sockets) - 1)


def _last(samples: Sequence[Any], t_ns: int) -> Any | None:
    """The last of them that is not later, None if all are."""
    index = bisect_right(samples, t_ns, key=lambda sample: sample.t_ns)
    return samples[index - 1] if index else None
