"""Tests of contradictions between the logs of a load: each false log or setting is found.

The four logs are those of the client, the origin, the front's socket and the link's queue.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from priolab.analysis.loads.contradiction import Allowance
from priolab.analysis.loads.contradictions import contradictions, outside, unexplained
from priolab.analysis.loads.metrics import page_loads
from priolab.analysis.loads.rate_check import rate_contradictions
from priolab.analysis.records.runs import Evidence, Layers, load_evidence, load_layers, load_run
from priolab.common.formats.events import Arrival, Event, Kind
from priolab.common.formats.run import LedgerRecord, OtherBytes
from priolab.common.formats.samples import OriginRequest, QueueSample, ServiceSpan
from priolab.common.formats.scenario import ScenarioRecord
from priolab.experiments.scenario.knobs import scenario_from
from tests.support.builders import maps, socket_sample

MS = 10**6
GOLDEN = Path(__file__).parents[3] / "golden" / "format-3"
ALLOWANCE = Allowance(rate=0.05, moment_ns=2 * MS, late_ns=40 * MS)
"""The tolerances for a real clock. Those for the guest are smaller, so the guest finds the same contradictions."""

_SIZE = 120 * 1024
_PAGE = 558
_PACKET_BYTES, _SEGMENT_BYTES = 1514, 1448
_BEGAN_BYTES = 2000
"""The bytes of the TCP stream before the page: the handshake."""


@dataclass(frozen=True, kw_only=True)
class World:
    """The logs of one load on the default link, and the scenario."""

    evidence: Evidence
    layers: Layers
    scenario: ScenarioRecord

    def told(self) -> list[str]:
        """Returns a line for each contradiction."""
        found = list(outside(self.evidence)) or contradictions(
            self.evidence, self.layers, self.scenario, ALLOWANCE, is_stock=True, takes_whole=True
        )
        return [f"{each.what}: {each.asked}, but {each.seen}" for each in found]


def honest(*, rate: float = 1.0, held_ms: int = 200, size: int = _SIZE) -> World:
    """Returns consistent logs: the front hands over data at once; the image comes first, then the script.

    rate: the link's rate as a multiple of the scenario's. held_ms: the time for which the origin holds the script back.
    size: the bytes of the image, and of the script.
    """
    scenario = scenario_from({"SIZE": str(_SIZE), "LOWAT": "16384", "RELOADS": "0"})
    delay_ns = scenario.delay_ns
    assert scenario.rate_bit_s is not None
    packet_ns = round(_PACKET_BYTES * 8 * 10**9 / scenario.rate_bit_s / rate)
    asked_ns = 1000 * MS
    page_ns = asked_ns + MS
    received_ns = page_ns + delay_ns + packet_ns + MS
    available_ns = received_ns + held_ms * MS
    page_end = _BEGAN_BYTES + _PAGE
    handed = [(asked_ns, page_end), (received_ns, page_end + size), (available_ns, page_end + 2 * size)]
    arrivals = [Arrival(t_ns=asked_ns - MS, tcp_bytes=_BEGAN_BYTES)]
    free_ns = 0
    for handed_ns, until in handed:
        while arrivals[-1].tcp_bytes < until:
            free_ns = max(free_ns, handed_ns + delay_ns) + packet_ns
            arrivals.append(Arrival(t_ns=free_ns, tcp_bytes=min(until, arrivals[-1].tcp_bytes + _SEGMENT_BYTES)))

    def event(t_ns: int, kind: str, resource: str | None = None, size_bytes: int | None = None) -> Event:
        return Event(t_ns=t_ns, kind=Kind(kind), load=1, resource=resource, size_bytes=size_bytes)

    pieces = []
    for before, arrival in pairwise(arrivals[1:]):
        name = "image" if before.tcp_bytes < page_end + size else "script"
        pieces.append(event(arrival.t_ns, "data", name, arrival.tcp_bytes - before.tcp_bytes))
    events = [event(asked_ns, "load-started"), event(asked_ns, "request-sent", "page")]
    events += [event(arrivals[1].t_ns, "data", "page", _PAGE)]
    events += [event(arrivals[1].t_ns, "request-sent", name) for name in ("image", "script")]
    events.insert(2, event(arrivals[1].t_ns, "headers", "page"))
    events += [event(pieces[0].t_ns, "headers", "image"), *pieces, event(pieces[-1].t_ns, "load-finished")]
    events.append(event(pieces[-1].t_ns, "headers", "script"))
    requests = (
        OriginRequest(path="/ready", received_ns=5 * MS, available_ns=5 * MS, handed_over_ns=5 * MS),
        OriginRequest(path="/", received_ns=asked_ns + MS, available_ns=page_ns, handed_over_ns=page_ns + MS),
        OriginRequest(path="/image.jpg", received_ns=received_ns, available_ns=received_ns, handed_over_ns=None),
        OriginRequest(path="/script.js", received_ns=received_ns, available_ns=available_ns),
    )
    return World(
        evidence=Evidence(events=tuple(events), requests=requests, page=maps(_SIZE)),
        layers=_looks(arrivals, handed, delay_ns),
        scenario=scenario,
    )


def _looks(arrivals: list[Arrival], handed: list[tuple[int, int]], delay_ns: int) -> Layers:
    """Returns samples of the front's socket and of the link's queue, every 10 ms."""
    sockets, queue = [], []
    for t_ns in range(990 * MS, arrivals[-1].t_ns, 10 * MS):
        sent = max((until for handed_ns, until in handed if handed_ns <= t_ns), default=_BEGAN_BYTES)
        crossed = max((until for handed_ns, until in handed if handed_ns + delay_ns <= t_ns), default=_BEGAN_BYTES)
        came = max(arrival.tcp_bytes for arrival in arrivals if arrival.t_ns <= max(t_ns, arrivals[0].t_ns))
        sockets.append(
            socket_sample(
                t_ns=t_ns,
                notsent_bytes=0,
                unacked_segments=-(-(sent - came) // _SEGMENT_BYTES),
                cwnd_segments=10,
                mss_bytes=_SEGMENT_BYTES,
                rtt_us=300_000,
                delivery_rate_bytes_s=0,
                bytes_sent=sent,
                bytes_retrans=0,
                bytes_acked=came,
                sndbuf_bytes=0,
            )
        )
        waiting, coming = -(-(crossed - came) // _SEGMENT_BYTES), -(-(sent - crossed) // _SEGMENT_BYTES)
        queue.append(
            QueueSample(
                t_ns=t_ns,
                direction="down",
                packets=waiting,
                bytes=crossed - came + 66 * waiting,
                delay_line_packets=coming,
                delay_line_bytes=sent - crossed + 66 * coming,
                dropped=0,
            )
        )
    return Layers(sockets=tuple(sockets), queue=tuple(queue), arrivals=tuple(arrivals))


Clock = Callable[[int], int]


def _client(world: World, clock: Clock) -> World:
    """Returns the world with the times in the client's logs changed by `clock`."""
    events = [replace(event, t_ns=clock(event.t_ns)) for event in world.evidence.events]
    arrivals = [replace(arrival, t_ns=clock(arrival.t_ns)) for arrival in world.layers.arrivals]
    return replace(
        world,
        evidence=replace(world.evidence, events=tuple(events)),
        layers=replace(world.layers, arrivals=tuple(arrivals)),
    )


