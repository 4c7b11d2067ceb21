"""How late the parties of the measured load served what comes before first bytes, on a real clock. Pure.

Before the first byte of a resource come the request of the page, the page, the request of the resource and, where
nothing is before it on the link, its first packet. The link alone says how long these take; what they took longer is
the doing of the client, the ferry, the front and the origin, which their machine did not serve in time. So one
difference holds the sum of all their delays, whoever had them, and it needs no instrument beyond the two logs. In the
guest it is 0.2 ms. It is the very time by which a first byte is late for want of a processor, so it is what a tolerance
has to be compared with: a machine that is busy, but serves these few moments in time, is as good as an idle one, and a
percentile over all events would call it late.

How long a packet lies in the kernel before the client reads it is a figure of its own (client/socket.json), because it
is about all bytes and not about the first. It is a median: of reads at the end of a gap the stamp is as old as the gap
was long, and there may be one in twenty of those when a queue overflows.
"""

from dataclasses import dataclass

from analysis.loads.metrics import PageLoad, ResourceTimes
from analysis.loads.oracle import page_crossed_ns
from analysis.records.rate import Rate
from analysis.records.runs import Evidence, Layers
from analysis.records.samples import latest
from common.formats.scenario import ScenarioRecord
from common.packets import PACKET_BYTES

FIRST = "first"
"""The resource that comes first; nothing is before it on the link."""

IMPORTANT = "important"
"""The focal resource."""


@dataclass(frozen=True, kw_only=True)
class Late:
    """late_ns: later than the link explains. first_byte_ns: of the resource, from the request of the page."""

    late_ns: int
    first_byte_ns: int


def lateness(load: PageLoad, evidence: Evidence, layers: Layers, scenario: ScenarioRecord) -> dict[str, Late]:
    """FIRST: its first packet at the client, where TLS records are known. IMPORTANT: the origin had it to give.

    Nothing of a link that loses packets, where a lost page is as late as one that nobody served. With jitter a packet
    may be late by as much twice.
    """
    if scenario.loss:
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
    """The resource, and when the first of its TLS records began to arrive; None where there are no records."""
    contents = {each.name for each in load.page.contents}
    began = [
        (event.record_ns, event.resource)
        for event in evidence.events
        if (event.load, event.kind) == (load.number, "data") and event.resource in contents and event.record_ns
    ]
    if not began:
        return None
    came_ns, name = min(began)
    return name, came_ns


def _asked_ns(load: PageLoad, times: ResourceTimes, layers: Layers, scenario: ScenarioRecord) -> int | None:
    """When the request of a resource is at the origin, if nobody but the link takes time.

    None if it waits for more than one document.
    """
    before = load.page.before(times.resource)
    up_ns, down_ns = int(scenario.delay_up_ns), scenario.delay_ns
    if not before:
        return load.started_ns + up_ns
    if len(before) > 1:
        return None
    rate = Rate.of(scenario)
    queued_ns = 0
    if rate is not None:
        # What is queued before the page can be there was retransmitted needlessly in the load before, and goes first.
        until_ns = load.started_ns + up_ns + down_ns - scenario.jitter_ns
        held = [line.bytes for line in layers.queue if load.started_ns < line.t_ns <= until_ns]
        queued_ns = max(held, default=0) * 8 * 10**9 // rate.slowest_bit_s
    at_bottleneck_ns = up_ns + before[0].last_ns + down_ns + 2 * scenario.jitter_ns + queued_ns
    sent_bytes = max(before[0].size_bytes, _sent_bytes(load.started_ns, times.requested_ns, layers))
    return load.started_ns + page_crossed_ns(rate, at_bottleneck_ns, sent_bytes) + up_ns


def _sent_bytes(from_ns: int, until_ns: int, layers: Layers) -> int:
    """What the front sent until the client had the page: headers, too, and in a first load what TLS and HTTP/2 say."""
    asked = [latest(layers.arrivals, t_ns) for t_ns in (from_ns, until_ns)]
    before, after = (arrival.tcp_bytes if arrival else 0 for arrival in asked)
    return after - before


def _packet_ns(rate: Rate | None) -> int:
    return 0 if rate is None else PACKET_BYTES * 8 * 10**9 // rate.slowest_bit_s
