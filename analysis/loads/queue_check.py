"""Finds packets that the bottleneck dropped although its queue was not full, in the samples of the queue. Pure.

A queue that drops at its tail holds as many packets as it has room for when it drops one. Between two samples no more
can have left it than the link carries meanwhile, and a packet that was being sent.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import floor

from priolab.analysis.loads.contradiction import Allowance, Contradiction
from priolab.analysis.records.rate import Rate
from priolab.analysis.records.runs import Layers
from priolab.analysis.records.samples import earliest, latest
from priolab.common.formats.samples import QueueSample, SocketSample
from priolab.common.formats.scenario import FIFO, ScenarioRecord
from priolab.common.packets import HEADERS_BYTES, PACKET_BYTES

_SAMPLING_NS, _LONG_NS = 500_000, 10**9
"""Half of the shortest interval of samples, and more than the longest."""

_SMALL = 0.25
"""Where the sizes of packets are unknown, those that leave first may be this part of the mean."""

_BEING_SENT = 2
"""A packet that was being sent when the queue dropped another, and one that is being sent at the sample."""


def queue_contradictions(
    layers: Layers, scenario: ScenarioRecord, began_ns: int, allowance: Allowance
) -> Iterator[Contradiction]:
    """Returns a contradiction for each direction in which a packet was dropped without a full queue.

    began_ns: the start of the measured load. With LOSS packets are dropped anyway, and other disciplines than fifo drop
    before they are full.
    """
    if scenario.loss or scenario.qdisc != FIFO:
        return
    rate = Rate.of(scenario, began_ns)
    if rate is not None:
        yield from _dropped("toward the client", layers.queue, layers.sockets, rate, scenario, allowance)
    if scenario.rate_up_bit_s is not None:
        rate = Rate(pieces=((-(2**63), scenario.rate_up_bit_s),))
        yield from _dropped("toward the front", layers.queue_up, (), rate, scenario, allowance)


def _dropped(
    way: str,
    lines: Sequence[QueueSample],
    sockets: Sequence[SocketSample],
    rate: Rate,
    scenario: ScenarioRecord,
    allowance: Allowance,
) -> Iterator[Contradiction]:
    """sockets: the samples of the sender's socket, if there are any."""
    late_ns = 0 if allowance.is_exact else allowance.too_late_ns
    for before, after in pairwise(lines):
        if after.dropped == before.dropped:
            continue
        since_ns = max(before.t_ns, _sampled_before_ns(after, sockets)) if allowance.is_exact else before.t_ns
        carried_bytes = rate.carried_bytes(since_ns, after.t_ns + late_ns)
        left = _most_left(carried_bytes, before, after, _sent(sockets, since_ns - scenario.delay_ns, after.t_ns))
        left += _BEING_SENT
        if after.packets < scenario.queue_packets - left:
            what = f"packets in the bottleneck {way} soon after it had dropped one"
            yield Contradiction(what=what, asked=f"at least {scenario.queue_packets - left}", seen=str(after.packets))
            return


def _sampled_before_ns(line: QueueSample, sockets: Sequence[SocketSample]) -> int:
    """Returns when the queue was sampled before, at the latest: it is sampled as often as the socket is.

    A sample without a change has no line.
    """
    index = bisect_right(sockets, line.t_ns - _SAMPLING_NS, key=lambda each: each.t_ns)
    if index < 2:
        return line.t_ns - _LONG_NS
    last_ns, first_ns = sockets[index - 1].t_ns, sockets[index - 2].t_ns
    return line.t_ns - max(line.t_ns - last_ns, last_ns - first_ns)


def _most_left(carried_bytes: float, before: QueueSample, after: QueueSample, sent: tuple[int, int] | None) -> int:
    """Returns how many packets can have left a queue at most while the link carried these bytes.

    before: the queue at the sample before. sent: the packets that were sent about then, and their bytes; None if
    unknown. All that these packets and those of the queue lack to full ones may be lacking to those that left.
    """
    if sent is None:
        held = (line.bytes / line.packets for line in (before, after) if line.packets)
        return floor(carried_bytes / (_SMALL * min((HEADERS_BYTES, *held))))
    packets, size_bytes = sent
    lacking_bytes = (packets + before.packets) * PACKET_BYTES - size_bytes - before.bytes
    return floor(min((carried_bytes + max(0, lacking_bytes)) / PACKET_BYTES, carried_bytes / HEADERS_BYTES))


def _sent(sockets: Sequence[SocketSample], from_ns: int, until_ns: int) -> tuple[int, int] | None:
    """Returns the number of packets that were sent between two instants, or about then, and their bytes."""
    first, last = latest(sockets, from_ns) or next(iter(sockets), None), earliest(sockets, until_ns)
    last = last or (sockets[-1] if sockets else None)
    if first is None or last is None or last.segments_sent <= first.segments_sent:
        return None
    packets = last.segments_sent - first.segments_sent
    return packets, packets * HEADERS_BYTES + last.bytes_sent - first.bytes_sent
