"""Tests of the positions of bytes at a sample, and of the film of a recorded load."""

from bisect import bisect_right
from dataclasses import replace
from itertools import accumulate, pairwise
from pathlib import Path

import pytest

from priolab.analysis.loads.byte_positions import whereabouts
from priolab.analysis.loads.metrics import measured_load
from priolab.analysis.loads.stream import Payload
from priolab.analysis.records.runs import Evidence, Layers, Run, load_experiment
from priolab.analysis.reports.film import Film, Limits, NoFilm, film, film_of
from priolab.common.formats.events import Arrival
from priolab.common.formats.samples import QueueSample
from priolab.common.packets import unframed
from tests.support.builders import process_sample, socket_sample

_GOLDEN = Path(__file__).parents[3] / "golden"
_MS = 10**6
_MSS = 1448

LOOK = socket_sample(
    t_ns=100,
    notsent_bytes=30_000,
    unacked_segments=20,
    cwnd_segments=30,
    mss_bytes=_MSS,
    rtt_us=300_000,
    delivery_rate_bytes_s=128_000,
    bytes_sent=52_000,
    bytes_retrans=2_000,
    bytes_acked=10_000,
    sndbuf_bytes=4 * 2**20,
)


def _link(queue: int, line: int) -> QueueSample:
    return QueueSample(
        t_ns=50, direction="to-client", packets=1, bytes=queue, delay_line_packets=1, dropped=0, delay_line_bytes=line
    )


def _layers(*, queue: int = 4542, line: int = 7570, arrived: int = 20_000) -> Layers:
    return Layers(sockets=(LOOK,), queue=(_link(queue, line),), arrivals=(Arrival(t_ns=100, tcp_bytes=arrived),))


def test_positions_follow_each_other() -> None:
    """Retransmitted bytes count once, and frame headers do not count. The delay line is nearer to the front."""
    line, queue = 7570, 4542
    seen = whereabouts(LOOK, _layers())
    assert (seen.handed_bytes, seen.sent_bytes, seen.arrived_bytes) == (80_000, 50_000, 20_000)
    assert seen.near_from_bytes == 50_000 - round(unframed(line, _MSS))
    assert seen.far_from_bytes == 50_000 - round(unframed(line, _MSS)) - round(unframed(queue, _MSS))
    assert line > unframed(line, _MSS) > 0.9 * line


def test_what_has_arrived_is_not_on_the_link() -> None:
    """Bytes that have arrived are not on the link, and no more bytes have arrived than were sent.

    The samples of the link and the client's arrivals are not of one instant.
    """
    seen = whereabouts(LOOK, _layers(arrived=49_000))
    assert (seen.far_from_bytes, seen.near_from_bytes) == (49_000, 49_000)
    assert whereabouts(LOOK, _layers(arrived=60_000)).arrived_bytes == 50_000


def test_a_link_that_nobody_looked_at_holds_nothing() -> None:
    """Without samples of the queue the link holds no bytes; without arrivals, acknowledged bytes have arrived."""
    seen = whereabouts(LOOK, Layers(sockets=(LOOK,), queue=(), arrivals=()))
    assert (seen.arrived_bytes, seen.far_from_bytes, seen.near_from_bytes) == (10_000, 50_000, 50_000)


@pytest.fixture(scope="module", params=["control", "lowat-16384"])
def run(request: pytest.FixtureRequest) -> Run:
    """Returns the recorded run of an arm."""
    return next(run for run in load_experiment(_GOLDEN / "format-3").runs if run.arm == request.param)


@pytest.fixture(scope="module")
def made(run: Run) -> Film:
    """Returns the film of the run."""
    return film_of(run)


def _recorded(run: Run) -> tuple[Evidence, Layers]:
    layers = run.layers()
    assert layers
    return run.evidence(), layers


def test_times_are_those_of_the_run(run: Run, made: Film) -> None:
    """The film has the times of run.json, in milliseconds since the page's request, to the microsecond."""
    written = run.record.measured
    assert made.load == written.load
    for stream, name in (("others", "image"), ("important", "script")):
        (asked,) = (each for each in made.resources if each.stream == stream)
        assert asked.name == name
        assert asked.first_byte_ms == pytest.approx(written.resources[name].first_byte_ms, abs=0.0011)
        assert asked.last_byte_ms == pytest.approx(written.resources[name].last_byte_ms, abs=0.0011)
        assert asked.last_byte_ms <= made.duration_ms
        if name == "script":
            assert asked.available_ms == pytest.approx(written.available_ms, abs=0.0011)
            assert asked.received_ms
            assert asked.available_ms
            assert asked.sent_ms <= asked.received_ms <= asked.available_ms
    assert [each.stream for each in made.resources] == ["others", "important"]


