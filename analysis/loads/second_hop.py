"""The part of the ledger before the front (VIA): the wait at the second front and between the fronts. Pure.

analysis/loads/ledger.py explains the layers.
"""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass

from analysis.loads.layer import Layer
from analysis.loads.metrics import PageLoad
from analysis.records.runs import Layers
from common.formats.passages import Passage
from common.formats.scenario import ViaRecord
from common.packets import PACKET_BYTES


@dataclass(frozen=True, kw_only=True)
class Hop:
    """The second hop of the focal resource's first byte.

    arrived_ns: when the byte arrived at the front. parts: the wait in each layer before, in nanoseconds. They add up to
    the time from the resource's available_ns to arrived_ns.
    """

    arrived_ns: int
    parts: Mapping[Layer, int]


def hop_of(load: PageLoad, layers: Layers, via: ViaRecord) -> Hop | None:
    """Returns the second hop of a load's focal resource; None if no capture has the response."""
    passage = passage_of(load, layers)
    if passage is None:
        return None
    available_ns, sent_ns = load.focal.available_ns, max(passage.sent_ns, load.focal.available_ns)
    handed_ns = _handed_ns(passage, layers, available_ns, sent_ns)
    crossed_ns = passage.arrived_ns - sent_ns
    own_ns = via.delay_ns
    if via.rate_bit_s is not None:
        own_ns += PACKET_BYTES * 8 * 10**9 // via.rate_bit_s
    own_ns = min(own_ns, crossed_ns)
    return Hop(
        arrived_ns=passage.arrived_ns,
        parts={
            Layer.SECOND: handed_ns - available_ns,
            Layer.SECOND_UNSENT: sent_ns - handed_ns,
            Layer.BETWEEN_QUEUE: crossed_ns - own_ns,
            Layer.BETWEEN: own_ns,
        },
    )


def passage_of(load: PageLoad, layers: Layers) -> Passage | None:
    """Returns the passage of a load's focal resource; None if no capture has it."""
    path, during = load.focal.resource.path, range(load.started_ns, load.finished_ns)
    return next((each for each in layers.passages if each.path == path and each.requested_ns in during), None)


def _handed_ns(passage: Passage, layers: Layers, earliest_ns: int, latest_ns: int) -> int:
    """Returns when the second front handed the byte to its kernel, between two instants.

    The samples are those of the passage's connection. The result is the middle between the first sample that has the
    byte and the sample before.
    """
    samples = [each for each in layers.connections if each.peer_port == passage.port]
    index = bisect_left(samples, passage.position_bytes + 1, key=lambda sample: sample.handed_bytes)
    if index == len(samples):
        return latest_ns
    middle_ns = (samples[max(0, index - 1)].t_ns + samples[index].t_ns) // 2
    return min(max(earliest_ns, middle_ns), latest_ns)
