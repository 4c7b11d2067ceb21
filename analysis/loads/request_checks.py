"""Finds contradictions between the client's and the origin's record of a request, or the scenario. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from analysis.loads.contradiction import Allowance, Contradiction, in_ms
from analysis.loads.metrics import PageLoad, ResourceTimes
from analysis.records.rate import Rate
from analysis.records.runs import Evidence, Layers
from common.formats.page import Resource
from common.formats.samples import OriginRequest, QueueSample
from common.formats.scenario import ScenarioRecord
from common.packets import PACKET_BYTES, SEGMENT_BYTES
from common.trace import Trace

_TIMER_PART = 200
"""A timer may be late by 1/200 of its duration."""

_FIRST_PACKETS = 4
"""Packets in addition to a document's full packets: the set-up of TLS and HTTP/2, and the last, partial packet."""

_ROOT = "/"
"""The path that the lab requests before the loads, to check that the front answers. A page may have this path, too."""


def request_contradictions(
    loads: Sequence[PageLoad], evidence: Evidence, layers: Layers, scenario: ScenarioRecord, allowance: Allowance
) -> Iterator[Contradiction]:
    """Returns the contradictions about the number of requests, their times, and the origin's delays."""
    asked = list(_asked(loads, evidence))
    yield from _requests(loads, evidence)
    yield from _causes(asked, scenario, allowance)
    yield from _origin(asked, allowance)
    if scenario.client == "h2":  # a browser sends requests late
        yield from _delays(asked, layers, scenario, allowance)


def served(resource: Resource, evidence: Evidence) -> Sequence[OriginRequest]:
    """Returns the requests for a resource that the origin logged."""
    return [request for request in evidence.requests if request.path == resource.path]


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """A request of a load, as the client and the origin logged it.

    name: the resource and the number of the load, in words. sent_ns: the time at which the client sent the request.
    first_ns: the time at which the client had the resource's first data or, if other resources wait for this resource,
    the time at which the client requested the first of them. request: the origin's record of the request. is_alone:
    True if the resource is a document, and no other resource was loading from sent_ns to first_ns.
    """

    name: str
    resource: Resource
    is_alone: bool
    sent_ns: int
    first_ns: int
    request: OriginRequest

    @property
    def to_origin(self) -> tuple[str, int]:
        """The time that the request took from the client to the origin: a description, and the nanoseconds."""
        what = f"time from the client's request for the {self.name} to its arrival at the origin"
        return what, self.request.received_ns - self.sent_ns

    @property
    def to_client(self) -> tuple[str, int | None]:
        """The time that the response took from the origin to the client: a description, and the nanoseconds.

        The time begins when the origin has the response, and ends when the client has the first data (first_ns). It is
        None if the origin's log has no response.
        """
        available_ns = self.request.available_ns
        what = f"time from the origin's response with the {self.name} to the client"
        return what, None if available_ns is None else self.first_ns - available_ns


def _asked(loads: Sequence[PageLoad], evidence: Evidence) -> Iterator[_Asked]:
    """Yields the requests of the loads, without the lab's own request before the loads, which checks the front."""
    for resource in evidence.page.resources:
        requests = served(resource, evidence)[-len(loads) :]
        for load, request in zip(loads, requests, strict=False):
            times = load.resources[resource.name]
            yield _Asked(
                name=f"{resource.name} in load {load.number}",
                resource=resource,
                is_alone=resource in evidence.page.documents and _is_alone(load, times),
                sent_ns=times.requested_ns,
                first_ns=_had_ns(load, times),
                request=request,
            )


def _is_alone(load: PageLoad, times: ResourceTimes) -> bool:
    others = (each for each in load.resources.values() if each is not times)
    here_ns = _had_ns(load, times)
    return all(each.requested_ns >= here_ns or each.last_byte_ns <= times.requested_ns for each in others)


def _had_ns(load: PageLoad, times: ResourceTimes) -> int:
    """Returns when the client had the first data of a resource.

    If other resources wait for the resource, returns when the client requested the first of these other resources: for
    this request the client needs all data of the resource.
    """
    awaiting = [each.requested_ns for each in load.resources.values() if each.resource.after == times.name]
    return min(awaiting, default=times.first_byte_ns)