def test_it_says_what_each_look_found(run: Run, made: Film) -> None:
    """The film has the positions of `whereabouts` at each sample that differs from the previous sample.

    Positions count from the bytes that had arrived when the load began.
    """
    evidence, layers = _recorded(run)
    load = measured_load(evidence)
    looks = [each for each in layers.sockets if load.started_ns <= each.t_ns <= load.finished_ns]
    assert len(looks) > len(made.looks.t_ms) > 20
    base = max((each.tcp_bytes for each in layers.arrivals if each.t_ns < load.started_ns), default=0)
    columns = (made.looks.handed, made.looks.sent, made.looks.near_from, made.looks.far_from)
    assert all(one != other for one, other in pairwise(zip(*columns, strict=True)))
    for look in looks:
        seen = whereabouts(look, layers)
        number = bisect_right(made.looks.t_ms, (look.t_ns - load.started_ns) / _MS) - 1
        assert made.looks.handed[number] == seen.handed_bytes - base
        assert made.looks.sent[number] == seen.sent_bytes - base
        assert made.looks.near_from[number] == seen.near_from_bytes - base
        assert made.looks.far_from[number] == seen.far_from_bytes - base


def test_the_tape_has_all_payload(run: Run, made: Film) -> None:
    """The film has all payload in stream order. Up to each TLS record's end it has the bytes that `Payload` counts."""
    evidence, layers = _recorded(run)
    load = measured_load(evidence)
    base = max((each.tcp_bytes for each in layers.arrivals if each.t_ns < load.started_ns), default=0)
    assert list(made.tape.end) == sorted(set(made.tape.end))
    for name, sizes in (("image", made.tape.others), ("script", made.tape.important)):
        (asked,) = (each for each in made.resources if each.name == name)
        assert sum(sizes) == asked.size_bytes > 0
        payload = Payload(evidence.events, load.number, name)
        so_far = 0
        for end, size in zip(made.tape.end, sizes, strict=True):
            so_far += size
            assert payload.before(end + base) == so_far
    assert made.arrivals.end[-1] >= made.tape.end[-1]


def test_each_resource_is_delivered(run: Run, made: Film) -> None:
    """Each resource has a delivery, which ends with all its bytes; its bytes are those of its group on the tape."""
    assert [each.name for each in made.deliveries] == ["page", "image", "script"]
    assert [each.stream for each in made.deliveries] == ["documents", "others", "important"]
    for each in made.deliveries:
        written = run.record.measured.resources[each.name]
        assert each.total[-1] == each.size_bytes == written.size_bytes
        assert each.first_byte_ms == pytest.approx(written.first_byte_ms, abs=0.0011)
        assert each.last_byte_ms == pytest.approx(written.last_byte_ms, abs=0.0011)
        assert list(each.end) == sorted(set(each.end))
        assert list(each.total) == sorted(set(each.total))
    for name, sizes in (("image", made.tape.others), ("script", made.tape.important)):
        (each,) = (each for each in made.deliveries if each.name == name)
        on_tape = dict(zip(made.tape.end, accumulate(sizes), strict=True))
        assert [on_tape[end] for end in each.end] == list(each.total)


def test_the_sockets_own_limit(run: Run) -> None:
    """The film has each change of the socket's LOWAT; a limit from before the load applies from its first instant."""
    evidence, layers = _recorded(run)
    load = measured_load(evidence)
    at_ns = [load.started_ns + t_ms * _MS for t_ms in (-20, -10, 5, 6, 7, 10**9)]
    limits = (0, 1000, 1000, 3000, 2000, 5000)
    samples = [replace(process_sample(t_ns, 1), lowat_bytes=limit) for t_ns, limit in zip(at_ns, limits, strict=True)]
    found = film(evidence, layers, samples).limits
    assert found == Limits(t_ms=(0, 6, 7), bytes=(1000, 3000, 2000))
    assert film(evidence, layers, []).limits == Limits()


def test_what_is_missing_is_told(run: Run) -> None:
    """NoFilm says what is missing: samples, arrivals, or positions in the TCP stream."""
    evidence, layers = _recorded(run)
    with pytest.raises(NoFilm, match="sampled 0 times"):
        film(evidence, replace(layers, sockets=()), [])
    with pytest.raises(NoFilm, match="recorded no arrivals"):
        film(evidence, replace(layers, arrivals=()), [])
    nowhere = replace(evidence, events=tuple(replace(event, tcp_bytes=None) for event in evidence.events))
    with pytest.raises(NoFilm, match="positions of its data in the TCP stream"):
        film(nowhere, layers, [])
