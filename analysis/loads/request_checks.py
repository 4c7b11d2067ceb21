"""Finds contradictions between the client's and the origin's record of a request, or the scenario. Pure."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from priolab.analysis.loads.contradiction import Allowance, Contradiction, in_ms
from priolab.analysis.loads.idle_checks import takes_bytes
from priolab.analysis.loads.metrics import PageLoad, ResourceTimes
from priolab.analysis.loads.rounds import most_rounds, segments_of
from priolab.analysis.loads.spans import Span, at_work, covered_ns
from priolab.analysis.records.rate import Rate, may_drop_up, most_wait_up_ns
from priolab.analysis.records.runs import Evidence, Layers
from priolab.analysis.records.samples import earliest, latest
from priolab.common.formats.page import Resource
from priolab.common.formats.samples import OriginRequest, QueueSample, SocketSample
from priolab.common.formats.scenario import ScenarioRecord
from priolab.common.packets import INITIAL_WINDOW_SEGMENTS

_TIMER_PART = 200
"""A timer may be late by 1/200 of its duration."""

_AT_ONCE_BYTES = 32 * 1024
"""A response that the kernels of origin and front take at once: half of the smallest receive window, 64 KiB."""

_WHOLE_BYTES = 2 * 1024 * 1024
"""The largest response of which it is known that a front takes it at once, if it takes whole responses."""

_ROOT = "/"
"""The path that the lab requests before the loads, to check that the front answers. A page may have this path, too."""


def request_contradictions(
    loads: Sequence[PageLoad],
    evidence: Evidence,
    layers: Layers,
    scenario: ScenarioRecord,
    allowance: Allowance,
    *,
    is_stock: bool,
    takes_whole: bool,
) -> Iterator[Contradiction]:
    """Returns the contradictions about the number of requests, their times, and the origin's delays.

    is_stock: True if the front is a server of the catalogue in the lab's version and configuration. takes_whole: True
    if the front takes whole responses from the origin at once.
    """
    asked, working = list(_asked(loads, evidence)), at_work(layers)
    yield from _requests(loads, evidence, scenario)
    yield from _causes(asked, scenario, allowance)
    yield from _origin(asked, allowance)
    yield from _handed_over(asked, working, allowance, _WHOLE_BYTES if takes_whole else _AT_ONCE_BYTES)
    if scenario.client == "h2":  # a browser sends requests late
        yield from _delays(asked, working, layers, scenario, allowance, is_stock=is_stock)


def served(resource: Resource, evidence: Evidence) -> Sequence[OriginRequest]:
    """Returns the requests for a resource that the origin logged."""
    return [request for request in evidence.requests if request.path == resource.path]


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """A request of a load, as the client and the origin logged it.

    name: the resource and the number of the load, in words. first_load: True in a connection's first load. sent_ns: the
    time at which the client sent the request. first_ns: the time at which the client had the
    resource's first data or, if other resources wait for this resource, the time at which the client requested the
    first of them. request: the origin's record of the request. is_alone: True if the resource is a document, and no
    other resource was loading from sent_ns to first_ns.
    """

    name: str
    resource: Resource
    first_load: bool
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
                first_load=load.number == 1,
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

    If other resources wait for the resource, returns when the client could request the first of these other resources,
    without the time that it then waits by the page: for this request the client needs all data of the resource.
    """
    waiting = (each for each in load.resources.values() if each.resource.after == times.name)
    awaiting = [each.requested_ns - each.resource.wait_ns for each in waiting]
    return min(awaiting, default=times.first_byte_ns)


