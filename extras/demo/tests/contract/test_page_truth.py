"""The demo's JavaScript reads a film as Python reads the run folder from which the film was made; Node runs it."""

import json
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from priolab.analysis.loads.byte_positions import whereabouts
from priolab.analysis.loads.metrics import PageLoad, measured_load
from priolab.analysis.loads.stream import Payload
from priolab.analysis.records.runs import Run, load_experiment
from priolab.analysis.reports.film import Film, film_of
from priolab.common.formats.samples import SocketSample
from priolab.common.home import ROOT
from priolab.common.process.search_path import find
from priolab.extras.demo.server import PAGE
from tests.support.visits import expected

_GOLDEN = ROOT / "tests" / "golden" / "format-3"
_READER = Path(__file__).with_name("page_truth.mjs")
_STEP = 37
NUMBERS = [None, 0, 0.04, 0.05, 0.25, 1.05, 9.94, 9.95, 9.999, 10, 10.5, 99.5, 805.6, 999.4, 999.5, 1000, 1004.9, 1005]
NUMBERS += [1015, 2345.678, 6694.2, 12425, 511, 512, 513, 1023, 1536, 131072, 716800, 716800 * 1024, 1e9]


def _asked_of_page(film: Film, positions: list[int], instants: list[float]) -> dict[str, Any]:
    node = find("node")
    assert node
    asked = {"film": film.as_document(), "positions": positions, "instants": instants, "numbers": NUMBERS}
    done = subprocess.run(
        [node, str(_READER), str(PAGE)], input=json.dumps(asked), capture_output=True, text=True, timeout=60, check=True
    )
    answers: dict[str, Any] = json.loads(done.stdout)
    return answers


@pytest.fixture(scope="module")
def run() -> Run:
    """Return a recorded run."""
    return load_experiment(_GOLDEN).runs[-1]


@pytest.fixture(scope="module")
def film(run: Run) -> Film:
    """Return the run's film."""
    return film_of(run)


@pytest.fixture(scope="module")
def positions(film: Film) -> list[int]:
    """Return positions throughout the TCP stream, and the positions at and beside the end of each TLS record."""
    ends = [end + beside for end in film.tape.end for beside in (-1, 0, 1)]
    return sorted({*range(0, film.tape.end[-1] + 2000, _STEP), *ends})


def _instant(look: SocketSample, load: PageLoad) -> float:
    """Return the sample's time in the load in milliseconds, rounded down to a microsecond as in films."""
    return (look.t_ns - load.started_ns) // 1000 * 1000 / 10**6


@pytest.fixture(scope="module")
def instants(run: Run, film: Film) -> list[float]:
    """Return the time of each sample, and the middle between consecutive samples."""
    layers, load = run.layers(), measured_load(run.evidence())
    assert layers
    times = [_instant(each, load) for each in layers.sockets if load.started_ns <= each.t_ns <= load.finished_ns]
    return sorted({*times, *((one + other) / 2 for one, other in pairwise(times)), 0.0, film.duration_ms})


@pytest.fixture(scope="module")
def answers(film: Film, positions: list[int], instants: list[float]) -> dict[str, Any]:
    """Return what the page's JavaScript computes for the positions and instants."""
    return _asked_of_page(film, positions, instants)


def _base(run: Run) -> int:
    layers = run.layers()
    assert layers
    started_ns = measured_load(run.evidence()).started_ns
    return max((each.tcp_bytes for each in layers.arrivals if each.t_ns < started_ns), default=0)


def test_payload_before_a_position(run: Run, film: Film, positions: list[int], answers: dict[str, Any]) -> None:
    """The page and analysis/loads/stream.py count the same payload bytes before every position."""
    evidence, base = run.evidence(), _base(run)
    for name, seen in zip(("image", "script"), answers["before"], strict=True):
        payload = Payload(evidence.events, film.load, name)
        assert seen == [payload.before(position + base) for position in positions]
        assert seen[-1] == payload.size_bytes > 0


def test_segments_lose_nothing(positions: list[int], answers: dict[str, Any]) -> None:
    """The segments up to a position contain all payload bytes, and neighbours belong to different streams."""
    for number, segments in enumerate(answers["segments"]):
        for column, name in enumerate(("others", "important")):
            before = answers["before"][column]
            together = sum(each["bytes"] for each in segments if each["stream"] == name)
            assert together == before[number] - before[0], positions[number]
        assert all(one["stream"] != other["stream"] for one, other in pairwise(segments))


def test_places_at_every_look(run: Run, film: Film, instants: list[float], answers: dict[str, Any]) -> None:
    """At each sample the page computes how far the TCP stream has come as analysis/loads/byte_positions.py does.

    At every instant `arrived` is the smallest position and `handed` the largest, and `arrived` never decreases.
    """
    layers, base = run.layers(), _base(run)
    assert layers
    load = measured_load(run.evidence())
    looks = [each for each in layers.sockets if load.started_ns <= each.t_ns <= load.finished_ns]
    at = dict(zip(instants, answers["at"], strict=True))
    for look in looks:
        t_ms = _instant(look, load)
        seen = whereabouts(look, layers)
        assert at[t_ms] == {
            "handed": seen.handed_bytes - base,
            "sent": seen.sent_bytes - base,
            "nearFrom": seen.near_from_bytes - base,
            "farFrom": seen.far_from_bytes - base,
            # Before the client's first arrival Python uses the acknowledged bytes; they contain no payload.
            "arrived": seen.arrived_bytes - base if t_ms >= film.arrivals.t_ms[0] else 0,
        }
    for one, other in pairwise(answers["at"]):
        assert one["arrived"] <= one["farFrom"] <= one["nearFrom"] <= one["sent"] <= one["handed"]
        assert one["arrived"] <= other["arrived"]
    script = next(each for each in film.resources if each.stream == "important")
    assert answers["availableMs"] == script.available_ms


def test_numbers_are_written_as_expected(answers: dict[str, Any]) -> None:
    """The page formats numbers as `expected` does, with which tests compare page and command line."""
    assert answers["seconds"] == [expected({"x_ms": number}, "x_ms") for number in NUMBERS]
    assert answers["kib"] == [expected({"x": number}, "x") for number in NUMBERS]
