"""Finds contradictions between the logs of a run, or between its logs and its scenario. Pure.

A contradiction means that a log, or a part of the testbed, is wrong. All logs have times of the same kernel's clock, so
no effect may have an earlier time than its cause. A busy machine records events late. If a late record of the cause can
look like a contradiction, the tolerance is large: another check measures lateness (analysis/loads/lateness.py).

The times of these logs are compared:

    client and origin   the origin receives a request after the client sent the request, and the client receives a
                        response after the origin had the response
    client and front    bytes arrive after the front sent them, and are acknowledged after they have arrived
    front and link      the link holds at most the bytes that were sent and have not arrived
    each log by itself  times never run backwards

Other checks compare sizes, numbers of requests, the origin's delays, unsent bytes and the link's rate with the
scenario.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from analysis.loads.metrics import PageLoad, ResourceTimes, page_loads
from analysis.records.rate import Rate, TraceRate
from analysis.records.runs import Evidence, Layers
from analysis.records.samples import latest
from common.formats.events import Arrival
from common.formats.page import Resource
from common.formats.samples import OriginRequest, QueueSample, SocketSample
from common.formats.scenario import PROBE, ScenarioRecord
from common.packets import PACKET_BUFFER_BYTES, PACKET_BYTES, RECORD_BYTES, SEGMENT_BYTES, framed
from common.trace import Trace

_MS = 10**6
_LATE = 5
_TIMER_PART = 200
"""A timer may be late by 1/200 of its duration."""

_ACKED_EARLY_BYTES = 2
"""SYN and FIN: each counts as one acknowledged byte."""

_MOST_HEADERS_BYTES = 94
"""The longest headers of a packet: Ethernet, IPv4, and TCP with timestamps and three SACK blocks."""

_FIRST_PACKETS = 4
"""Packets in addition to a document's full packets: the set-up of TLS and HTTP/2, and the last, partial packet."""

_TRAIN_PACKETS = 8

_ROOT = "/"
"""The path that the lab requests before the loads, to check that the front answers. A page may have this path, too."""


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """The tolerances of the checks. A difference up to a tolerance is no contradiction.

    rate: the largest accepted deviation of the rate at which bytes arrive, as a fraction of the link's rate.
    moment_ns: the largest error if a time of one log is compared with a time of another log. late_ns: the time by which
    a busy machine may record an event late.
    """

    rate: float
    moment_ns: int
    late_ns: int

    @property
    def too_late_ns(self) -> int:
        """The longest delay that a busy machine can explain. A longer delay contradicts the scenario."""
        return _LATE * self.late_ns


@dataclass(frozen=True, kw_only=True)
class Contradiction:
    """A contradiction in words. what: the quantity. asked: its expected value. seen: its observed value."""

    what: str
    asked: str
    seen: str


def contradictions(
    evidence: Evidence, layers: Layers, scenario: ScenarioRecord, allowance: Allowance
) -> Iterator[Contradiction]:
    """Returns the contradictions, the easiest to understand first. scenario: the scenario in run.json.

    Raises FolderError if the record of a load is incomplete.
    """
    loads = page_loads(evidence)
    yield from _payload(loads)
    yield from _order(evidence, layers)
    asked = list(_asked(loads, evidence))
    yield from _requests(loads, evidence)
    yield from _causes(asked, scenario, allowance)
    yield from _origin(asked, allowance)
    if scenario.client == "h2":  # a browser sends requests late, and opens spare connections
        yield from _delays(asked, layers, scenario, allowance)
        yield from _transport(layers, scenario, allowance)
        if not layers.cross:  # otherwise the link holds bytes of other flows
            yield from _held(layers, allowance)
    yield from unsent(layers.sockets, scenario.lowat)
    # With cross traffic the front has only a part of the link's rate.
    if loads and scenario.plan != PROBE and scenario.shaper_at == "link" and not layers.cross:
        yield from _rate(loads[-1], layers, scenario, allowance)


def outside(evidence: Evidence) -> Iterator[Contradiction]:
    """Returns a contradiction for each request that the origin logged before or after all page loads."""
    times_ns = [event.t_ns for event in evidence.events if event.kind in ("load-started", "load-finished")]
    loads = sum(event.kind == "load-started" for event in evidence.events)
    for resource in evidence.page.resources:
        for request in served(resource, evidence)[-loads:]:
            if times_ns and not times_ns[0] <= request.received_ns <= times_ns[-1]:
                seen = f"{(request.received_ns - times_ns[0]) / _MS:.1f} ms after the first load began"
                what = f"time at which the origin received a request for the {resource.name}"
                yield Contradiction(what=what, asked="during the page loads", seen=seen)


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


