"""Makes the ledger of a load from the samples of front, link and client. Pure.

analysis/loads/ledger.py explains the layers, and how the time that the focal resource spends in each is measured.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from analysis.loads.layer import Layer
from analysis.loads.ledger import Ledger, Moment
from analysis.loads.metrics import PageLoad
from analysis.loads.second_hop import hop_of
from analysis.loads.stream import Payload
from analysis.loads.whereabouts import whereabouts
from analysis.records.rate import Rate
from analysis.records.runs import Evidence, Layers
from analysis.records.samples import latest
from common.formats.samples import FEWEST_LOOKS, QueueSample, SocketSample
from common.formats.scenario import ScenarioRecord
from common.packets import PACKET_BYTES, framed

_BROWSER_STEP_NS = 10**6


class NoLedger(Exception):
    """Raised if the logs of a run do not suffice for a ledger. The error message says what is missing."""


@dataclass(frozen=True, kw_only=True)
class _Link:
    """The link of a run.

    delay_ns: the delay toward the client. queue_first: True if packets pass the bottleneck before the delay line.
    """

    rate: Rate | None
    delay_ns: int
    queue_first: bool

    @classmethod
    def of(cls, scenario: ScenarioRecord, began_ns: int) -> Self:
        at = scenario.shaper_at
        return cls(rate=Rate.of(scenario, began_ns), delay_ns=scenario.delay_ns, queue_first=at == "front")

    def transmission_ns(self, frame_bytes: float, at_ns: int) -> int:
        """Returns the transmission time of a packet of `frame_bytes` that is sent at `at_ns`."""
        return 0 if self.rate is None else round(frame_bytes * 8 * 10**9 / self.rate.at_bit_s(at_ns))

    def through_ns(self, begins_ns: int, frames_bytes: float) -> int:
        return begins_ns if self.rate is None else round(self.rate.through_ns(begins_ns, frames_bytes))

    def cross_ns(self, layers: Layers, from_ns: int, until_ns: int) -> int:
        """Returns the transmission time of the cross traffic that left the link between two instants."""
        if not layers.cross:
            return 0
        return self.through_ns(from_ns, layers.cross_packets(from_ns, until_ns) * PACKET_BYTES) - from_ns


def _short(waited_ns: int, scenario: ScenarioRecord) -> str:
    """Formats a short wait. A browser's times are rounded down to milliseconds, so a short wait may seem negative."""
    by_browser = scenario.client != "h2"
    if by_browser and -_BROWSER_STEP_NS < waited_ns < 0:
        return "less than a millisecond"
    return f"{waited_ns / 10**6:.1f} ms"


def ledger(load: PageLoad, evidence: Evidence, layers: Layers, scenario: ScenarioRecord) -> Ledger:
    """Makes the ledger of a load. Raises NoLedger if the logs do not suffice.

    If the link's rate changes, `load` must be the measured load, because the changes are timed from its start.
    """
    focal = load.focal
    if not load.page.others:
        raise NoLedger(f"nothing was loaded beside the {focal.name}")
    others = Payload(evidence.events, load.number, {each.name for each in load.page.others})
    try:
        position = Payload(evidence.events, load.number, {focal.name}).first() + 1
    except ValueError as error:
        raise NoLedger(str(error)) from error
    sockets = [sample for sample in layers.sockets if load.started_ns <= sample.t_ns <= load.finished_ns]
    if len(sockets) < FEWEST_LOOKS:
        raise NoLedger(f"the front's socket was sampled {len(sockets)} times during the load")
    waited_ns = focal.first_byte_ns - focal.available_ns
    if waited_ns < _look_ns(sockets):
        raise NoLedger(f"the {focal.name} waited {_short(waited_ns, scenario)}, less than one sampling interval")
    if sockets[-1].sent_bytes < position:
        raise NoLedger(f"sampling of the front's socket ended before the {focal.name} was sent")
    if not layers.arrivals:
        raise NoLedger("the client recorded no arrivals")
    if scenario.rate_bit_s is not None and not layers.queue:
        raise NoLedger("the link's queue was not sampled")
    link = _Link.of(scenario, load.started_ns)
    before: Mapping[Layer, int] = {}
    at_front_ns = focal.available_ns
    if scenario.via is not None:
        hop = hop_of(load, layers, scenario.via)
        if hop is None:
            raise NoLedger(f"no capture between the fronts has the {focal.name}")
        before, at_front_ns = hop.parts, hop.arrived_ns
    parts = _parts(load, at_front_ns, _record_ns(load, evidence), position, sockets, layers, link)
    moments = _moments(load, others, position, sockets, layers, link)
    if not moments:
        raise NoLedger("the front's socket was not sampled after the other resources became available")
    return Ledger(
        load=load.number,
        focal=focal.name,
        available_ns=focal.available_ns,
        first_byte_ns=focal.first_byte_ns,
        parts={**before, **parts},
        moments=tuple(moments),
    )


