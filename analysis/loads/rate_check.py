"""Compares the rate at which bytes arrive with the link's rate. Pure."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from priolab.analysis.loads.contradiction import Allowance, Contradiction
from priolab.analysis.loads.metrics import PageLoad
from priolab.analysis.records.rate import Rate, TraceRate
from priolab.analysis.records.runs import Layers
from priolab.analysis.records.samples import latest
from priolab.common.formats.events import Arrival
from priolab.common.formats.scenario import ScenarioRecord
from priolab.common.packets import HEADERS_BYTES, PACKET_BYTES, SEGMENT_BYTES, framed

_TRAIN_PACKETS = 8


def rate_contradictions(
    load: PageLoad, layers: Layers, scenario: ScenarioRecord, allowance: Allowance
) -> Iterator[Contradiction]:
    """Checks that bytes arrive at the link's rate while packets wait in the bottleneck.

    Skips the time around retransmissions, and the time around a change of the rate. A packet that overtakes others is
    recorded only when the others have arrived, so with REORDER nothing is checked.
    """
    if scenario.reorder:
        return
    rate = Rate.of(scenario, load.started_ns)
    sockets = [sample for sample in layers.sockets if load.started_ns <= sample.t_ns <= load.finished_ns]
    if rate is None or not sockets:
        return
    packet_ns = PACKET_BYTES * 8 * 10**9 // rate.slowest_bit_s
    around_ns = 1000 * max(sample.rtt_us for sample in sockets)
    for first, last, arrivals in _trains(load, layers, rate, allowance):
        before, after = latest(sockets, first.t_ns - around_ns), latest(sockets, last.t_ns + around_ns)
        if (before or sockets[0]).bytes_retrans != (after or sockets[0]).bytes_retrans:
            continue
        if rate.changes(first.t_ns - packet_ns, last.t_ns):  # a packet in transmission is finished at the old rate
            continue
        stream_bytes = last.tcp_bytes - first.tcp_bytes
        most_bytes = rate.carried_bytes(first.t_ns, last.t_ns)
        off = framed(stream_bytes) / most_bytes - 1
        if off < 0:  # each arrival is a packet or more, and small packets have more headers
            headers_bytes = HEADERS_BYTES * max(0.0, arrivals - stream_bytes / SEGMENT_BYTES)
            off = min(0.0, off + headers_bytes / most_bytes)
        # A trace's rate is right at its opportunities; between two of them it is up to a packet off.
        packets_bytes = 2 * PACKET_BYTES if isinstance(rate, TraceRate) else 0
        if abs(off) > allowance.rate + packets_bytes / most_bytes:
            asked = f"the link's rate, within {allowance.rate:.0%}"
            seen = f"a deviation of {off:+.0%}"
            yield Contradiction(what="rate of arrival while packets waited in the bottleneck", asked=asked, seen=seen)
            return


def _trains(load: PageLoad, layers: Layers, rate: Rate, allowance: Allowance) -> Iterator[tuple[Arrival, Arrival, int]]:
    """Yields the first and the last arrival of each interval in which packets always waited in the bottleneck.

    The third value is the number of arrivals after the first. Each interval is so long that one late arrival changes
    the interval's rate by less than the tolerance.
    """
    arrivals = [each for each in layers.arrivals if load.started_ns <= each.t_ns <= load.finished_ns]
    times_ns = [line.t_ns for line in layers.queue]
    busy_ns = [rate.through_ns(line.t_ns, (line.packets - 1) * PACKET_BYTES) for line in layers.queue]
    first: Arrival | None = None
    count = 0
    end = bisect_right(times_ns, arrivals[0].t_ns) if arrivals else 0
    for before, arrival in pairwise(arrivals):
        begin = end
        while end < len(times_ns) and times_ns[end] <= arrival.t_ns:
            end += 1
        if not begin or not _is_busy(busy_ns[begin - 1 : end], [*times_ns[begin:end], arrival.t_ns]):
            first, count = None, 0
            continue
        first, count = first or before, count + 1
        if (
            arrival.t_ns - first.t_ns >= allowance.late_ns / allowance.rate
            and framed(arrival.tcp_bytes - first.tcp_bytes) >= _TRAIN_PACKETS * PACKET_BYTES
        ):
            yield first, arrival, count
            first, count = None, 0


def _is_busy(busy_ns: Sequence[float], ends_ns: Sequence[int]) -> bool:
    """True if the bottleneck held packets all the time from the first of some samples of it until an instant.

    busy_ns: for each sample, until when the packets in it kept the bottleneck busy. ends_ns: the times of the samples
    after the first, and the instant.
    """
    return all(until_ns >= end_ns for until_ns, end_ns in zip(busy_ns, ends_ns, strict=True))