def _payload(loads: Sequence[PageLoad]) -> Iterator[Contradiction]:
    for load in loads:
        for times in load.resources.values():
            if times.size_bytes != times.resource.size_bytes:
                asked, seen = f"{times.resource.size_bytes} bytes", f"{times.size_bytes} bytes"
                yield Contradiction(what=f"payload of the {times.name} in load {load.number}", asked=asked, seen=seen)


def _order(evidence: Evidence, layers: Layers) -> Iterator[Contradiction]:
    logs: dict[str, Iterable[int]] = {
        "client's events": (event.t_ns for event in evidence.events),
        "client's arrivals": (arrival.t_ns for arrival in layers.arrivals),
        "samples of the front's socket": (sample.t_ns for sample in layers.sockets),
        "samples of the link's queue": (line.t_ns for line in layers.queue),
    }
    for name, times_ns in logs.items():
        for before_ns, after_ns in pairwise(times_ns):
            if after_ns < before_ns:
                yield _backwards(f"times of the {name}", after_ns - before_ns)
                break
    for request in evidence.requests:
        stamps = [request.received_ns, request.available_ns, request.handed_over_ns]
        for before_ns, after_ns in pairwise(stamp for stamp in stamps if stamp is not None):
            if after_ns < before_ns:
                yield _backwards(f"times of the origin for {request.path}", after_ns - before_ns)
    for event in evidence.events:
        if event.record_ns is not None and event.record_ns > event.t_ns:
            yield _backwards("times of a TLS record's first and last byte", event.t_ns - event.record_ns)
            break


