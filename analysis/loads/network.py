"""The ledger's part behind the front: on the link, for packets that are sent again, and in the TLS record. Pure.

Rules:
1. Propagation is never less than the link's delay and the transmission of the byte's own packet.
2. The link's samples tell when the bottleneck should have transmitted the byte (`_due`), within bounds. If the byte
   came by then, all of the time on the link is queue and propagation. Otherwise the time beyond the bounds is recovery
   if packets may have been sent again, else unexplained.
3. The wait for the rest of the TLS record is at most what the link needs for these bytes. If packets may have been sent
   again, what remains is recovery.
4. If both ends of the link were captured, the times of the byte's packets are known.

`recovery` ends when the client has the byte, or the record, and all bytes before it.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from priolab.analysis.loads.capture_match import Crossing, crossing
from priolab.analysis.loads.estimate import Estimate
from priolab.analysis.loads.layer import Layer
from priolab.analysis.loads.looks import Looks, reached
from priolab.analysis.records.samples import latest
from priolab.common.packets import HEADERS_BYTES, framed

_NONE = Estimate.exact(0)


@dataclass(frozen=True, kw_only=True)
class Transit:
    """The way of the focal resource's first byte from the front's kernel to a client that can use it.

    looks: the samples. position, end: the byte's position in the TCP stream, and the end of its TLS record.
    first_byte_ns: when the record was complete at the client. loss: True if the link loses packets by itself. clock_ns:
    the resolution of the client's clock. held_ns: how long the front's device may hold what TCP counts as sent.
    """

    looks: Looks
    position: int
    end: int
    first_byte_ns: int
    loss: bool
    clock_ns: int
    held_ns: int

    def parts(self) -> dict[Layer, Estimate]:
        """Returns the waits behind the front's kernel. They add up to the time from `sent` to first_byte_ns."""
        own, total = self.own, self.looks.record_ns - self.looks.sent.ns
        if self.crossed is not None:
            found = self._captured(self.crossed)
        elif self.looks.layers.cross:
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
            Layer.RECORD: Estimate.exact(self.first_byte_ns - self.looks.record_ns).since(again),
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
        return self.looks.pipe.own(packet_bytes, least_bytes, self.looks.record_ns)

    @property
    def _segment_bytes(self) -> int:
        """The bytes of the stream in the byte's packet: at most what became readable when it arrived."""
        if self.crossed is not None:
            return self.crossed.packet_bytes
        now, before = self.looks.had_bytes(self.looks.record_ns), self.looks.had_bytes(self.looks.record_ns - 1)
        return min(self.looks.mss_bytes, now - before) if now > before else self.looks.mss_bytes

    def _crossing_of(self, position: int) -> Crossing | None:
        if not self.looks.layers.segments:
            return None
        return crossing(self.looks.layers.segments, position, self.looks.pipe.delay.least_ns)

    def _captured(self, crossed: Crossing) -> dict[Layer, Estimate]:
        flight_ns = crossed.arrived_ns - crossed.sent_ns
        read_ns = self.looks.record_ns - crossed.complete_ns
        limit = self._due if not crossed.was_lost else self._in_time(Estimate.exact(crossed.sent_ns))
        late_ns = 0 if limit is None else max(0, crossed.arrived_ns - limit.most_ns)
        waited = Estimate.exact(flight_ns - late_ns).since(self.own)
        found = {Layer.RECOVERY: Estimate.exact(crossed.recovery_ns), Layer.UNEXPLAINED: Estimate.exact(read_ns)}
        if not self.looks.layers.cross:
            return {Layer.QUEUE: waited, **found}
        entered_ns = min(crossed.sent_ns + self.looks.pipe.delay.ns, crossed.arrived_ns)
        cross = self.looks.cross(entered_ns, crossed.arrived_ns).clipped(0, waited.ns)
        return {Layer.QUEUE: waited.since(cross), Layer.CROSS: cross, **found}

    def _sampled(self) -> dict[Layer, Estimate]:
        due, waited = self._due, self._at_client.since(self.looks.sent).since(self.own)
        spread = Estimate.between(0, self._spread_ns(due))
        resent = self.looks.may_be_resent(self.looks.sent.least_ns, self.looks.record_ns)
        if due is None or self._at_client.least_ns <= due.most_ns:
            found = self._perhaps_recovered(waited) if resent else {Layer.QUEUE: waited}
            return {**found, Layer.UNEXPLAINED: spread}
        in_time = due.since(self.looks.sent).since(self.own)
        if not resent:
            return {Layer.QUEUE: replace(in_time, ns=min(in_time.most_ns, waited.ns)), Layer.UNEXPLAINED: spread}
        queue = (self._queue_in_hole(in_time) if self._was_hole else self._queue_behind_hole(in_time)).clipped(
            0, waited.most_ns
        )
        queue = replace(queue, ns=min(queue.ns, waited.ns))
        return {Layer.QUEUE: queue, Layer.RECOVERY: self._stalled(waited, queue), Layer.UNEXPLAINED: spread}

    def _perhaps_recovered(self, waited: Estimate) -> dict[Layer, Estimate]:
        """Returns the parts if the byte may have come in time, but packets were sent again around it."""
        stalled_ns = self.looks.stalled_ns(self.looks.sent.least_ns, self.looks.record_ns)
        looks = self.looks
        longest_ns = looks.pipe.longest_queue_ns(looks.record_ns)
        queue_ns = waited.ns if longest_ns is None else min(waited.ns, longest_ns + looks.off_ns)
        most_ns = max(waited.ns - queue_ns, min(waited.most_ns, stalled_ns))
        recovery = Estimate(ns=waited.ns - queue_ns, least_ns=0, most_ns=most_ns)
        queue = Estimate(ns=queue_ns, least_ns=max(0, waited.least_ns - most_ns), most_ns=max(queue_ns, waited.most_ns))
        return {Layer.QUEUE: queue, Layer.RECOVERY: recovery}

    def _stalled(self, waited: Estimate, queue: Estimate) -> Estimate:
        """Returns the wait for packets that were sent again: what the queue leaves, but no more than the pauses.

        Packets that fill holes one after the other leave no pauses; then it is no more than the time until the last of
        those that may have arrived was sent again.
        """
        recovery = Estimate(
            ns=waited.ns - queue.ns,
            least_ns=max(0, waited.least_ns - queue.most_ns),
            most_ns=waited.most_ns - queue.least_ns,
        )
        looks = self.looks
        again_ns = looks.resent_ns(looks.sent.least_ns, looks.record_ns - self.own.least_ns) or looks.sent.ns
        stalled_ns = max(looks.stalled_ns(looks.sent.least_ns, looks.record_ns), again_ns - looks.sent.ns)
        return replace(recovery, ns=min(recovery.ns, stalled_ns + looks.off_ns + recovery.uncertainty_ns))

    def _among_others(self) -> dict[Layer, Estimate]:
        """Splits the queue in two with cross traffic, because samples tell each part by itself."""
        lost = self._lost_among_others()
        if lost is not None:
            return lost
        entered_ns = min(self.looks.sent.ns + self.looks.pipe.delay.ns, self.looks.record_ns)
        cross, queue = self.looks.cross(entered_ns, self.looks.record_ns), self._behind_own(entered_ns)
        waited = self._at_client.since(self.looks.sent).since(self.own)
        if self._has_hole:
            busy_ns = max(0, self.looks.busy_ns(entered_ns, self.looks.record_ns) - cross.ns - self.looks.packet_ns)
            queue = Estimate(ns=min(queue.ns, busy_ns), least_ns=0, most_ns=queue.most_ns)
        spread_ns = cross.uncertainty_ns + queue.uncertainty_ns + self.looks.sent.uncertainty_ns
        left_ns = waited.ns - cross.ns - queue.ns
        recovery = _NONE
        if self.looks.may_be_resent(self.looks.sent.least_ns, self.looks.record_ns):
            # The byte may have been lost while packets of other flows went on.
            stalled_ns = self.looks.stalled_ns(self.looks.sent.ns, self.looks.record_ns)
            recovered_ns = min(left_ns, stalled_ns + spread_ns) if left_ns > spread_ns else 0
            recovery = Estimate(ns=recovered_ns, least_ns=0, most_ns=waited.most_ns)
            left_ns -= recovered_ns
        taken_ns = min(max(left_ns, -spread_ns), spread_ns)
        if recovery.most_ns:
            spread_ns = max(spread_ns, waited.most_ns)
        into_cross_ns = max(taken_ns, -cross.ns)
        into_queue_ns = max(taken_ns - into_cross_ns, -queue.ns)
        return {
            Layer.QUEUE: _moved(queue, into_queue_ns, spread_ns),
            Layer.CROSS: _moved(cross, into_cross_ns, spread_ns),
            Layer.RECOVERY: recovery,
            Layer.UNEXPLAINED: Estimate.between(0, 2 * spread_ns),
        }

    def _lost_among_others(self) -> dict[Layer, Estimate] | None:
        """Returns the parts if the byte seems to have been lost, or to have waited at the client for one before it.

        Then nothing became readable for a round trip. A lost byte was sent again when packets last were. A byte that
        waited is taken to have arrived when the pause began. Both is uncertain. None if there was no such pause.
        """
        looks, sent_ns = self.looks, self.looks.sent.ns
        before = latest(looks.layers.arrivals, looks.record_ns - 1)
        soonest_ns = max(sent_ns + self.own.ns, before.t_ns if before else 0)
        again_ns = looks.resent_ns(sent_ns, looks.record_ns - self.own.least_ns)
        if again_ns is None or looks.record_ns - soonest_ns + self.own.ns < 1000 * looks.sockets[-1].min_rtt_us:
            return None
        waited = self._at_client.since(looks.sent).since(self.own)
        begins_ns, ends_ns = (again_ns, looks.record_ns) if self._was_hole else (sent_ns, soonest_ns)
        recovered_ns = max(0, min(waited.ns, waited.ns - (ends_ns - begins_ns - self.own.ns)))
        left_ns = waited.ns - recovered_ns
        cross_ns = min(looks.cross(min(begins_ns + looks.pipe.delay.ns, ends_ns), ends_ns).ns, left_ns)
        parts_ns = {Layer.QUEUE: left_ns - cross_ns, Layer.CROSS: cross_ns, Layer.RECOVERY: recovered_ns}
        found = {layer: Estimate(ns=ns, least_ns=0, most_ns=waited.most_ns) for layer, ns in parts_ns.items()}
        return {**found, Layer.UNEXPLAINED: Estimate.between(0, self._spread_ns(None))}

    @property
    def _at_client(self) -> Estimate:
        return Estimate(
            ns=self.looks.record_ns, least_ns=self.looks.record_ns, most_ns=self.looks.record_ns + self.clock_ns
        )

    def _spread_ns(self, due: Estimate | None) -> int:
        """Returns twice the error up to which the time on the link is explained."""
        return 2 * ((due.uncertainty_ns if due is not None else self.looks.look_ns) + self.clock_ns)

    @cached_property
    def _due(self) -> Estimate | None:
        """The time at which the byte should have arrived if it was not lost; None if the samples do not tell.

        Each sample from the time at which the byte's packet reached the bottleneck until the arrival shows how many
        bytes the bottleneck then held. Those sent behind the byte do not count. The bottleneck transmits the others
        without a pause.
        """
        entered, soonest = self.looks.sent.plus(self.looks.pipe.delay), self.looks.sent.plus(self.own)
        times = [each.t_ns for each in self.looks.sockets]
        shown = times[bisect_left(times, entered.most_ns + self.held_ns) : bisect_right(times, self.looks.record_ns)]
        shown = shown[:1] if self._may_lack_bytes else shown[: self.looks.undropped(shown)]
        cleared = [found for t_ns in shown if (found := self._cleared(t_ns)) is not None]
        if not cleared:
            return self._in_time(self.looks.sent)
        off_ns = self.looks.off_ns + self.looks.apart_ns
        least_ns = max(each.least_ns for each in cleared) - off_ns
        most_ns = min(each.most_ns for each in cleared) + off_ns
        found = Estimate.between(min(least_ns, most_ns), most_ns)
        return Estimate(
            ns=max(found.ns, soonest.ns),
            least_ns=max(found.least_ns, soonest.least_ns),
            most_ns=max(found.most_ns, soonest.most_ns),
        )

    def _cleared(self, t_ns: int) -> Estimate | None:
        """Returns when the bottleneck has transmitted the byte, as the samples at an instant show; None without any."""
        held = self.looks.layers.held(t_ns)
        if held is None or self.looks.pipe.rate is None:
            return None
        sent = [self.looks.sent_bytes(t_ns - way_ns) for way_ns in self._ways_ns]
        behind = [framed(max(0, each - self.position), self.looks.mss_bytes) for each in sent]
        if self._may_lack_bytes:
            behind[1] = 0.0
        least, most = (self.looks.pipe.through_ns(t_ns, max(0.0, held.bytes - each)) for each in behind)
        # If nothing waits any more, the byte has left at some time before.
        return Estimate.between(self.looks.sent.least_ns if least <= t_ns else least, most)

    @property
    def _may_lack_bytes(self) -> bool:
        """True if bytes sent behind the byte may be lost, or other bytes may be sent again behind it."""
        return self.loss or self.looks.may_be_resent(self.looks.sent.least_ns, self.looks.record_ns)

    @property
    def _ways_ns(self) -> tuple[int, int]:
        """The shortest time from a sample of what was sent until it is in the bottleneck, and the longest."""
        longest_ns = self.looks.pipe.delay.most_ns + self.looks.look_ns + self.held_ns
        return self.looks.pipe.delay.least_ns - self.looks.look_ns, longest_ns

    def _in_time(self, sent: Estimate) -> Estimate | None:
        """Returns when a packet should arrive that is not lost, by the most that the bottleneck can hold."""
        longest_ns = self.looks.pipe.longest_queue_ns(self.looks.record_ns)
        if longest_ns is None:
            return None
        soonest = sent.plus(self.own)
        return soonest.plus(Estimate(ns=longest_ns // 2, least_ns=0, most_ns=longest_ns + self.looks.off_ns))

    @property
    def _was_hole(self) -> bool:
        """True if the client waited for the byte's own packet, or for a short one before it."""
        return self.looks.had_bytes(self.looks.record_ns - 1) + self.looks.mss_bytes >= self.position

    def _queue_in_hole(self, queue: Estimate) -> Estimate:
        """Returns the queue of a byte whose packet the client waited for, unless that was a short one before it.

        queue: the queue of its first copy, which counts in the second case.
        """
        copy = self._queue_of_copy()
        if self.looks.had_bytes(self.looks.record_ns - 1) + 1 >= self.position:
            return copy
        return replace(copy, least_ns=min(copy.least_ns, queue.least_ns), most_ns=max(copy.most_ns, queue.most_ns))

    def _queue_of_copy(self) -> Estimate:
        """Returns the queue of the packet that arrived when the record began to arrive.

        It entered the bottleneck when the bottleneck first held packets until the time of the arrival.
        """
        longest_ns = self.looks.pipe.longest_queue_ns(self.looks.record_ns)
        times = [
            each.t_ns for each in self.looks.sockets if self.looks.sent.least_ns <= each.t_ns <= self.looks.record_ns
        ]
        entered = Estimate.between(times[-1] if times else self.looks.sent.least_ns, self.looks.record_ns)
        for t_ns, earlier_ns in pairwise([*reversed(times), self.looks.sent.least_ns]):
            held = self.looks.layers.held(t_ns)
            if (
                held is None
                or self.looks.pipe.through_ns(t_ns, held.bytes) < self.looks.record_ns - self.looks.packet_ns
            ):
                break
            entered = Estimate.between(earlier_ns, t_ns)
        wait = Estimate.exact(self.looks.record_ns).since(entered).since(Estimate.exact(self.looks.packet_ns))
        most_ns = wait.most_ns + self.looks.off_ns + self.looks.look_ns
        least_ns = max(0, wait.least_ns - self.looks.off_ns - self.looks.look_ns)
        most_ns = most_ns if longest_ns is None else min(most_ns, longest_ns)
        return Estimate(ns=wait.ns, least_ns=least_ns, most_ns=most_ns).clipped(0, max(0, most_ns))

    def _queue_behind_hole(self, queue: Estimate) -> Estimate:
        """Returns the queue of a byte that waited at the client for one before it.

        queue: the queue of its first copy. It may have been lost itself, and sent again before. Then its copy waited in
        another queue.
        """
        if not self._may_be_lost:
            return queue
        copy = self._queue_of_copy()
        longest_ns = self.looks.pipe.longest_queue_ns(self.looks.record_ns)
        most_ns = max(queue.most_ns, copy.most_ns, longest_ns or 0)
        return Estimate(ns=queue.ns, least_ns=0, most_ns=most_ns)

    @property
    def _may_be_lost(self) -> bool:
        """True if the byte's own packet may have been lost, as far as the samples tell."""
        again = self.looks.resent_bytes(self.looks.sent.least_ns, self.looks.record_ns)
        if again <= self.looks.mss_bytes:
            return False
        return self.loss or self.looks.dropped(self.looks.sent.plus(self.looks.pipe.delay))

    @property
    def _has_hole(self) -> bool:
        """True if bytes may have been missing at the client: they were sent again by a round trip later."""
        round_trip_ns = 1000 * max(sample.rtt_us for sample in self.looks.sockets)
        return self.looks.may_be_resent(self.looks.sent.ns, self.looks.record_ns + round_trip_ns)

    def _behind_own(self, entered_ns: int) -> Estimate:
        """Returns the transmission time of the own bytes before the byte that are in the bottleneck.

        entered_ns: the time at which the byte reaches the bottleneck, which is at the client's end of the link. So all
        bytes that have not arrived at the client are in the bottleneck, or lost, or at the client behind lost bytes.
        With losses the result is too large.
        """
        # On average, half of the packet being sent has left, and half of the byte's own packet is before the byte.
        before_bytes = self.position - self.looks.mss_bytes - self.looks.had_bytes(entered_ns)
        wait_ns = (
            self.looks.pipe.through_ns(entered_ns, framed(max(0, before_bytes), self.looks.mss_bytes)) - entered_ns
        )
        off_ns = self.looks.off_ns
        return Estimate(ns=wait_ns, least_ns=max(0, wait_ns - off_ns), most_ns=wait_ns + off_ns)

    def _record_recovery(self, queue: Estimate) -> Estimate:
        """Returns for how much of the wait for the complete TLS record bytes were missing that had to be sent again."""
        rest_ns = self.first_byte_ns - self.looks.record_ns
        if not rest_ns:
            return _NONE
        crossed = self._crossing_of(self.end)
        if crossed is not None:
            if crossed.was_lost:
                expected_ns = max(self._record_due_ns, crossed.first_sent_ns + self.own.ns + queue.ns)
            else:
                expected_ns = max(self.looks.record_ns, crossed.arrived_ns)
            return Estimate.exact(min(rest_ns, max(0, crossed.complete_ns - expected_ns)))
        if not self.looks.may_be_resent(self.looks.sent.least_ns, self.first_byte_ns):
            return _NONE
        latest_ns = self.first_byte_ns - self.own.least_ns
        sent = reached(
            self.looks.sockets,
            [each.sent_bytes for each in self.looks.sockets],
            self.end,
            self.looks.sent.least_ns,
            latest_ns,
        )
        soonest, due_ns, off_ns = sent.plus(self.own).plus(queue), self._record_due_ns, self.looks.off_ns
        expected = Estimate(
            ns=max(due_ns, soonest.ns),
            # What came behind a missing packet was there already when that came.
            least_ns=self.looks.record_ns
            if self._has_jump
            else max(self.looks.record_ns, min(due_ns, soonest.least_ns)),
            most_ns=max(due_ns, soonest.most_ns) + off_ns,
        )
        wait = Estimate.exact(self.first_byte_ns).since(expected)
        return replace(wait, ns=0) if wait.ns <= off_ns else wait

    @property
    def _has_jump(self) -> bool:
        """True if more than one packet became readable at once while the record arrived."""
        had = [
            each.tcp_bytes
            for each in self.looks.layers.arrivals
            if self.looks.record_ns <= each.t_ns <= self.first_byte_ns
        ]
        had.insert(0, self.looks.had_bytes(self.looks.record_ns - 1))
        return any(later - earlier > self.looks.mss_bytes for earlier, later in pairwise(had))

    @property
    def _record_due_ns(self) -> int:
        """The time at which the record would be complete if the link had transmitted its rest without a pause."""
        left_bytes = framed(max(0, self.end - self.looks.had_bytes(self.looks.record_ns)), self.looks.mss_bytes)
        through_ns = self.looks.pipe.through_ns(self.looks.record_ns, left_bytes)
        return through_ns + self.looks.pipe.cross_ns(self.looks.layers, self.looks.record_ns, self.first_byte_ns)


def _moved(wait: Estimate, by_ns: int, spread_ns: int) -> Estimate:
    """Returns a wait that is longer by a time, with an error of spread_ns at most."""
    ns = wait.ns + by_ns
    return Estimate(ns=ns, least_ns=max(0, ns - spread_ns), most_ns=ns + spread_ns)
