"""The part of the ledger before the front (VIA): the wait at the second front and between the fronts. Pure.

analysis/loads/ledger.py explains the layers.
"""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass

from priolab.analysis.loads.estimate import Estimate
from priolab.analysis.loads.layer import Layer
from priolab.analysis.loads.metrics import PageLoad
from priolab.analysis.records.runs import Layers
from priolab.common.formats.scenario import ViaRecord
from priolab.common.formats.upstream_timing import Passage
from priolab.common.packets import PACKET_BYTES


@dataclass(frozen=True, kw_only=True)
class Hop:
    """The second hop of the focal resource's first byte.

    arrived_ns: when the byte arrived at the front. parts: the wait in each layer before. With unexplained_ns they add
    up to the time from the resource's available_ns to arrived_ns. unexplained_ns: below 0 if the byte crossed the link
    between the fronts in less than its delay.
    """

    arrived_ns: int
    parts: Mapping[Layer, Estimate]
    unexplained_ns: int


def hop_of(load: PageLoad, layers: Layers, via: ViaRecord) -> Hop | None:
    """Returns the second hop of a load's focal resource; None if no capture has the response."""
    passage = passage_of(load, layers)
    if passage is None:
        return None
    available_ns, sent_ns = load.focal.available_ns, max(passage.sent_ns, load.focal.available_ns)
    handed = _handed(passage, layers, available_ns, sent_ns)
    crossed_ns = passage.arrived_ns - sent_ns
    packet_ns = 0 if via.rate_bit_s is None else PACKET_BYTES * 8 * 10**9 // via.rate_bit_s
    # The byte's packet may be shorter than a full one, but it never takes less than the delay.
    own = Estimate.exact(via.delay_ns + packet_ns).clipped(via.delay_ns, max(via.delay_ns, crossed_ns))
    sent = Estimate.exact(sent_ns)
    return Hop(
        arrived_ns=passage.arrived_ns,
        parts={
            Layer.SECOND: handed.since(Estimate.exact(available_ns)),
            Layer.SECOND_UNSENT: sent.since(handed),
            Layer.BETWEEN_QUEUE: Estimate.exact(max(0, crossed_ns - own.ns)),
            Layer.BETWEEN: own,
        },
        unexplained_ns=min(0, crossed_ns - own.ns),
    )


def passage_of(load: PageLoad, layers: Layers) -> Passage | None:
    """Returns the passage of a load's focal resource; None if no capture has it."""
    path, during = load.focal.resource.path, range(load.started_ns, load.finished_ns)
    return next((each for each in layers.passages if each.path == path and each.requested_ns in during), None)


def _handed(passage: Passage, layers: Layers, earliest_ns: int, latest_ns: int) -> Estimate:
    """Returns when the second front handed the byte to its kernel, between two instants.

    The samples are those of the passage's connection: the byte was handed over between the first sample that has the
    byte and the sample before.
    """
    samples = [each for each in layers.connections if each.peer_port == passage.port]
    index = bisect_left(samples, passage.position_bytes + 1, key=lambda sample: sample.handed_bytes)
    if index == len(samples):
        return Estimate.exact(latest_ns)
    before_ns = samples[index - 1].t_ns if index else earliest_ns
    return Estimate.between(before_ns, samples[index].t_ns).clipped(earliest_ns, latest_ns)
