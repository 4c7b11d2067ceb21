"""Reads the way of a byte from the samples and the client's arrivals. Pure."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from priolab.analysis.loads.estimate import Estimate
from priolab.analysis.loads.link_model import Pipe
from priolab.analysis.records.runs import Layers
from priolab.analysis.records.samples import latest
from priolab.common.formats.samples import SocketSample
from priolab.common.packets import framed

_OFF_PACKETS = 3
"""The packets by which the samples of socket and queue may differ, because one is sampled after the other."""


@dataclass(frozen=True, kw_only=True)
class Looks:
    """The samples around the way of a byte. sent: when it was sent. record_ns: when it arrived."""

    sockets: Sequence[SocketSample]
    layers: Layers
    pipe: Pipe
    sent: Estimate
    record_ns: int

    @property
    def mss_bytes(self) -> int:
        """The bytes of the stream in a full packet."""
        found = latest(self.sockets, self.sent.ns) or self.sockets[0]
        return found.mss_bytes

    @property
    def packet_ns(self) -> int:
        """The transmission time of a full packet."""
        return self.pipe.transmission_ns(framed(self.mss_bytes, self.mss_bytes), self.record_ns)

    @property
    def off_ns(self) -> int:
        """The error of a time that follows from the link's samples: socket and queue are not sampled at once."""
        return _OFF_PACKETS * self.packet_ns + self._step_ns

    @property
    def _step_ns(self) -> int:
        """The delay of a rate step while the byte is on its way: a packet is finished at the old rate."""
        rate, begins_ns = self.pipe.rate, self.sent.least_ns
        if rate is None or not rate.changes(begins_ns, self.record_ns):
            return 0
        return round(rate.through_ns(begins_ns, framed(self.mss_bytes, self.mss_bytes))) - begins_ns

    @property
    def look_ns(self) -> int:
        """The time between the samples around the instant at which the byte was sent."""
        index = bisect_right(self.sockets, self.sent.ns, key=lambda sample: sample.t_ns)
        index = min(max(1, index), len(self.sockets) - 1)
        return self.sockets[index].t_ns - self.sockets[index - 1].t_ns

    @cached_property
    def apart_ns(self) -> int:
        """The time from a sample of the queue to the sample of the socket after it; at most a sampling interval."""
        begins_ns, ends_ns = self.sent.least_ns - 5 * self.look_ns, self.record_ns
        times = [sample.t_ns for sample in self.sockets]
        apart = [
            times[index] - line.t_ns
            for line in self.layers.queue
            if begins_ns <= line.t_ns <= ends_ns and (index := bisect_right(times, line.t_ns - 1)) < len(times)
        ]
        return min(self.look_ns, max(apart, default=0))

    def sent_bytes(self, t_ns: int) -> int:
        """Returns the bytes of the stream that the front's kernel had sent at an instant, at least."""
        sample = latest(self.sockets, t_ns)
        return sample.sent_bytes if sample else 0

    def had_bytes(self, t_ns: int) -> int:
        """Returns the bytes of the stream that the client had at an instant."""
        arrived = latest(self.layers.arrivals, t_ns)
        return arrived.tcp_bytes if arrived else 0

    def resent_bytes(self, from_ns: int, until_ns: int) -> int:
        """Returns how many bytes the front's kernel may have sent again between two instants."""
        before = latest(self.sockets, from_ns) or self.sockets[0]
        index = bisect_right(self.sockets, until_ns - 1, key=lambda sample: sample.t_ns)
        after = self.sockets[min(index, len(self.sockets) - 1)]
        return after.bytes_retrans - before.bytes_retrans

    def busy_ns(self, from_ns: int, until_ns: int) -> int:
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

    def stalled_ns(self, from_ns: int, until_ns: int) -> int:
        """Returns how long, between two instants, nothing arrived at the client although packets could have arrived.

        The time is the sum of the pauses between successive arrivals. Each pause counts without the transmission time
        of two packets, and of the packets of other flows.
        """
        arrivals = self.layers.arrivals
        times = [from_ns, *(arrival.t_ns for arrival in arrivals if from_ns < arrival.t_ns < until_ns), until_ns]
        packets_ns = 2 * self.packet_ns
        return sum(
            max(0, later - earlier - packets_ns - self.pipe.cross_ns(self.layers, earlier, later))
            for earlier, later in pairwise(times)
        )

    def cross(self, from_ns: int, until_ns: int) -> Estimate:
        """Returns the transmission time of the other flows' packets between two instants; a sample may be late."""
        cross_ns = self.pipe.cross_ns(self.layers, from_ns, until_ns)
        wider = [
            self.pipe.cross_ns(self.layers, from_ns + by_ns, until_ns - by_ns)
            for by_ns in (-self.look_ns, self.look_ns)
        ]
        return Estimate(ns=cross_ns, least_ns=min(cross_ns, *wider), most_ns=max(cross_ns, *wider))

    def undropped(self, times: Sequence[int]) -> int:
        """Returns how many samples there are, of those at some times, until the bottleneck drops the next packet."""
        held = [self.layers.held(t_ns) for t_ns in times]
        counts = [0 if each is None else each.dropped for each in held]
        return bisect_right(counts, counts[0]) if counts else 0

    def dropped(self, entered: Estimate) -> bool:
        """True if the bottleneck dropped packets around the time at which the byte's packet reached it."""
        around_ns = self.look_ns + self.off_ns
        before = self.layers.held(entered.least_ns - around_ns)
        after = self.layers.held(entered.most_ns + around_ns)
        return before is None or after is None or after.dropped > before.dropped

    def resent_ns(self, from_ns: int, until_ns: int) -> int | None:
        """Returns when packets were last sent again between two instants, by the samples; None if they were not."""
        pairs = pairwise(sample for sample in self.sockets if from_ns <= sample.t_ns <= until_ns)
        times = [later.t_ns for earlier, later in pairs if later.bytes_retrans > earlier.bytes_retrans]
        return times[-1] if times else None

    def may_be_resent(self, from_ns: int, until_ns: int) -> bool:
        """True if packets may have been sent again between two instants."""
        return self.resent_bytes(from_ns, until_ns) > 0


def reached(
    sockets: Sequence[SocketSample], counts: Sequence[int], position: int, earliest_ns: int, latest_ns: int
) -> Estimate:
    """Returns when a count of bytes reached a position of the TCP stream: between two samples, and within two bounds.

    If a sample contradicts the later bound, the sample counts.
    If no sample reached the position, the result is latest_ns. counts: the number of bytes at each sample.
    """
    for index, count in enumerate(counts):
        if count >= position:
            before_ns = max(earliest_ns, sockets[index - 1].t_ns if index else earliest_ns)
            return Estimate.between(before_ns, max(before_ns, min(sockets[index].t_ns, latest_ns)))
    return Estimate.exact(latest_ns)
