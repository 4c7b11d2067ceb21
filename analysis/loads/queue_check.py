"""Finds packets that the bottleneck dropped although its queue was not full, in the samples of the queue. Pure.

A queue that drops at its tail holds as many packets as it has room for when it drops one. Between two samples no more
can have left it than the link carries meanwhile, and a packet that was being sent.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import floor

from priolab.analysis.loads.contradiction import Allowance, Contradiction
from priolab.analysis.records.rate import Rate
from priolab.analysis.records.runs import Layers
from priolab.common.formats.samples import QueueSample
from priolab.common.formats.scenario import FIFO, ScenarioRecord
from priolab.common.packets import ACKNOWLEDGMENT_BYTES

_BEING_SENT = 2
"""A packet that was being sent when the queue dropped another, and one that is being sent at the sample."""


def queue_contradictions(
    layers: Layers, scenario: ScenarioRecord, began_ns: int, allowance: Allowance
) -> Iterator[Contradiction]:
    """Returns a contradiction for each direction in which a packet was dropped without a full queue.

    began_ns: the start of the measured load. With LOSS packets are dropped anyway, and other disciplines than fifo drop
    before they are full. With SHAPER_AT=front the queue holds bytes.
    """
    if scenario.loss or scenario.qdisc != FIFO or scenario.shaper_at != "link":
        return
    ways = [("toward the client", layers.queue, Rate.of(scenario, began_ns))]
    if scenario.rate_up_bit_s is not None:
        ways.append(("toward the front", layers.queue_up, Rate(pieces=((-(2**63), scenario.rate_up_bit_s),))))
    for way, lines, rate in ways:
        if rate is not None:
            yield from _dropped(way, lines, rate, scenario.queue_packets, allowance)


def _dropped(
    way: str, lines: Sequence[QueueSample], rate: Rate, room_packets: int, allowance: Allowance
) -> Iterator[Contradiction]:
    late_ns = 0 if allowance.is_exact else allowance.too_late_ns
    for before, after in pairwise(lines):
        if after.dropped == before.dropped:
            continue
        held = [line for line in (before, after) if line.packets]
        least_bytes = min((line.bytes / line.packets for line in held), default=ACKNOWLEDGMENT_BYTES)
        left = floor(rate.carried_bytes(before.t_ns, after.t_ns + late_ns) / least_bytes) + _BEING_SENT
        if after.packets < room_packets - left:
            what = f"packets in the bottleneck {way} soon after it had dropped one"
            yield Contradiction(what=what, asked=f"at least {room_packets - left}", seen=str(after.packets))
            return