def _origin(world: World, clock: Clock) -> World:
    requests = [
        replace(
            request,
            received_ns=clock(request.received_ns),
            available_ns=clock(request.available_ns or 0),
            handed_over_ns=clock(request.handed_over_ns) if request.handed_over_ns else None,
        )
        for request in world.evidence.requests
    ]
    return replace(world, evidence=replace(world.evidence, requests=tuple(requests)))


def _sampler(world: World, clock: Clock) -> World:
    sockets = [replace(sample, t_ns=clock(sample.t_ns)) for sample in world.layers.sockets]
    return replace(world, layers=replace(world.layers, sockets=tuple(sockets)))


def _link(world: World, clock: Clock) -> World:
    queue = [replace(line, t_ns=clock(line.t_ns)) for line in world.layers.queue]
    return replace(world, layers=replace(world.layers, queue=tuple(queue)))


def test_a_world_without_lies() -> None:
    """Consistent logs have no contradiction, neither those made by hand nor recorded logs."""
    assert honest().told() == []
    for name in ("control.1", "lowat-16384.1"):
        run = load_run(GOLDEN / name)
        found = contradictions(load_evidence(run.path), load_layers(run.path), run.scenario, ALLOWANCE)
        assert list(found) == []


@pytest.mark.parametrize("of", [_client, _origin, _sampler, _link])
@pytest.mark.parametrize("off_ms", [-300, 300])
def test_a_clock_that_is_off(of: Callable[[World, Clock], World], off_ms: int) -> None:
    """A clock that is 300 ms slow or fast is found, in each of the four logs."""
    assert of(honest(), lambda t_ns: t_ns + off_ms * MS).told()


@pytest.mark.parametrize("of", [_client, _origin, _sampler, _link])
@pytest.mark.parametrize("speed", [0.5, 2.0])
def test_a_clock_that_goes_at_another_speed(of: Callable[[World, Clock], World], speed: float) -> None:
    """A clock that runs at half or double speed from the start of the load is found, in each of the four logs."""
    assert of(honest(), lambda t_ns: round(1000 * MS + (t_ns - 1000 * MS) * speed)).told()


