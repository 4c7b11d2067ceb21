"""Tests of the ledger's part before the front (VIA), and of the contradictions that its captures show."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from priolab.analysis.loads.contradiction import Allowance
from priolab.analysis.loads.hop_checks import hop_contradictions
from priolab.analysis.loads.layer import Layer
from priolab.analysis.loads.lower_bound import bound
from priolab.analysis.loads.upstream_proxy import hop_of
from priolab.analysis.records.rate import Rate
from priolab.analysis.records.runs import Evidence, Layers
from priolab.common.formats.samples import ConnectionSample, OriginRequest
from priolab.common.formats.scenario import ViaRecord
from priolab.common.formats.upstream_timing import Passage
from priolab.experiments.scenario.knobs import scenario_from
from tests.support.builders import MS, evidence, load_events, maps, page_load, script_request, socket_sample

_VIA = ViaRecord(server="nginx", lowat=16384, http="1.1", rate_bit_s=None, delay_ns=10 * MS, queue_packets=25)
_ALLOWANCE = Allowance(rate=0.05, moment_ns=2 * MS, late_ns=4 * MS)
_IMAGE, _SCRIPT = [(60, 716_800)], [(900, 716_800)]


def _passage(path: str, port: int, requested: float, sent: float, arrived: float) -> Passage:
    times = {"requested_ns": requested, "sent_ns": sent, "arrived_ns": arrived}
    return Passage(
        path=path, port=port, position_bytes=1000, **{name: round(value * MS) for name, value in times.items()}
    )


def _sample(t_ms: int, port: int, handed: int, unsent: int = 0) -> ConnectionSample:
    sample = socket_sample(t_ns=t_ms * MS, bytes_sent=handed - unsent, notsent_bytes=unsent)
    return ConnectionSample(**vars(sample), peer_port=port)


def _layers(*passages: Passage, samples: tuple[ConnectionSample, ...] = ()) -> Layers:
    return Layers(sockets=(), queue=(), arrivals=(), passages=passages, connections=samples)


def test_the_parts_add_up() -> None:
    """The byte waits in the second front, in its kernel, in the queue and on the link, in this order."""
    load = page_load(_IMAGE, _SCRIPT, available_ms=200)
    samples = (_sample(280, 7, 900), _sample(300, 7, 5000, 4000), _sample(310, 9, 9000))
    hop = hop_of(load, _layers(_passage("/script.js", 7, 60, 400, 450), samples=samples), _VIA)
    assert hop is not None
    assert hop.arrived_ns == 450 * MS
    assert {layer: wait.ns for layer, wait in hop.parts.items()} == {
        Layer.SECOND: 90 * MS,
        Layer.SECOND_UNSENT: 110 * MS,
        Layer.BETWEEN_QUEUE: 40 * MS,
        Layer.BETWEEN: 10 * MS,
    }


def test_a_limited_rate_between_the_fronts() -> None:
    """The transmission of the byte's own packet is propagation, not queue."""
    load = page_load(_IMAGE, _SCRIPT, available_ms=200)
    slow = replace(_VIA, rate_bit_s=1_211_200)  # 1514 bytes in 10 ms
    hop = hop_of(load, _layers(_passage("/script.js", 7, 60, 200, 225)), slow)
    assert hop is not None
    assert (hop.parts[Layer.BETWEEN].ns, hop.parts[Layer.BETWEEN_QUEUE].ns) == (20 * MS, 5 * MS)
    assert hop.parts[Layer.SECOND].ns + hop.parts[Layer.SECOND_UNSENT].ns == 0


