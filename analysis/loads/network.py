"""The ledger's part behind the front: on the link, for packets that are sent again, and in the TLS record. Pure.

Rules:
1. Propagation is never less than the link's delay and the transmission of the byte's own packet.
2. The link's samples tell when the bottleneck should have transmitted the byte (`_due`), within bounds. If the byte came
   by then, all of the time on the link is queue and propagation. Otherwise the time beyond the bounds is recovery if
   packets may have been sent again, else unexplained.
3. The wait for the rest of the TLS record is at most what the link needs for these bytes. If packets may have been sent
   again, what remains is recovery.
4. If both ends of the link were captured, the times of the byte's packets are known. With SHAPER_AT=front they do not
   help: the front's capture then has packets only when they have left the bottleneck.

`recovery` ends when the client has the byte, or the record, and all bytes before it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from analysis.loads.crossing import Crossing, crossing
from analysis.loads.estimate import Estimate
from analysis.loads.layer import Layer
from analysis.loads.pipe import Pipe
from analysis.records.runs import Layers
from analysis.records.samples import latest
from common.formats.samples import QueueSample, SocketSample
from common.packets import HEADERS_BYTES, PACKET_BYTES, framed

_OFF_PACKETS = 3
"""By how many packets the samples of socket and queue may differ, because one is sampled after the other."""

_NONE = Estimate.exact(0)


@dataclass(frozen=True, kw_only=True)
class Transit:
    """The way of the focal resource's first byte from the front's kernel to a client that can use it.

    sockets, layers: all samples. position, end: the byte's position in the TCP stream, and the end of its TLS record.
    sent: when the front's kernel sent the byte, according to the samples. record_ns, first_byte_ns: when the record
    began to arrive, and when it was complete. clock_ns: the resolution of the client's clock.
    """

    sockets: Sequence[SocketSample]
    layers: Layers
    pipe: Pipe
    position: int
    end: int
    sent: Estimate
    record_ns: int
    first_byte_ns: int
    loss: bool
    clock_ns: int

    def parts(self) -> dict[Layer, Estimate]:
        """Returns the waits behind the front's kernel. They add up to the time from `sent` to first_byte_ns."""
        own, total = self.own, self.record_ns - self.sent.ns
        if self.crossed is not None:
            found = self._captured(self.crossed)
        elif self.layers.cross:
            found = self._among_others()
        else:
            found = self._sampled()
        propagation = own.clipped(own.least_ns, max(own.least_ns, total))
        recovery, cross = found.get(Layer.RECOVERY, _NONE), found.get(Layer.CROSS)
        queue = found[Layer.QUEUE]
        again = self._record_recovery(queue)
        crossing_ns = cross.ns if cross is not None else 0
        unexplained = total - propagation.ns - queue.ns - crossing_ns - recovery.ns
        return {
            Layer.QUEUE: queue,
            **({} if cross is None else {Layer.CROSS: cross}),
            Layer.PROPAGATION: propagation,
            Layer.RECOVERY: recovery.plus(again),
            Layer.RECORD: Estimate.exact(self.first_byte_ns - self.record_ns).since(again),
            Layer.UNEXPLAINED: Estimate(
                ns=unexplained,
                least_ns=unexplained - found[Layer.UNEXPLAINED].uncertainty_ns,
                most_ns=unexplained + found[Layer.UNEXPLAINED].uncertainty_ns,
            ),
        }

    @cached_property
    def crossed(self) -> Crossing | None:
        """The byte's way according to the captures; None without captures that tell it."""
        return self._crossing_of(self.position)

    @cached_property
    def own(self) -> Estimate:
        """The delay, and the transmission of the byte's own packet."""
        segment_bytes = self._segment_bytes
        packet_bytes = segment_bytes + HEADERS_BYTES
        least_bytes = min(segment_bytes, self.end - self.position + 1) + HEADERS_BYTES
        return self.pipe.own(packet_bytes, least_bytes, self.record_ns)

    @property
    def _segment_bytes(self) -> int:
        """The bytes of the stream in the byte's packet: at most what became readable when it arrived."""
        if self.crossed is not None:
            return self.crossed.packet_bytes
        now, before = self._had_bytes(self.record_ns), self._had_bytes(self.record_ns - 1)
        return min(self._mss, now - before) if now > before else self._mss

    @property
    def _mss(self) -> int:
        found = latest(self.sockets, self.sent.ns) or self.sockets[0]
        return found.mss_bytes

    def _crossing_of(self, position: int) -> Crossing | None:
        if not self.layers.segments or self.pipe.queue_first:
            return None
        return crossing(self.layers.segments, position, self.pipe.delay.least_ns)

    def _captured(self, crossed: Crossing) -> dict[Layer, Estimate]:
        flight_ns = crossed.arrived_ns - crossed.sent_ns
        read_ns = self.record_ns - crossed.complete_ns
        limit = self._due if not crossed.was_lost else self._in_time(Estimate.exact(crossed.sent_ns))
        late_ns = 0 if limit is None else max(0, crossed.arrived_ns - limit.most_ns)
        waited = Estimate.exact(flight_ns - late_ns).since(self.own)
        found = {Layer.RECOVERY: Estimate.exact(crossed.recovery_ns), Layer.UNEXPLAINED: Estimate.exact(read_ns)}
        if not self.layers.cross:
            return {Layer.QUEUE: waited, **found}
        entered_ns = min(crossed.sent_ns + self.pipe.entering.ns, crossed.arrived_ns)
        cross = self._cross(entered_ns, crossed.arrived_ns).clipped(0, waited.ns)
        return {Layer.QUEUE: waited.since(cross), Layer.CROSS: cross, **found}

    def _sampled(self) -> dict[Layer, Estimate]:
        due, waited = self._due, self._at_client.since(self.sent).since(self.own)
        spread = Estimate.between(0, self._spread_ns(due))
        resent = self._may_be_resent(self.sent.least_ns, self.record_ns)
        if due is None or self._at_client.least_ns <= due.most_ns:
            found = self._perhaps_recovered(waited) if resent else {Layer.QUEUE: waited}
            return {**found, Layer.UNEXPLAINED: spread}
        in_time = due.since(self.sent).since(self.own)
        if not resent:
            return {Layer.QUEUE: replace(in_time, ns=min(in_time.most_ns, waited.ns)), Layer.UNEXPLAINED: spread}
        queue = (self._queue_of_copy() if self._was_hole else self._queue_behind_hole(in_time)).clipped(
            0, waited.most_ns
        )
        queue = replace(queue, ns=min(queue.ns, waited.ns))
        return {Layer.QUEUE: queue, Layer.RECOVERY: self._stalled(waited, queue), Layer.UNEXPLAINED: spread}

    def _perhaps_recovered(self, waited: Estimate) -> dict[Layer, Estimate]:
        """Returns the parts if the byte may have come in time, but packets were sent again around it."""
        stalled_ns = self._stalled_ns(self.sent.least_ns, self.record_ns)
        longest_ns = self.pipe.longest_queue_ns(self.record_ns)
        queue_ns = waited.ns if longest_ns is None else min(waited.ns, longest_ns + self.off_ns)
        most_ns = max(waited.ns - queue_ns, min(waited.most_ns, stalled_ns))
        recovery = Estimate(ns=waited.ns - queue_ns, least_ns=0, most_ns=most_ns)
        queue = Estimate(ns=queue_ns, least_ns=max(0, waited.least_ns - most_ns), most_ns=max(queue_ns, waited.most_ns))
        return {Layer.QUEUE: queue, Layer.RECOVERY: recovery}

    def _stalled(self, waited: Estimate, queue: Estimate) -> Estimate:
        """Returns the wait for packets that were sent again: what the queue leaves, but no more than the pauses."""
        recovery = Estimate(
            ns=waited.ns - queue.ns,
            least_ns=max(0, waited.least_ns - queue.most_ns),
            most_ns=waited.most_ns - queue.least_ns,
        )
        stalled_ns = self._stalled_ns(self.sent.least_ns, self.record_ns) + self.off_ns
        return replace(recovery, ns=min(recovery.ns, stalled_ns + recovery.uncertainty_ns))

    def _among_others(self) -> dict[Layer, Estimate]:
        """With cross traffic the queue has two parts, of which the samples tell each by itself."""
        entered_ns = min(self.sent.ns + self.pipe.entering.ns, self.record_ns)
        cross, queue = self._cross(entered_ns, self.record_ns), self._behind_own(entered_ns)
        waited = self._at_client.since(self.sent).since(self.own)
        if self._has_hole:
            busy_ns = max(0, self._busy_ns(entered_ns, self.record_ns) - cross.ns - self._packet_ns)
            queue = Estimate(ns=min(queue.ns, busy_ns), least_ns=0, most_ns=queue.most_ns)
        spread_ns = cross.uncertainty_ns + queue.uncertainty_ns + self.sent.uncertainty_ns
        left_ns = waited.ns - cross.ns - queue.ns
        recovery = _NONE
        if self._may_be_resent(self.sent.least_ns, self.record_ns):
            # The byte may have been lost while packets of other flows went on.
            stalled_ns = self._stalled_ns(self.sent.ns, self.record_ns)
            recovered_ns = min(left_ns, stalled_ns) if left_ns > spread_ns else 0
            recovery = Estimate(ns=recovered_ns, least_ns=0, most_ns=waited.most_ns)
            left_ns -= recovered_ns
            spread_ns = max(spread_ns, waited.most_ns)
        taken_ns = min(max(left_ns, -spread_ns), spread_ns)
        into_cross_ns = max(taken_ns, -cross.ns)
        into_queue_ns = max(taken_ns - into_cross_ns, -queue.ns)
        return {
            Layer.QUEUE: _moved(queue, into_queue_ns, spread_ns),
            Layer.CROSS: _moved(cross, into_cross_ns, spread_ns),
            Layer.RECOVERY: recovery,
            Layer.UNEXPLAINED: Estimate.between(0, 2 * spread_ns),
        }

    @property
    def _at_client(self) -> Estimate:
        return Estimate(ns=self.record_ns, least_ns=self.record_ns, most_ns=self.record_ns + self.clock_ns)

    @property
    def _packet_ns(self) -> int:
        return self.pipe.transmission_ns(framed(self._mss, self._mss), self.record_ns)

    @property
    def off_ns(self) -> int:
        """The error of a time that follows from the link's samples: socket and queue are not sampled at once."""
        return _OFF_PACKETS * self._packet_ns

    def _spread_ns(self, due: Estimate | None) -> int:
        """Returns twice the error up to which the time on the link is explained."""
        return 2 * ((due.uncertainty_ns if due is not None else self._look_ns) + self.clock_ns)

    @property
    def _look_ns(self) -> int:
        """The time between the samples around the instant at which the byte was sent."""
        index = bisect_right(self.sockets, self.sent.ns, key=lambda sample: sample.t_ns)
        index = min(max(1, index), len(self.sockets) - 1)
        return self.sockets[index].t_ns - self.sockets[index - 1].t_ns

    @cached_property
    def _due(self) -> Estimate | None:
        """When the byte should have arrived if it was not lost; None if the samples do not tell.

        Each sample from the time at which the byte's packet reached the bottleneck until the arrival shows how many
        bytes the bottleneck then held. Those sent behind the byte do not count. The bottleneck transmits the others
        without a pause.
        """
        entered, soonest = self.sent.plus(self.pipe.entering), self.sent.plus(self.own)
        times = [each.t_ns for each in self.sockets]
        shown = times[bisect_left(times, entered.most_ns) : bisect_right(times, self.record_ns)]
        if self._may_be_resent(self.sent.least_ns, self.record_ns):
            shown = shown[:1]  # later samples lack bytes that were lost, and have bytes that were sent again
        cleared = [found for t_ns in shown if (found := self._cleared(t_ns)) is not None]
        if not cleared:
            return self._in_time(self.sent)
        off_ns = self.off_ns + self._apart_ns
        least_ns = max(each.least_ns for each in cleared) - off_ns
        most_ns = min(each.most_ns for each in cleared) + off_ns
        found = Estimate.between(min(least_ns, most_ns), most_ns).plus(
            self.pipe.delay if self.pipe.queue_first else _NONE
        )
        return Estimate(
            ns=max(found.ns, soonest.ns),
            least_ns=max(found.least_ns, soonest.least_ns),
            most_ns=max(found.most_ns, soonest.most_ns),
        )

    def _cleared(self, t_ns: int) -> Estimate | None:
        """Returns when the bottleneck has transmitted the byte, as the samples at an instant show; None without any."""
        held = self.layers.held(t_ns)
        if held is None or self.pipe.rate is None:
            return None
        sent = [self._sent_bytes(t_ns - way_ns) for way_ns in self._ways_ns]
        behind = [framed(max(0, each - self.position), self._mss) for each in sent]
        if self._may_be_resent(self.sent.least_ns, self.record_ns):
            behind[1] = 0.0  # those may be lost
        least, most = (self.pipe.through_ns(t_ns, max(0.0, held.bytes - each)) for each in behind)
        # If nothing waits any more, the byte has left at some time before.
        return Estimate.between(self.sent.least_ns if least <= t_ns else least, most)

    @property
    def _ways_ns(self) -> tuple[int, int]:
        """The shortest time from a sample of what was sent until it is in the bottleneck, and the longest."""
        if self.pipe.queue_first:
            return 0, 0
        return self.pipe.delay.least_ns - self._look_ns, self.pipe.delay.most_ns + self._look_ns

    def _sent_bytes(self, t_ns: int) -> int:
        """Returns the bytes of the stream that the front's kernel had sent at an instant, at least."""
        sample = latest(self.sockets, t_ns)
        return sample.sent_bytes if sample else 0

    def _in_time(self, sent: Estimate) -> Estimate | None:
        """Returns when a packet should arrive that is not lost, by the most that the bottleneck can hold."""
        longest_ns = self.pipe.longest_queue_ns(self.record_ns)
        if longest_ns is None:
            return None
        soonest = sent.plus(self.own)
        return soonest.plus(Estimate(ns=longest_ns // 2, least_ns=0, most_ns=longest_ns + self.off_ns))

    @cached_property
    def _apart_ns(self) -> int:
        """How long after the samples of the queue the samples of the socket are taken; at most a sampling interval."""
        begins_ns, ends_ns = self.sent.least_ns - 5 * self._look_ns, self.record_ns
        times = [sample.t_ns for sample in self.sockets]
        apart = [
            times[index] - line.t_ns
            for line in self.layers.queue
            if begins_ns <= line.t_ns <= ends_ns and (index := bisect_right(times, line.t_ns - 1)) < len(times)
        ]
        return min(self._look_ns, max(apart, default=0))

    def _had_bytes(self, t_ns: int) -> int:
        """Returns the bytes of the stream that the client had at an instant."""
        arrived = latest(self.layers.arrivals, t_ns)
        return arrived.tcp_bytes if arrived else 0

    @property
    def _was_hole(self) -> bool:
        """True if the client waited for the byte's own packet, not for one before it."""
        return self._had_bytes(self.record_ns - 1) + self._mss >= self.position

    def _queue_of_copy(self) -> Estimate:
        """Returns the queue of the packet that arrived when the record began to arrive.

        It entered the bottleneck when the bottleneck first held packets until the time of the arrival.
        """
        left_ns = self.record_ns - (self.pipe.delay.ns if self.pipe.queue_first else 0)
        longest_ns = self.pipe.longest_queue_ns(left_ns)
        times = [each.t_ns for each in self.sockets if self.sent.least_ns <= each.t_ns <= left_ns]
        entered = Estimate.between(times[-1] if times else self.sent.least_ns, left_ns)
        for t_ns, earlier_ns in pairwise([*reversed(times), self.sent.least_ns]):
            held = self.layers.held(t_ns)
            if held is None or self.pipe.through_ns(t_ns, held.bytes) < left_ns - self._packet_ns:
                break
            entered = Estimate.between(earlier_ns, t_ns)
        wait = Estimate.exact(left_ns).since(entered).since(Estimate.exact(self._packet_ns))
        most_ns = wait.most_ns + self.off_ns + self._look_ns
        least_ns = max(0, wait.least_ns - self.off_ns - self._look_ns)
        most_ns = most_ns if longest_ns is None else min(most_ns, longest_ns)
        return Estimate(ns=wait.ns, least_ns=least_ns, most_ns=most_ns).clipped(0, max(0, most_ns))

    def _queue_behind_hole(self, due: Estimate) -> Estimate:
        """Returns the queue of a byte that waited at the client for one before it.

        It may have been lost itself, and sent again before. Then its copy waited in another queue.
        """
        queue = due.since(self.sent).since(self.own)
        if not self._may_be_lost:
            return queue
        copy = self._queue_of_copy()
        longest_ns = self.pipe.longest_queue_ns(self.record_ns)
        most_ns = max(queue.most_ns, copy.most_ns, longest_ns or 0)
        return Estimate(ns=queue.ns, least_ns=0, most_ns=most_ns)

    @property
    def _may_be_lost(self) -> bool:
        """True if the byte's own packet may have been lost, as far as the samples tell."""
        again = self._resent_bytes(self.sent.least_ns, self.record_ns)
        if again <= self._mss:
            return False
        return self.loss or self._dropped(self.sent.plus(self.pipe.entering))

    def _dropped(self, entered: Estimate) -> bool:
        """True if the bottleneck dropped packets around the time at which the byte's packet reached it."""
        around_ns = self._look_ns + self.off_ns
        before = self.layers.held(entered.least_ns - around_ns)
        after = self.layers.held(entered.most_ns + around_ns)
        return before is None or after is None or after.dropped > before.dropped

    def _resent_bytes(self, from_ns: int, until_ns: int) -> int:
        """Returns how many bytes the front's kernel may have sent again between two instants."""
        before = latest(self.sockets, from_ns) or self.sockets[0]
        index = bisect_right(self.sockets, until_ns - 1, key=lambda sample: sample.t_ns)
        after = self.sockets[min(index, len(self.sockets) - 1)]
        return after.bytes_retrans - before.bytes_retrans

    def may_be_resent(self, from_ns: int) -> bool:
        """True if packets may have been sent again between an instant and the arrival of the record's first bytes."""
        return self._may_be_resent(from_ns, self.record_ns)

    def _may_be_resent(self, from_ns: int, until_ns: int) -> bool:
        return self._resent_bytes(from_ns, until_ns) > 0

    @property
    def _has_hole(self) -> bool:
        """True if bytes may have been missing at the client: they were sent again by a round trip later."""
        round_trip_ns = 1000 * max(sample.rtt_us for sample in self.sockets)
        return self._may_be_resent(self.sent.ns, self.record_ns + round_trip_ns)

    def _cross(self, from_ns: int, until_ns: int) -> Estimate:
        """Returns the transmission time of the other flows' packets between two instants; a sample may be late."""
        cross_ns = self.pipe.cross_ns(self.layers, from_ns, until_ns)
        wider = [
            self.pipe.cross_ns(self.layers, from_ns + by_ns, until_ns - by_ns)
            for by_ns in (-self._look_ns, self._look_ns)
        ]
        return Estimate(ns=cross_ns, least_ns=min(cross_ns, *wider), most_ns=max(cross_ns, *wider))

    def _behind_own(self, entered_ns: int) -> Estimate:
        """Returns the transmission time of the own bytes before the byte that are in the bottleneck.

        entered_ns: the time at which the byte reaches the bottleneck, which is at the client's end of the link. So all
        bytes that have not arrived at the client are in the bottleneck, or lost, or at the client behind lost bytes.
        With losses the result is too large.
        """
        # On average, half of the packet being sent has left, and half of the byte's own packet is before the byte.
        before_bytes = self.position - self._mss - self._had_bytes(entered_ns)
        wait_ns = self.pipe.through_ns(entered_ns, framed(max(0, before_bytes), self._mss)) - entered_ns
        off_ns = self.off_ns
        return Estimate(ns=wait_ns, least_ns=max(0, wait_ns - off_ns), most_ns=wait_ns + off_ns)

    def _busy_ns(self, from_ns: int, until_ns: int) -> int:
        """Returns how long the bottleneck held packets between two instants."""
        queue = self.layers.queue
        first = max(0, bisect_right(queue, from_ns, key=lambda sample: sample.t_ns) - 1)
        last = bisect_right(queue, until_ns, key=lambda sample: sample.t_ns)
        ends_ns = [*(sample.t_ns for sample in queue[first + 1 : last]), until_ns]
        return sum(
            end_ns - max(from_ns, sample.t_ns)
            for sample, end_ns in zip(queue[first:last], ends_ns, strict=True)
            if sample.packets
        )

    def _stalled_ns(self, from_ns: int, until_ns: int) -> int:
        """Returns how long, between two instants, nothing arrived at the client although packets could have arrived.

        The time is the sum of the pauses between successive arrivals. Each pause counts without the transmission time
        of two packets, and of the packets of other flows.
        """
        arrivals = self.layers.arrivals
        times = [from_ns, *(arrival.t_ns for arrival in arrivals if from_ns < arrival.t_ns < until_ns), until_ns]
        packets_ns = 2 * self._packet_ns
        return sum(
            max(0, later - earlier - packets_ns - self.pipe.cross_ns(self.layers, earlier, later))
            for earlier, later in pairwise(times)
        )

    def _record_recovery(self, queue: Estimate) -> Estimate:
        """Returns for how much of the wait for the complete TLS record bytes were missing that had to be sent again."""
        rest_ns = self.first_byte_ns - self.record_ns
        if not rest_ns:
            return _NONE
        crossed = self._crossing_of(self.end)
        if crossed is not None:
            if crossed.was_lost:
                expected_ns = max(self._record_due_ns, crossed.first_sent_ns + self.own.ns + queue.ns)
            else:
                expected_ns = max(self.record_ns, crossed.arrived_ns)
            return Estimate.exact(min(rest_ns, max(0, crossed.complete_ns - expected_ns)))
        if not self._may_be_resent(self.sent.least_ns, self.first_byte_ns):
            return _NONE
        latest_ns = self.first_byte_ns - self.own.least_ns
        sent = reached(
            self.sockets, [each.sent_bytes for each in self.sockets], self.end, self.sent.least_ns, latest_ns
        )
        soonest, due_ns, off_ns = sent.plus(self.own).plus(queue), self._record_due_ns, self.off_ns
        expected = Estimate(
            ns=max(due_ns, soonest.ns),
            # What came behind a missing packet was there already when that came.
            least_ns=self.record_ns if self._has_jump else max(self.record_ns, min(due_ns, soonest.least_ns)),
            most_ns=max(due_ns, soonest.most_ns) + off_ns,
        )
        wait = Estimate.exact(self.first_byte_ns).since(expected)
        return replace(wait, ns=0) if wait.ns <= off_ns else wait

    @property
    def _has_jump(self) -> bool:
        """True if more than one packet became readable at once while the record arrived."""
        had = [each.tcp_bytes for each in self.layers.arrivals if self.record_ns <= each.t_ns <= self.first_byte_ns]
        had.insert(0, self._had_bytes(self.record_ns - 1))
        return any(later - earlier > self._mss for earlier, later in pairwise(had))

    @property
    def _record_due_ns(self) -> int:
        """When the record would be complete if the link had transmitted its rest without a pause."""
        left_bytes = framed(max(0, self.end - self._had_bytes(self.record_ns)), self._mss)
        through_ns = self.pipe.through_ns(self.record_ns, left_bytes)
        return through_ns + self.pipe.cross_ns(self.layers, self.record_ns, self.first_byte_ns)


def _moved(wait: Estimate, by_ns: int, spread_ns: int) -> Estimate:
    """Returns a wait that is longer by a time, with an error of spread_ns at most."""
    ns = wait.ns + by_ns
    return Estimate(ns=ns, least_ns=max(0, ns - spread_ns), most_ns=ns + spread_ns)


def reached(
    sockets: Sequence[SocketSample], counts: Sequence[int], position: int, earliest_ns: int, latest_ns: int
) -> Estimate:
    """Returns when a count of bytes reached a position of the TCP stream: between two samples, and within two bounds.

    If no sample reached the position, the result is latest_ns. counts: the number of bytes at each sample.
    """
    for index, count in enumerate(counts):
        if count >= position:
            before_ns = sockets[index - 1].t_ns if index else earliest_ns
            return Estimate.between(before_ns, sockets[index].t_ns).clipped(earliest_ns, max(earliest_ns, latest_ns))
    return Estimate.exact(latest_ns)