def _record_ns(load: PageLoad, evidence: Evidence) -> int:
    """Returns when the TLS record with the focal resource's first byte began to arrive."""
    for event in evidence.events:
        if (event.load, event.resource, event.kind) == (load.number, load.focal.name, "data"):
            return event.t_ns if event.record_ns is None else event.record_ns
    raise NoLedger(f"the client received no data of the {load.focal.name}")


def _parts(
    load: PageLoad,
    available_ns: int,
    record_ns: int,
    position: int,
    sockets: Sequence[SocketSample],
    layers: Layers,
    link: _Link,
) -> dict[Layer, int]:
    before = latest(sockets, available_ns) or sockets[0]
    handed_ns = _reached(sockets, [sample.handed_bytes for sample in sockets], position, available_ns, record_ns)
    accepted_ns = _reached(
        sockets, [sample.handed_bytes for sample in sockets], before.handed_bytes + 1, available_ns, handed_ns
    )
    sent_ns = _reached(sockets, [sample.sent_bytes for sample in sockets], position, handed_ns, record_ns)
    transmission_ns = link.transmission_ns(framed(before.mss_bytes, before.mss_bytes), record_ns - 1)
    own_ns = link.delay_ns + transmission_ns
    network_ns = record_ns - sent_ns
    crossing: dict[Layer, int] = {}
    if layers.cross:
        entered_ns = min(sent_ns + link.delay_ns, record_ns)
        cross_ns = link.cross_ns(layers, entered_ns, record_ns)
        queue_ns = _behind_own_ns(position, entered_ns, before, layers, link)
        if _has_hole(sockets, sent_ns, record_ns):
            others_ns = _busy_ns(layers.queue, entered_ns, record_ns) - cross_ns - transmission_ns
            queue_ns = min(queue_ns, max(0, others_ns))
        crossing = {Layer.CROSS: cross_ns}
    else:
        cleared_ns = _cleared_ns(position, sockets, layers, link)
        on_the_way_ns = transmission_ns if link.queue_first else own_ns
        queue_ns = 0 if cleared_ns is None else max(0, cleared_ns - sent_ns - on_the_way_ns)
    own_ns = min(own_ns, network_ns)
    rest_ns = network_ns - queue_ns - own_ns - sum(crossing.values())
    recovery_ns = 0
    if rest_ns > _look_ns(sockets) and _resent(sockets, available_ns, record_ns):
        recovery_ns = min(rest_ns, _stalled_ns(layers, sent_ns, record_ns, link))
    return {
        Layer.PENDING: accepted_ns - available_ns,
        Layer.COMMITTED: handed_ns - accepted_ns,
        Layer.UNSENT: sent_ns - handed_ns,
        Layer.QUEUE: queue_ns,
        **crossing,
        Layer.PROPAGATION: own_ns,
        Layer.RECOVERY: recovery_ns,
        Layer.RECORD: load.focal.first_byte_ns - record_ns,
        Layer.UNEXPLAINED: rest_ns - recovery_ns,
    }


def _resent(sockets: Sequence[SocketSample], from_ns: int, until_ns: int) -> bool:
    """True if the front's kernel retransmitted bytes between two instants."""
    counts = [sample.bytes_retrans for sample in sockets if from_ns <= sample.t_ns <= until_ns]
    return bool(counts) and counts[-1] > counts[0]


def _has_hole(sockets: Sequence[SocketSample], sent_ns: int, record_ns: int) -> bool:
    """True if bytes were missing at the client between two instants: they were sent again by a round trip later."""
    round_trip_ns = 1000 * max(sample.rtt_us for sample in sockets)
    return _resent(sockets, sent_ns, record_ns + round_trip_ns)


def _busy_ns(queue: Sequence[QueueSample], from_ns: int, until_ns: int) -> int:
    """Returns how long the bottleneck held packets between two instants."""
    first = max(0, bisect_right(queue, from_ns, key=lambda sample: sample.t_ns) - 1)
    last = bisect_right(queue, until_ns, key=lambda sample: sample.t_ns)
    ends_ns = [*(sample.t_ns for sample in queue[first + 1 : last]), until_ns]
    return sum(
        end_ns - max(from_ns, sample.t_ns)
        for sample, end_ns in zip(queue[first:last], ends_ns, strict=True)
        if sample.packets
    )


def _behind_own_ns(position: int, entered_ns: int, before: SocketSample, layers: Layers, link: _Link) -> int:
    """Returns the transmission time of the own bytes before a position of the TCP stream that are in the bottleneck.

    entered_ns: the time at which the position reaches the bottleneck, which is at the client's end of the link. So all
    bytes that have not arrived at the client are in the bottleneck, or lost, or at the client behind lost bytes. With
    losses the result is too large.
    """
    arrived = latest(layers.arrivals, entered_ns)
    # On average, half of the packet being sent has left, and half of the position's own packet is before the position.
    before_bytes = position - before.mss_bytes - (arrived.tcp_bytes if arrived else 0)
    waiting_bytes = framed(max(0, before_bytes), before.mss_bytes)
    return link.through_ns(entered_ns, waiting_bytes) - entered_ns