def _requests(loads: Sequence[PageLoad], evidence: Evidence, scenario: ScenarioRecord) -> Iterator[Contradiction]:
    if scenario.disturb is not None and not any("?" in request.path for request in evidence.requests):
        what = "requests with a query at the origin, for whose path and query the front must ask"
        yield Contradiction(what=what, asked="at least 1", seen="0")
        return
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
    asked: Iterable[_Asked],
    working: Sequence[Span],
    layers: Layers,
    scenario: ScenarioRecord,
    allowance: Allowance,
    *,
    is_stock: bool,
) -> Iterator[Contradiction]:
    """Checks that no request to the origin, and no document to the client, took longer than link and front explain.

    A server may read no requests while it waits until the kernel takes more of its bytes, as Node and Apache do. So a
    request may wait at the front as long as the samples of its socket show bytes that it has not read and, with a
    server of the catalogue, a kernel that takes no bytes. A document is checked only if no other resource was loading,
    the link was empty, and the queue dropped nothing. It may take the round trips of analysis/loads/rounds.py. Nothing
    is checked if the queue toward the front may drop a request. With VIA nothing is checked: the front may first have
    to connect to the second front (analysis/loads/hop_checks.py). working: the times at which the front was at work,
    which explain as much.
    """
    if scenario.loss or not layers.queue or scenario.via or may_drop_up(scenario):
        return
    up_ns, down_ns = scenario.delay_up_ns, scenario.delay_ns
    wait_ns = most_wait_up_ns(scenario)
    for each in asked:
        unread_ns = _read_ns(each.sent_ns + up_ns, layers.sockets, scenario, is_stock=is_stock) - each.sent_ns - up_ns
        ways: list[tuple[tuple[str, int | None], int, int]] = [(each.to_origin, up_ns, wait_ns + unread_ns)]
        if each.is_alone and not layers.cross and each.request.available_ns is not None:
            before, after = layers.held(each.request.available_ns), _next(layers, each.first_ns)
            if not _holds_something(before) and _dropped(before) == _dropped(after):
                ways.append((each.to_client, down_ns, _crossing_ns(each, layers, scenario, wait_ns)))
        worked_ns = covered_ns(working, each.sent_ns, each.first_ns)
        for (what, took_ns), asked_ns, waits_ns in ways:
            besides_ns = waits_ns + worked_ns
            if took_ns is not None and took_ns > asked_ns + besides_ns + allowance.too_late_ns:
                asked_text = f"at most {in_ms(asked_ns + besides_ns)}" if besides_ns else in_ms(asked_ns)
                yield Contradiction(what=what, asked=asked_text, seen=in_ms(took_ns))


def _crossing_ns(each: _Asked, layers: Layers, scenario: ScenarioRecord, wait_ns: int) -> int:
    """Returns the longest time that a document needs beside the link's delay, on an empty link.

    These are the jitter, the page's own delays, the transmission, and the round trips until the congestion window has
    let the whole document pass. wait_ns: the longest time that an acknowledgment waits for an opportunity.
    """
    window = None
    if not each.first_load:
        sampled = latest(layers.sockets, each.request.received_ns)
        window = min(INITIAL_WINDOW_SEGMENTS, sampled.cwnd_segments) if sampled else 1
    segments = segments_of(each.resource.size_bytes + each.resource.header_bytes, len(each.resource.ends_bytes))
    round_ns = scenario.delay_ns + 2 * scenario.jitter_ns + scenario.delay_up_ns + wait_ns
    rate = Rate.of(scenario)
    packets_ns = round(rate.longest_wait_s(segments) * 10**9) if rate else 0
    pieces_ns = each.resource.last_ns - each.resource.first_ns
    return 2 * scenario.jitter_ns + pieces_ns + packets_ns + most_rounds(segments, window) * round_ns


def _read_ns(t_ns: int, sockets: Sequence[SocketSample], scenario: ScenarioRecord, *, is_stock: bool) -> int:
    """Returns the latest time, from t_ns on, until which the server may have left what came unread, as is seen.

    A server of the catalogue does so only while its kernel takes no bytes.
    """
    for sample in sockets[bisect_left(sockets, t_ns, key=lambda each: each.t_ns) :]:
        if not sample.unread_bytes or (is_stock and takes_bytes(sample, scenario)):
            return sample.t_ns
    return max(t_ns, sockets[-1].t_ns) if sockets else t_ns


def _next(layers: Layers, t_ns: int) -> QueueSample | None:
    """Returns the first sample of the queue after an instant, or the last: a drop before may show only then."""
    return earliest(layers.queue, t_ns + 1) or (layers.queue[-1] if layers.queue else None)


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


def _handed_over(
    asked: Iterable[_Asked], working: Sequence[Span], allowance: Allowance, most_bytes: int
) -> Iterator[Contradiction]:
    """Checks that the origin handed over responses of at most `most_bytes` as soon as the page and the front allow.

    working: the times at which the front was at work.
    """
    for each in asked:
        if each.request.handed_over_ns is None or each.resource.size_bytes > most_bytes:
            continue
        least_ns = each.resource.last_ns
        took_ns = each.request.handed_over_ns - each.request.received_ns
        worked_ns = covered_ns(working, each.request.received_ns, each.request.handed_over_ns)
        if took_ns > least_ns + worked_ns + max(allowance.program_ns, least_ns // _TIMER_PART):
            what = f"time until the origin had handed over the {each.name}"
            yield Contradiction(what=what, asked=in_ms(least_ns), seen=in_ms(took_ns))