@pytest.mark.parametrize("of", [_client, _origin, _sampler, _link])
def test_a_clock_that_steps_back(of: Callable[[World, Clock], World]) -> None:
    """A clock that steps back by 100 ms in the middle of the load is found, in each of the four logs."""
    told = of(honest(), lambda t_ns: t_ns if t_ns < 1400 * MS else t_ns - 100 * MS).told()
    assert told


def test_a_program_that_takes_the_processor() -> None:
    """In the guest no sample is missing, unless a program held up all others. On a real clock a busy machine may."""
    world, what = honest(), "time between two samples of the front's socket"
    fewer = tuple(each for each in world.layers.sockets if not 1400 * MS <= each.t_ns < 1900 * MS)
    found = {
        (is_exact, len(sockets)): any(
            each.what == what
            for each in contradictions(
                world.evidence,
                replace(world.layers, sockets=sockets),
                world.scenario,
                replace(ALLOWANCE, is_exact=is_exact),
            )
        )
        for is_exact in (False, True)
        for sockets in (world.layers.sockets, fewer)
    }
    assert [key for key, is_found in found.items() if is_found] == [(True, len(fewer))]


@pytest.mark.parametrize(("rate", "off"), [(0.5, "-50%"), (0.9, "-10%"), (1.1, r"\+10%"), (2.0, r"\+100%")])
def test_another_rate(rate: float, off: str) -> None:
    """A link that is faster or slower than the scenario's rate by 10 % or more is found."""
    line, *_ = honest(rate=rate).told()
    assert line.startswith("rate of arrival while packets waited in the bottleneck: the link's rate, within 5%, but ")
    assert line.endswith(off.replace("\\", ""))


@pytest.mark.parametrize(("headers_bytes", "found"), [(66, False), (150, True)])
def test_small_packets(headers_bytes: int, *, found: bool) -> None:
    """Small packets have more headers, so less data arrives at the link's rate: that is no contradiction.

    It is one if packets take longer than their headers explain.
    """
    world, payload_bytes = honest(), 700
    packet_ns = (payload_bytes + headers_bytes) * 8 * 10**9 // (world.scenario.rate_bit_s or 1)
    (load,) = page_loads(world.evidence)
    arrivals = tuple(
        Arrival(t_ns=load.started_ns + number * packet_ns, tcp_bytes=number * payload_bytes) for number in range(1, 200)
    )
    busy = replace(world.layers.queue[0], t_ns=load.started_ns, packets=1000)
    layers = replace(world.layers, arrivals=arrivals, queue=(busy,))
    told = list(rate_contradictions(load, layers, world.scenario, ALLOWANCE))
    assert bool(told) is found


def test_another_origin() -> None:
    """An origin is found that sends too few bytes, holds the script back for a wrong time, or serves it twice."""
    less = honest(size=60_000).told()
    assert less[0] == "payload of the image in load 1: 122880 bytes, but 60000 bytes"
    assert honest(held_ms=0).told() == ["how long the origin held the script in load 1 back: 200.0 ms, but 0.0 ms"]
    assert honest(held_ms=500).told() == ["how long the origin held the script in load 1 back: 200.0 ms, but 500.0 ms"]
    world = honest()
    twice = replace(world.evidence, requests=(world.evidence.requests[-1], *world.evidence.requests))
    assert replace(world, evidence=twice).told() == ["requests for the script at the origin: 1, but 2"]


def test_a_front_that_drops_the_query() -> None:
    """In a disturbed probe some requests have a query. If none has one at the origin, that is the only thing to say."""
    world = honest()
    requests = [replace(each, path=f"{each.path}?decoy") for each in world.evidence.requests[-1:]]
    scenario = replace(world.scenario, disturb="reset")
    what = "requests with a query at the origin, for whose path and query the front must ask"
    dropped = [*world.evidence.requests, world.evidence.requests[-1]]
    for more, told in ((dropped, [f"{what}: at least 1, but 0"]), ([*world.evidence.requests, *requests], [])):
        assert replace(world, scenario=scenario, evidence=replace(world.evidence, requests=tuple(more))).told() == told


def test_an_origin_that_stalls() -> None:
    """An origin is found that has handed over a small response later than the page says."""
    world = honest()
    requests = [
        replace(request, handed_over_ns=(request.available_ns or 0) + 500 * MS) if request.path == "/" else request
        for request in world.evidence.requests
    ]
    stalled = replace(world, evidence=replace(world.evidence, requests=tuple(requests)))
    assert stalled.told() == ["time until the origin had handed over the page in load 1: 0.0 ms, but 500.0 ms"]
    from_ns = stalled.evidence.requests[1].received_ns
    at_work = ServiceSpan(t_ns=from_ns, until_ns=from_ns + 500 * MS)
    assert replace(stalled, layers=replace(stalled.layers, service=(at_work,))).told() == []


