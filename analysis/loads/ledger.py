"""The ledger: where the focal resource's first byte waited, and how many bytes of the others were ahead of it. Pure.

The others are all resources that are neither important nor documents. The first byte's wait begins when the origin has
the byte. It ends when the byte's TLS record is complete at the client. In between the byte is always in exactly one of
these layers, in this order:

1. pending: in the front, which could still send the byte before the others; but the kernel accepts no bytes;
2. committed: in the front's output queue, behind bytes of the others (in a TLS record or an output buffer);
3. service: in the front, while a thread of its server was at work (SERVICE);
4. flow_control: in the front, which may not send before the client enlarges a window of HTTP/2 or SPDY;
5. unsent: in the front's kernel, behind bytes accepted before. TCP_NOTSENT_LOWAT bounds this layer alone;
6. receive_window: in the front's kernel, which may not send before the client's kernel has room (TCP's window);
7. queue: sent, behind other packets in the bottleneck queue;
8. propagation: on the link, during its delay and the transmission of the byte's own packet;
9. record: at the client, which cannot decrypt a TLS record before the record's last byte arrives.

Layers 3, 4 and 6 are there only if they hold the byte. Layer 4 is the time in which layers 1 and 2 would hold it for no
other reason (analysis/loads/flow_control.py), layer 6 that part of layer 5. Layer 3 is that part of layers 1 and 2 in
which the guest's kernel let the server's work take time.

The lab measures from outside when the byte passes from one layer to the next. The front's kernel counts the bytes that
it accepted and sent (`SocketSample`). The client knows where in the same stream the resource began (`stream.Payload`).
The time in layer 7 follows from the bytes that the link reports, its rate and its delay.

A sampled count reaches a position between two samples. So each instant is an interval, which causality narrows
(analysis/loads/estimate.py): no part is less than the link allows, and each has an `uncertainty`, its largest possible
error. With CAPTURE=yes the instants at which the byte was sent, was sent again, and arrived are known.

With a second front (VIA), four layers come before these, and layer 1 begins when the byte has arrived at the front:

1. second: in the second front, until its kernel accepts the byte;
2. second_unsent: in the second front's kernel, behind bytes accepted before. VIA_LOWAT bounds this layer alone;
3. between_queue: sent, behind other packets in the queue between the fronts, or lost and waiting to be sent again;
4. between: on the link between the fronts, during its delay and the transmission of the byte's own packet.

Captures at both ends of this link show when the byte was sent and when it arrived, so nothing is unexplained there.

With cross traffic (CROSS), layer 7 has two parts: the wait behind packets of the front's own connection (`queue`), and
the wait behind packets of other flows (`cross_traffic`). The bottleneck may serve flows in any order, so neither
follows from what the link holds. `cross_traffic` is the transmission time of the packets of other flows that the
client's kernel counted from the byte's arrival at the bottleneck on until the byte was at the client. `queue` is the
transmission time of the own bytes that had not arrived when the byte reached the bottleneck. If packets of the front
were lost, some of these bytes may be at the client already, behind a lost packet; then `queue` is at most the time in
which the link's samples show packets in the bottleneck, without the time for other flows.

Layers 7 and 8 may not explain all of the time on the network, although their uncertainties are taken into account. If
packets may have been sent again meanwhile, the remaining time counts as `recovery`: the client cannot read a byte
before it has all earlier bytes. Recovery is at most the time in which nothing arrived at the client. The same holds for
layer 9 (analysis/loads/network.py). The time that still remains is `unexplained`. So the parts add up to the wait, and
the unexplained part shows what no layer of the lab can have caused.

If the front sends the others first by its own choice, for example because no order was asked for, the focal resource's
wait for the others is in layer 2.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

from priolab.analysis.loads.layer import Layer
from priolab.common.formats.run import LedgerRecord, OtherBytes


@dataclass(frozen=True, kw_only=True)
class Moment:
    """The payload bytes of the others in each layer of the ledger, at an instant. They add up to the others' size.

    committed_bytes: bytes in the front that the front sends before the focal resource. They are known only while the
    focal resource is in the front. pending_bytes: all other bytes in the front. recovery_bytes: bytes sent that are
    neither on the link nor readable, because they are lost, or at the client behind lost bytes.
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
        """Bytes of the others that are sent, and not yet readable at the client."""
        return self.queue_bytes + self.propagation_bytes + self.recovery_bytes

    @property
    def ahead_bytes(self) -> int:
        """Bytes of the others that the focal resource cannot overtake any more."""
        return self.committed_bytes + self.unsent_bytes + self.in_flight_bytes


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """The ledger of a load.

    available_ns: the time at which the origin had the focal resource. first_byte_ns: the time at which the client could
    use the resource's first byte. parts: the wait in each layer, in nanoseconds. uncertainty: the largest possible
    error of each part. moments: the bytes of the others in each layer, in order of time.
    """

    load: int
    focal: str
    available_ns: int
    first_byte_ns: int
    parts: Mapping[Layer, int]
    uncertainty: Mapping[Layer, int]
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
        """The fraction of the wait that is not `unexplained`, 0 to 1. What is within the uncertainty is explained."""
        return 1 - min(1.0, abs(self.parts[Layer.UNEXPLAINED]) / self.wait_ns)

    @property
    def at_available(self) -> Moment:
        """The others' bytes in each layer, at the last sample before the focal resource was available."""
        index = bisect_right(self.moments, self.available_ns, key=lambda moment: moment.t_ns)
        return self.moments[max(0, index - 1)]

    def as_record(self) -> LedgerRecord:
        """Returns the ledger's record for run.json: milliseconds and bytes."""
        moment = self.at_available
        bytes_in = {each.name: getattr(moment, f"{each.name}_bytes") for each in fields(OtherBytes)}
        return LedgerRecord(
            focal=self.focal,
            wait_ms=self.wait_ns / 10**6,
            parts_ms={layer.value: wait_ns / 10**6 for layer, wait_ns in self.parts.items()},
            parts_uncertainty_ms={layer.value: off_ns / 10**6 for layer, off_ns in self.uncertainty.items()},
            largest=self.largest.value,
            explained=round(self.explained, 4),
            other_bytes_at_available=OtherBytes(**bytes_in),
        )