@pytest.mark.parametrize(("crossed_ms", "between_ms", "early_ms"), [(15, 15, 0), (10, 10, 0), (4, 10, -6)])
def test_no_packet_is_sooner_than_the_delay(crossed_ms: int, between_ms: int, early_ms: int) -> None:
    """A short packet needs less than a full one, but never less than the delay; what is sooner is not explained."""
    load = page_load(_IMAGE, _SCRIPT, available_ms=200)
    slow = replace(_VIA, rate_bit_s=1_211_200)
    hop = hop_of(load, _layers(_passage("/script.js", 7, 60, 200, 200 + crossed_ms)), slow)
    assert hop is not None
    assert (hop.parts[Layer.BETWEEN].ns, hop.unexplained_ns) == (between_ms * MS, early_ms * MS)
    assert sum(wait.ns for wait in hop.parts.values()) + hop.unexplained_ns == crossed_ms * MS


def test_a_passage_of_another_load_is_not_taken() -> None:
    """Only a request during the load counts; without one there is no hop."""
    load = page_load(_IMAGE, _SCRIPT)
    assert hop_of(load, _layers(_passage("/script.js", 7, 5000, 5100, 5110)), _VIA) is None
    assert hop_of(load, _layers(_passage("/image.jpg", 7, 60, 70, 80)), _VIA) is None


def test_the_soonest_first_byte_knows_the_second_hop() -> None:
    """With VIA_DELAY=10ms the bound is later by two round trips of 20 ms: that of the page and that of the script."""
    page = maps()
    bounds = []
    for knobs in ({}, {"VIA": "nginx"}):
        scenario = scenario_from(knobs)
        bounds.append(bound(page, page["script"], scenario, Rate.of(scenario)).first_byte_ns)
    assert bounds[1] - bounds[0] == 40 * MS


def _logs() -> tuple[Evidence, list[Passage]]:
    """Returns the logs of a load without contradictions, and its passages."""
    logs = evidence([load_events(1, 0, _IMAGE, _SCRIPT)], [script_request(70, 270)])
    found = []
    for port, request in enumerate(logs.requests, 7):
        assert request.available_ns is not None
        received_ms, available_ms = request.received_ns / MS, request.available_ns / MS
        found.append(_passage(request.path, port, received_ms - 10, available_ms, available_ms + 10))
    return logs, found


def _told(logs: Evidence, passages: list[Passage], samples: tuple[ConnectionSample, ...] = ()) -> list[str]:
    layers = _layers(*passages, samples=samples)
    return [f"{each.what}: {each.asked}, {each.seen}" for each in hop_contradictions(logs, layers, _VIA, 1, _ALLOWANCE)]


def test_true_logs_have_no_contradiction() -> None:
    """A load whose captures fit the origin's log."""
    assert _told(*_logs(), samples=(_sample(100, 7, 90_000, 16_000),)) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda each: replace(each, requested_ns=each.requested_ns + 9 * MS), "request for the script in load 1"),
        (lambda each: replace(each, requested_ns=each.requested_ns - 90 * MS), "request for the script in load 1"),
        (lambda each: replace(each, arrived_ns=each.sent_ns + 5 * MS), "script in load 1 on the link between"),
        (lambda each: replace(each, sent_ns=each.sent_ns - 90 * MS), "until the second front sent it"),
        (lambda each: replace(each, path="/other"), "responses with the script that were captured"),
    ],
)
def test_a_false_capture_is_found(change: Callable[[Passage], Passage], expected: str) -> None:
    """A time that no delay explains, or a response that is missing, is named."""
    logs, passages = _logs()
    told = _told(logs, [change(each) if each.path == "/script.js" else each for each in passages])
    assert any(expected in line for line in told), told


def test_too_many_unsent_bytes_at_the_second_front() -> None:
    """VIA_LOWAT bounds the unsent bytes of the second front."""
    (told,) = _told(*_logs(), samples=(_sample(100, 7, 900_000, 200_000),))
    assert told.startswith("bytes unsent in the second front's kernel: at most ")
    assert told.endswith("200000 bytes")


def test_a_request_of_the_lab_itself_is_no_load() -> None:
    """The request that tests the fronts comes before the loads, and has no passage of a load."""
    logs, passages = _logs()
    ready = OriginRequest(path="/", received_ns=-50 * MS, available_ns=-50 * MS)
    assert _told(replace(logs, requests=(ready, *logs.requests)), passages) == []