def _backwards(what: str, step_ns: int) -> Contradiction:
    return Contradiction(what=what, asked="no step backwards", seen=f"a step of {step_ns / _MS:.3f} ms")


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
        least_ns = each.resource.first_ns
        took_ns = each.request.available_ns - each.request.received_ns
        if not least_ns <= took_ns <= least_ns + max(allowance.too_late_ns, least_ns // _TIMER_PART):
            yield Contradiction(
                what=f"how long the origin held the {each.name} back", asked=in_ms(least_ns), seen=in_ms(took_ns)
            )


def _transport(layers: Layers, scenario: ScenarioRecord, allowance: Allowance) -> Iterator[Contradiction]:
    """Checks that bytes arrived after the front had sent them, and were acknowledged after they had arrived."""
    times_ns = [sample.t_ns for sample in layers.sockets]
    delay_ns = scenario.shortest_delay_ns
    for arrival in layers.arrivals:
        index = bisect_left(times_ns, arrival.t_ns - delay_ns + allowance.moment_ns)
        if index < len(times_ns) and (sent_bytes := layers.sockets[index].sent_bytes) < arrival.tcp_bytes:
            what = f"bytes that the front had sent {in_ms(delay_ns)} before they arrived at the client"
            yield Contradiction(what=what, asked=f"at least {arrival.tcp_bytes}", seen=f"{sent_bytes}")
            break
    for sample in layers.sockets:
        # Bytes that TLS read for its handshake are not among the arrivals.
        arrived = latest(layers.arrivals, sample.t_ns - scenario.delay_up_ns + allowance.too_late_ns)
        acked_bytes = sample.bytes_acked - _ACKED_EARLY_BYTES
        if arrived and acked_bytes > (arrived_bytes := arrived.tcp_bytes):
            what = f"bytes that the client had received {in_ms(scenario.delay_up_ns)} before they were acknowledged"
            yield Contradiction(what=what, asked=f"at least {acked_bytes}", seen=f"{arrived_bytes}")
            break


def _held(layers: Layers, allowance: Allowance) -> Iterator[Contradiction]:
    """Checks that the link holds at most the bytes that were sent and have not arrived.

    A retransmitted byte counts as sent twice.
    """
    times_ns = [sample.t_ns for sample in layers.sockets]
    for line in layers.queue if times_ns and layers.arrivals else ():
        index = bisect_left(times_ns, line.t_ns + allowance.too_late_ns)
        if index == len(times_ns):
            return
        if line.t_ns < times_ns[0]:
            continue
        arrived = latest(layers.arrivals, line.t_ns - allowance.too_late_ns)
        most_bytes = layers.sockets[index].bytes_sent - (arrived.tcp_bytes if arrived else 0)
        held_bytes = line.bytes + line.delay_line_bytes
        held_bytes -= _MOST_HEADERS_BYTES * (line.packets + line.delay_line_packets)
        if held_bytes > most_bytes:
            what = "bytes of the TCP stream that the link held"
            asked = f"at most {most_bytes}, which were sent and had not arrived"
            yield Contradiction(what=what, asked=asked, seen=f"{held_bytes}")
            return


def unsent(
    samples: Iterable[SocketSample], lowat: int | str | None, where: str = "the front's kernel"
) -> Iterator[Contradiction]:
    """Checks that at most LOWAT, one packet buffer and one TLS record are unsent, unless LOWAT is unset or auto.

    samples: those of the sockets of this kernel. The kernel checks LOWAT in tcp_stream_memory_free (net/ipv4/tcp.c).
    """
    if not isinstance(lowat, int):
        return
    most_bytes = lowat + PACKET_BUFFER_BYTES + RECORD_BYTES
    found_bytes = max((sample.notsent_bytes for sample in samples), default=0)
    if found_bytes > most_bytes:
        asked = f"at most {most_bytes} bytes with LOWAT={lowat}"
        yield Contradiction(what=f"bytes unsent in {where}", asked=asked, seen=f"{found_bytes} bytes")


def _rate(load: PageLoad, layers: Layers, scenario: ScenarioRecord, allowance: Allowance) -> Iterator[Contradiction]:
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
    for first, last in _trains(load, layers, rate, allowance):
        before, after = latest(sockets, first.t_ns - around_ns), latest(sockets, last.t_ns + around_ns)
        if (before or sockets[0]).bytes_retrans != (after or sockets[0]).bytes_retrans:
            continue
        if rate.changes(first.t_ns - packet_ns, last.t_ns):  # a packet in transmission is finished at the old rate
            continue
        carried_bytes = framed(last.tcp_bytes - first.tcp_bytes)
        most_bytes = rate.carried_bytes(first.t_ns, last.t_ns)
        off = carried_bytes / most_bytes - 1
        # A trace's rate is right at its opportunities; between two of them it is up to a packet off.
        packets_bytes = 2 * PACKET_BYTES if isinstance(rate, TraceRate) else 0
        if abs(off) > allowance.rate + packets_bytes / most_bytes:
            asked = f"the link's rate, within {allowance.rate:.0%}"
            seen = f"a deviation of {off:+.0%}"
            yield Contradiction(what="rate of arrival while packets waited in the bottleneck", asked=asked, seen=seen)
            return


def _trains(load: PageLoad, layers: Layers, rate: Rate, allowance: Allowance) -> Iterator[tuple[Arrival, Arrival]]:
    """Yields the first and the last arrival of each interval in which packets always waited in the bottleneck.

    Each interval is so long that one late arrival changes the interval's rate by less than the tolerance.
    """
    arrivals = [each for each in layers.arrivals if load.started_ns <= each.t_ns <= load.finished_ns]
    times_ns = [line.t_ns for line in layers.queue]
    first: Arrival | None = None
    for before, arrival in pairwise(arrivals):
        begin, end = bisect_right(times_ns, before.t_ns), bisect_right(times_ns, arrival.t_ns)
        if not begin or not _is_busy(layers.queue[begin - 1 : end], arrival.t_ns, rate):
            first = None
            continue
        first = first or before
        if (
            arrival.t_ns - first.t_ns >= allowance.late_ns / allowance.rate
            and framed(arrival.tcp_bytes - first.tcp_bytes) >= _TRAIN_PACKETS * PACKET_BYTES
        ):
            yield first, arrival
            first = None


def _is_busy(lines: Sequence[QueueSample], until_ns: int, rate: Rate) -> bool:
    """True if the bottleneck held packets all the time from the first of the samples in `lines` until `until_ns`."""
    ends_ns = [*(line.t_ns for line in lines[1:]), until_ns]
    return all(
        rate.through_ns(line.t_ns, (line.packets - 1) * PACKET_BYTES) >= end_ns
        for line, end_ns in zip(lines, ends_ns, strict=True)
    )


def in_ms(time_ns: int) -> str:
    """Returns a time in nanoseconds as a text in milliseconds."""
    return f"{time_ns / _MS:.1f} ms"