@pytest.mark.parametrize(
    ("parts_ms", "off_ms", "seen"),
    [
        ({"unsent": 900.0, "unexplained": 100.0}, 0.0, []),
        ({"unsent": 400.0, "unexplained": 600.0}, 0.0, ["60%, 600.0 ms"]),
        ({"unsent": 400.0, "unexplained": 600.0}, 300.0, ["30%, 300.0 ms"]),
        ({"unsent": 400.0, "unexplained": 600.0}, 550.0, []),
        ({"unsent": 1400.0, "unexplained": -400.0}, 0.0, ["40%, 400.0 ms"]),
        ({"unsent": 0.01, "unexplained": 0.02}, 0.0, []),
    ],
)
def test_a_wait_that_nothing_explains(parts_ms: dict[str, float], off_ms: float, seen: list[str]) -> None:
    """A tenth of a wait may be unexplained, or less time than a busy machine may take, beside what is uncertain."""
    nothing = OtherBytes(pending=0, committed=0, unsent=0, queue=0, propagation=0, recovery=0, received=0)
    ledger = LedgerRecord(
        focal="script",
        wait_ms=sum(parts_ms.values()),
        parts_ms=parts_ms,
        parts_uncertainty_ms={"unexplained": off_ms},
        largest="unsent",
        explained=0.5,
        other_bytes_at_available=nothing,
    )
    assert [each.seen for each in unexplained(ledger, ALLOWANCE)] == seen
    assert list(unexplained(None, ALLOWANCE)) == []


def test_more_unsent_than_lowat_allows() -> None:
    """LOWAT, one packet buffer and one TLS record may be unsent; a larger number is a contradiction."""
    world = honest()
    for unsent, lines in ((16384 + 81920, 0), (1_400_000, 1)):
        sockets = tuple(replace(sample, notsent_bytes=unsent) for sample in world.layers.sockets)
        told = replace(world, layers=replace(world.layers, sockets=sockets)).told()
        assert len(told) == lines
    assert told == ["bytes unsent in the front's kernel: at most 98304 bytes with LOWAT=16384, but 1400000 bytes"]


@pytest.mark.parametrize(("late_ms", "lines"), [(190, 0), (210, 1)])
def test_an_origin_that_stalls_in_the_middle_of_a_response(late_ms: int, lines: int) -> None:
    """The origin has the script in time, and hands its last byte over later than the page says."""
    world = honest()
    *others, script = world.evidence.requests
    assert script.available_ns is not None
    stalled = replace(script, handed_over_ns=script.available_ns + late_ms * MS)
    told = replace(world, evidence=replace(world.evidence, requests=(*others, stalled))).told()
    assert len(told) == lines
    if told:
        assert (
            told[0] == f"time until the origin had handed over the script in load 1: 200.0 ms, but {200 + late_ms}.0 ms"
        )


@pytest.mark.parametrize(
    ("what", "until_ms", "lines"),
    [("unread notsent", 1100, 1), ("unread notsent", 1500, 0), ("notsent", 1500, 1), ("unread sndbuf", 1500, 1)],
)
def test_a_server_that_reads_no_requests_while_it_waits_for_the_kernel(what: str, until_ms: int, lines: int) -> None:
    """A request may wait at the front as long as it is seen unread there, and the kernel takes no bytes."""
    world = honest()
    document, late_ns = world.evidence.requests[1], 400 * MS
    changed: dict[str, Any] = {f"{each}_bytes": 9000 for each in what.split()}
    late = replace(
        document, received_ns=document.received_ns + late_ns, available_ns=(document.available_ns or 0) + late_ns
    )
    requests = (world.evidence.requests[0], late, *world.evidence.requests[2:])
    sockets = tuple(
        replace(sample, **changed) if 1000 * MS <= sample.t_ns < until_ms * MS else sample
        for sample in world.layers.sockets
    )
    world = replace(
        world,
        evidence=replace(world.evidence, requests=requests),
        layers=replace(world.layers, sockets=sockets),
    )
    said = "time from the client's request for the page in load 1 to its arrival at the origin"
    assert len([line for line in world.told() if line.startswith(said)]) == lines
    sent_ns = document.received_ns
    at_work = ServiceSpan(t_ns=sent_ns, until_ns=sent_ns + late_ns)
    world = replace(world, layers=replace(world.layers, service=(at_work,)))
    assert not [line for line in world.told() if line.startswith(what)]


def test_an_origin_whose_times_run_backwards() -> None:
    """A response that was available before its request arrived is a contradiction."""
    world = honest()
    *others, script = world.evidence.requests
    early = replace(script, received_ns=(script.available_ns or 0) + MS)
    told = replace(world, evidence=replace(world.evidence, requests=(*others, early))).told()
    assert told[0] == "times of the origin for /script.js: no step backwards, but a step of -1.000 ms"
