"""Counts the bytes of the others in each layer of the ledger, at each sample. Pure."""

from bisect import bisect_right
from collections.abc import Sequence

from priolab.analysis.loads.ledger import Moment
from priolab.analysis.loads.metrics import PageLoad
from priolab.analysis.loads.stream import Payload
from priolab.analysis.loads.whereabouts import whereabouts
from priolab.analysis.records.runs import Layers
from priolab.common.formats.samples import SocketSample


def moments_of(
    load: PageLoad,
    others: Payload,
    position: int,
    sockets: Sequence[SocketSample],
    layers: Layers,
    *,
    queue_first: bool,
) -> list[Moment]:
    """Returns the moments of a load, in order of time. position: the position of the focal resource's first byte.

    sockets: the samples during the load. queue_first: True if packets pass the bottleneck before the delay line.
    """
    ahead = others.before(position)
    from_ns = min(load.resources[each.name].available_ns for each in load.page.others)
    # The last sample before the focal resource is available stands for the instant at which it becomes available.
    waiting_from = bisect_right(sockets, load.focal.available_ns, key=lambda sample: sample.t_ns) - 1
    moments = []
    for index, sample in enumerate(sockets):
        if sample.t_ns < from_ns:
            continue
        seen = whereabouts(sample, layers, queue_first=queue_first)
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
                queue_bytes=near if queue_first else far,
                propagation_bytes=far if queue_first else near,
                recovery_bytes=far_from - received,
                received_bytes=received,
            )
        )
    return moments