NAMES: Mapping[Layer, str] = MappingProxyType(
    {
        Layer.SECOND: "second front",
        Layer.SECOND_UNSENT: "second front's kernel",
        Layer.BETWEEN_QUEUE: "queue between fronts",
        Layer.BETWEEN: "travel between fronts",
        Layer.PENDING: "front",
        Layer.COMMITTED: "front's output",
        Layer.SERVICE: "server's work",
        Layer.FLOW: "flow control",
        Layer.UNSENT: "kernel",
        Layer.RECEIVE_WINDOW: "receive window",
        Layer.QUEUE: "queue",
        Layer.CROSS: "other flows",
        Layer.PROPAGATION: "travel",
        Layer.RECOVERY: "loss",
        Layer.RECORD: "record",
        Layer.UNEXPLAINED: "unexplained",
    }
)
"""Names of the layers, short enough for a part of a bar. Figures and the demo's film use the same names."""

_SHORTEST_MS = 5.0


_NEGLIGIBLE = 0.05
"""An uncertainty up to this fraction of a part is negligible, as is one below _SHORTEST_MS."""


def sentence(record: LedgerRecord) -> str:
    """Puts the ledger in a run's run.json into a sentence, which leaves out layers with a wait below 5 ms.

    A wait has its uncertainty, as in "0.58 ± 0.05", unless that is negligible.
    """
    parts = [
        f"{'-' if wait_ms < 0 else '+'} {abs(wait_ms) / 1000:.2f}{_off(record, layer)} {layer.words}"
        for layer in Layer
        if abs(wait_ms := record.parts_ms.get(layer.value, 0)) >= _SHORTEST_MS
    ]
    return f"the {record.focal} waited {record.wait_ms / 1000:.2f} s = {' '.join(parts).removeprefix('+ ')}"


def _off(record: LedgerRecord, layer: Layer) -> str:
    off_ms = record.parts_uncertainty_ms.get(layer.value, 0.0)
    is_negligible = off_ms < max(_SHORTEST_MS, _NEGLIGIBLE * abs(record.parts_ms[layer.value]))
    return "" if is_negligible else f" ± {off_ms / 1000:.2f}"
