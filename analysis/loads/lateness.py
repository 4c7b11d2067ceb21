"""Lateness on a real clock: the time by which a busy machine delayed the first bytes of the measured load. Pure.

Before the first byte of a resource, these cross the link: the page's request, the page, the resource's request and the
resource's first packet. The link determines how long they take; the first packet counts only if nothing is ahead of the
resource on the link. If they take longer than the link explains, client, ferry, front or origin had to wait for a
processor. So the additional time is the sum of the delays of these programs, and follows from the logs of client and
origin alone. In the guest this sum is 0.2 ms. The lab compares the sum with the tolerance. The lab does not use a
percentile over all events: a busy machine that is in time for the few events before the first bytes is as good as an
idle machine.

The lab also measures how long packets wait in the client's kernel until the client reads them (client/socket.json).
This wait is a separate number, because it concerns all bytes. The number is a median. A higher percentile would
mislead: after a gap in the stream, a packet's time stamp is as old as the gap is long, and if a queue overflows, one
read in twenty may follow a gap.
"""

from dataclasses import dataclass

from priolab.analysis.loads.lower_bound import page_crossed_ns
from priolab.analysis.loads.metrics import PageLoad, ResourceTimes
from priolab.analysis.records.rate import Rate
from priolab.analysis.records.runs import Evidence, Layers
from priolab.analysis.records.samples import earliest, latest
from priolab.common.formats.scenario import ScenarioRecord
from priolab.common.packets import INITIAL_WINDOW_SEGMENTS, PACKET_BYTES, SEGMENT_BYTES

FIRST = "first"
"""Key of the resource that arrives first, with nothing ahead of it on the link."""

IMPORTANT = "important"
"""Key of the focal resource."""

_FIRST_WINDOW_BYTES = INITIAL_WINDOW_SEGMENTS // 2 * SEGMENT_BYTES
"""A page of this size passes with the first window. TLS and HTTP/2 may take the other segments, a small one each."""


@dataclass(frozen=True, kw_only=True)
class Late:
    """The lateness of a resource.

    late_ns: the delay that the link does not explain. first_byte_ns: the time from the page's request to the resource's
    first byte.
    """

    late_ns: int
    first_byte_ns: int


def lateness(load: PageLoad, evidence: Evidence, layers: Layers, scenario: ScenarioRecord) -> dict[str, Late]:
    """Returns the lateness of the first resource (key FIRST) and the focal resource (key IMPORTANT), if measurable.

    The lateness of the first resource is measured at the arrival of its first packet, if the client records when TLS
    records arrive. The lateness of the focal resource is measured at the instant at which the origin has the resource.
    With LOSS, REORDER or CROSS nothing is measured, because a lost or overtaking packet, or other traffic, makes a page
    late on an idle machine, too. Nor with VIA, because the front may first have to connect to the second front. With
    JITTER, the link's delay toward the client counts as longer by twice the jitter.
    """
    if scenario.loss or scenario.reorder or scenario.cross or scenario.via:
        return {}
    found: dict[str, Late] = {}
    if (asked_ns := _asked_ns(load, load.focal, layers, scenario)) is not None:
        late_ns = load.focal.available_ns - asked_ns - load.focal.resource.first_ns
        found[IMPORTANT] = _late(load, load.focal, late_ns)
    if came := _first_to_come(load, evidence):
        first, came_ns = load.resources[came[0]], came[1]
        if (asked_ns := _asked_ns(load, first, layers, scenario)) is not None:
            way_ns = scenario.delay_ns + 2 * scenario.jitter_ns + _packet_ns(Rate.of(scenario))
            found[FIRST] = _late(load, first, came_ns - asked_ns - first.resource.first_ns - way_ns)
    return found


def _late(load: PageLoad, times: ResourceTimes, late_ns: int) -> Late:
    return Late(late_ns=late_ns, first_byte_ns=times.first_byte_ns - load.started_ns)


def _first_to_come(load: PageLoad, evidence: Evidence) -> tuple[str, int] | None:
    """Returns the first resource to arrive, documents excluded: its name, and when its first TLS record began to come.

    None if the client recorded no TLS records. None also if a document arrived before this resource, and the resource
    does not wait for this document.
    """
    contents = {each.name for each in load.page.contents}
    began = sorted(
        (event.record_ns, event.resource)
        for event in evidence.events
        if (event.load, event.kind) == (load.number, "data") and event.resource and event.record_ns
    )
    for index, (came_ns, name) in enumerate(began):
        if name in contents:
            before = {each.name for each in load.page.before(load.page[name])}
            return (name, came_ns) if {other for _, other in began[:index]} <= before else None
    return None


def _asked_ns(load: PageLoad, times: ResourceTimes, layers: Layers, scenario: ScenarioRecord) -> int | None:
    """Returns when a resource's request reaches the origin if only the link and the page's delays take time.

    None if the resource waits for more than one resource, or if requests wait for others toward the front (RATE_UP,
    TRACE_UP). None also for a page that is larger than half the initial congestion window if it needs further round
    trips: in the first load of a connection, and if the bottleneck's queue dropped a packet of it.
    """
    before = load.page.before(times.resource)
    up_ns, down_ns = int(scenario.delay_up_ns), scenario.delay_ns
    wait_ns = times.resource.wait_ns + sum(each.wait_ns for each in before)
    if scenario.rate_up_bit_s is not None:
        return None
    if not before:
        return load.started_ns + wait_ns + up_ns
    if len(before) > 1 or scenario.trace_up is not None:
        return None
    rate = Rate.of(scenario)
    queued_ns = 0
    if rate is not None:
        # Packets queued before the page can arrive are needless retransmissions of the load before. They go first.
        until_ns = load.started_ns + up_ns + down_ns - scenario.jitter_ns
        held = [line.bytes for line in layers.queue if load.started_ns < line.t_ns <= until_ns]
        queued_ns = max(held, default=0) * 8 * 10**9 // rate.slowest_bit_s
    at_bottleneck_ns = up_ns + before[0].last_ns + down_ns + 2 * scenario.jitter_ns + queued_ns
    sent_bytes = max(before[0].size_bytes, _sent_bytes(load.started_ns, times.requested_ns, layers))
    if sent_bytes > _FIRST_WINDOW_BYTES and (
        load.number == 1 or _may_have_lost(load.started_ns, times.requested_ns, layers)
    ):
        return None
    return load.started_ns + page_crossed_ns(rate, at_bottleneck_ns, sent_bytes) + wait_ns + up_ns


def _sent_bytes(from_ns: int, until_ns: int, layers: Layers) -> int:
    """Returns the bytes of the TCP stream that arrived between two instants.

    Until the page has arrived, these bytes are the page, headers and, in a first load, the set-up of TLS and HTTP/2.
    """
    asked = [latest(layers.arrivals, t_ns) for t_ns in (from_ns, until_ns)]
    before, after = (arrival.tcp_bytes if arrival else 0 for arrival in asked)
    return after - before


def _may_have_lost(from_ns: int, until_ns: int, layers: Layers) -> bool:
    """True if the front sent bytes again between two instants, or if no samples tell."""
    before, after = latest(layers.sockets, from_ns), earliest(layers.sockets, until_ns)
    return before is None or after is None or after.bytes_retrans > before.bytes_retrans


def _packet_ns(rate: Rate | None) -> int:
    return 0 if rate is None else PACKET_BYTES * 8 * 10**9 // rate.slowest_bit_s