def _requests(loads: Sequence[PageLoad], evidence: Evidence) -> Iterator[Contradiction]:
    for resource in evidence.page.resources:
        if resource.path == _ROOT:
            continue
        count = len(served(resource, evidence))
        if count != len(loads):
            what = f"requests for the {resource.name} at the origin"
            yield Contradiction(what=what, asked=str(len(loads)), seen=str(count))


def _causes(asked: Iterable[_Asked], scenario: ScenarioRecord, allowance: Allowance) -> Iterator[Contradiction]:
    between_ns = scenario.via.delay_ns if scenario.via else 0
    up_ns, down_ns = scenario.delay_up_ns + between_ns, scenario.shortest_delay_ns + between_ns
    for each in asked:
        for (what, took_ns), least_ns in ((each.to_origin, up_ns), (each.to_client, down_ns)):
            if took_ns is not None and took_ns < least_ns - allowance.moment_ns:
                yield Contradiction(what=what, asked=f"at least {in_ms(least_ns)}", seen=in_ms(took_ns))


def _delays(
    asked: Iterable[_Asked], layers: Layers, scenario: ScenarioRecord, allowance: Allowance
) -> Iterator[Contradiction]:
    """Checks that no request to the origin, and no document to the client, took longer than the link explains.

    A document is checked only if no other resource was loading, the link was empty, and the queue dropped nothing. With
    VIA nothing is checked: the front may first have to connect to the second front (analysis/loads/hop_checks.py).
    """
    if scenario.loss or not layers.queue or scenario.via:
        return
    rate = Rate.of(scenario)
    up_ns, down_ns = scenario.delay_up_ns, scenario.delay_ns
    # A request may share an opportunity with acknowledgements that wait before it, and use the next one, too.
    wait_ns = 0 if scenario.trace_up is None else 2 * Trace.unpack(scenario.trace_up).longest_gap_ns
    for each in asked:
        ways: list[tuple[tuple[str, int | None], int, int]] = [(each.to_origin, up_ns, wait_ns)]
        if each.is_alone and not layers.cross and each.request.available_ns is not None:
            packets = _FIRST_PACKETS + each.resource.size_bytes // SEGMENT_BYTES
            packets_ns = packets * PACKET_BYTES * 8 * 10**9 // rate.slowest_bit_s if rate else 0
            before, after = layers.held(each.request.available_ns), layers.held(each.first_ns)
            if not _holds_something(before) and _dropped(before) == _dropped(after):
                pieces_ns = each.resource.last_ns - each.resource.first_ns
                ways.append((each.to_client, down_ns, scenario.jitter_ns + packets_ns + pieces_ns))
        for (what, took_ns), asked_ns, besides_ns in ways:
            if took_ns is not None and took_ns > asked_ns + besides_ns + allowance.too_late_ns:
                yield Contradiction(what=what, asked=in_ms(asked_ns), seen=in_ms(took_ns))


def _dropped(held: QueueSample | None) -> int:
    return held.dropped if held else 0


def _holds_something(held: QueueSample | None) -> bool:
    return held is not None and bool(held.packets or held.delay_line_packets)


def _origin(asked: Iterable[_Asked], allowance: Allowance) -> Iterator[Contradiction]:
    for each in asked:
        if each.request.available_ns is None:
            continue
        held = [(each.name, each.resource.first_ns, each.request.available_ns - each.request.received_ns)]
        if (early_ns := each.resource.early_headers_ns) is not None:
            headers_ns = each.request.available_ns if each.request.headers_ns is None else each.request.headers_ns
            held.append((f"headers of the {each.name}", early_ns, headers_ns - each.request.received_ns))
        for name, least_ns, took_ns in held:
            if not least_ns <= took_ns <= least_ns + max(allowance.too_late_ns, least_ns // _TIMER_PART):
                what = f"how long the origin held the {name} back"
                yield Contradiction(what=what, asked=in_ms(least_ns), seen=in_ms(took_ns))