def _stalled_ns(layers: Layers, from_ns: int, until_ns: int, link: _Link) -> int:
    """Returns how long, between two instants, nothing arrived at the client although packets could have arrived.

    The time is the sum of the pauses between successive arrivals. Each pause counts without the transmission time of
    two packets, and of the packets of other flows.
    """
    times = [from_ns, *(arrival.t_ns for arrival in layers.arrivals if from_ns < arrival.t_ns < until_ns), until_ns]
    return sum(
        max(
            0,
            later - earlier - 2 * link.transmission_ns(PACKET_BYTES, earlier) - link.cross_ns(layers, earlier, later),
        )
        for earlier, later in pairwise(times)
    )


def _cleared_ns(position: int, sockets: Sequence[SocketSample], layers: Layers, link: _Link) -> int | None:
    """Returns when the bottleneck has transmitted all bytes before a position of the TCP stream; None if unknown.

    The first sample at which the front had sent all these bytes shows how many bytes the link holds. Bytes sent behind
    the position do not count. The bottleneck transmits all other bytes on the link without a pause. If the bottleneck
    is empty and behind the delay line, the transmission begins when the first packet in the delay line reaches the
    bottleneck.
    """
    sample = next((sample for sample in sockets if sample.sent_bytes >= position), None)
    if sample is None:
        return None
    held = layers.held(sample.t_ns)
    if held is None:
        return None
    behind = framed(sample.sent_bytes - position, sample.mss_bytes)
    if link.queue_first:
        return link.through_ns(sample.t_ns, max(0.0, held.bytes - behind))
    begins_ns = sample.t_ns if held.bytes else max(sample.t_ns, _delayed_since(layers.queue, held) + link.delay_ns)
    return link.through_ns(begins_ns, max(0.0, held.bytes + held.delay_line_bytes - behind))


def _delayed_since(queue: Sequence[QueueSample], held: QueueSample) -> int:
    """Returns the time since which the delay line was never empty, up to the sample `held` of the link's queue."""
    since_ns = held.t_ns
    for sample in reversed(queue[: bisect_right(queue, held.t_ns, key=lambda sample: sample.t_ns)]):
        if not sample.delay_line_bytes:
            break
        since_ns = sample.t_ns
    return since_ns


def _reached(
    sockets: Sequence[SocketSample], counts: Sequence[int], position: int, earliest_ns: int, latest_ns: int
) -> int:
    """Returns when a count of bytes reached a position of the TCP stream.

    The result is the middle between the first sample that reached the position and the sample before, but at least
    earliest_ns and at most latest_ns. If no sample reached the position, the result is latest_ns.
    counts: the number of bytes at each sample, such as the bytes sent so far.
    """
    for index, count in enumerate(counts):
        if count >= position:
            t_ns = sockets[index].t_ns
            middle_ns = (sockets[index - 1].t_ns + t_ns) // 2 if index else t_ns
            return min(max(earliest_ns, middle_ns), latest_ns)
    return latest_ns


def _moments(
    load: PageLoad,
    others: Payload,
    position: int,
    sockets: Sequence[SocketSample],
    layers: Layers,
    link: _Link,
) -> list[Moment]:
    ahead = others.before(position)
    from_ns = min(load.resources[each.name].available_ns for each in load.page.others)
    # The last sample before the focal resource is available stands for the instant at which it becomes available.
    waiting_from = bisect_right(sockets, load.focal.available_ns, key=lambda sample: sample.t_ns) - 1
    moments = []
    for index, sample in enumerate(sockets):
        if sample.t_ns < from_ns:
            continue
        seen = whereabouts(sample, layers, queue_first=link.queue_first)
        handed, sent, received = (others.before(at) for at in (seen.handed_bytes, seen.sent_bytes, seen.arrived_bytes))
        near_from, far_from = others.before(seen.near_from_bytes), others.before(seen.far_from_bytes)
        near, far = sent - near_from, near_from - far_from
        is_waiting = index >= waiting_from and handed < ahead
        committed = ahead - handed if is_waiting else 0
        moments.append(
            Moment(
                t_ns=sample.t_ns,
                pending_bytes=others.size_bytes - handed - committed,
                committed_bytes=committed,
                unsent_bytes=handed - sent,
                queue_bytes=near if link.queue_first else far,
                propagation_bytes=far if link.queue_first else near,
                recovery_bytes=far_from - received,
                received_bytes=received,
            )
        )
    return moments


def _look_ns(sockets: Sequence[SocketSample]) -> int:
    """Returns the mean time between successive samples."""
    return (sockets[-1].t_ns - sockets[0].t_ns) // (len(sockets) - 1)
