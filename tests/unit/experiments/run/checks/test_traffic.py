"""Tests that the link carried the client's connection completely, and no other traffic."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from priolab.common.errors import QUIETER, InvalidRun
from priolab.common.formats.counters import Counts, FrontReading
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.run.checks.rate_steps import Span
from priolab.experiments.run.checks.traffic import (
    check_carried,
    check_cross,
    check_datagrams,
    check_sending,
    observed_cross,
)
from priolab.experiments.scenario.knobs import scenario_from
from priolab.netem.calibration import VIRTUAL
from priolab.netem.interface_counters import Received

ARRIVED, AGAIN, PACKET = 1_000_000, 50_000, 1448


@dataclass(frozen=True)
class Sample:
    bytes_retrans: int = AGAIN
    unacked_segments: int = 0
    mss_bytes: int = PACKET


@dataclass(frozen=True)
class Came:
    payload_bytes: int


def _check(folder: Path, came_bytes: int, last: Sample | None = None, knobs: Mapping[str, str] | None = None) -> None:
    (folder / "client").mkdir(exist_ok=True)
    (folder / "client" / "arrivals.jsonl").write_text(f'{{"t_ns": 1, "tcp_bytes": {ARRIVED}}}\n')
    sockets = cast("Any", [last or Sample()] * 100)
    scenario = scenario_from(knobs or {})
    check_carried(cast("Any", Came(came_bytes)), RunFolder(folder), scenario, sockets, ())


def test_all_of_it(tmp_path: Path) -> None:
    """A retransmitted packet crosses the link twice."""
    _check(tmp_path, ARRIVED + AGAIN)


def _check_datagrams(folder: Path, came_bytes: int, datagrams_dropped: int = 0, **knobs: str) -> None:
    for name in ("client", "link"):
        (folder / name).mkdir(exist_ok=True)
    told = {"datagram_bytes": ARRIVED, "datagrams_dropped": datagrams_dropped}
    (folder / "client" / "socket.json").write_text(json.dumps(told))
    line = {"direction": "down", "packets": 0, "bytes": 0, "delay_line_packets": 0, "delay_line_bytes": 0}
    lines = [json.dumps({"t_ns": t_ns, **line, "dropped": dropped}) for t_ns, dropped in ((1, 5), (2, 15))]
    (folder / "link" / "queue.jsonl").write_text("\n".join(lines) + "\n")
    packets = 1000
    came = Received(packets=packets, bytes=came_bytes + 42 * packets)
    check_datagrams(came, RunFolder(folder), scenario_from(knobs))


@pytest.mark.parametrize("came_bytes", [ARRIVED, ARRIVED + 10 * PACKET, ARRIVED - 1000])
def test_datagrams_of_the_client(tmp_path: Path, came_bytes: int) -> None:
    """Ten dropped datagrams, and some after the last response, are no difference."""
    _check_datagrams(tmp_path, came_bytes)


def test_datagrams_that_the_client_lost(tmp_path: Path) -> None:
    """A client that was kept from reading loses datagrams. A busy machine is named, also if their bytes are few."""
    with pytest.raises(InvalidRun, match=f"buffer dropped: asked for none, observed 3; {QUIETER}$"):
        _check_datagrams(tmp_path, ARRIVED + 4500, 3)


@pytest.mark.parametrize("came_bytes", [ARRIVED + 40_000, ARRIVED - 20_000])
def test_datagrams_of_somebody_else(tmp_path: Path, came_bytes: int) -> None:
    """Other traffic makes the run invalid, unless the link loses packets that nobody counts."""
    with pytest.raises(InvalidRun, match=f"observed {came_bytes}"):
        _check_datagrams(tmp_path, came_bytes)
    _check_datagrams(tmp_path, came_bytes, LOSS="1%")


@pytest.mark.parametrize("came_bytes", [ARRIVED, ARRIVED + AGAIN - PACKET, ARRIVED + AGAIN + PACKET])
def test_less_or_more(tmp_path: Path, came_bytes: int) -> None:
    """The error gives the expected and the observed number of bytes."""
    with pytest.raises(
        InvalidRun,
        match=f"asked for the {ARRIVED + AGAIN} that the client received .* retransmitted, observed {came_bytes}",
    ):
        _check(tmp_path, came_bytes)


def test_what_may_have_been_sent_again_after_the_last_sample(tmp_path: Path) -> None:
    """Segments that were on their way at the last sample may have crossed the link twice."""
    _check(tmp_path, ARRIVED + AGAIN + 2 * PACKET, Sample(unacked_segments=2))


@pytest.mark.parametrize("more_bytes", [-20 * PACKET, 20 * PACKET])
def test_foreign_packets_without_samples(tmp_path: Path, more_bytes: int) -> None:
    """With SAMPLE=none the front's counters tell what was sent again, to within an initial window."""
    _check(tmp_path, ARRIVED + AGAIN)
    reading = FrontReading(load=4, counts=Counts(retransmitted_bytes=AGAIN))
    scenario, folder = scenario_from({}), RunFolder(tmp_path)
    check_carried(cast("Any", Came(ARRIVED + AGAIN + PACKET)), folder, scenario, (), [reading])
    with pytest.raises(InvalidRun, match="bytes that the link carried from the front during the loads"):
        check_carried(cast("Any", Came(ARRIVED + AGAIN + more_bytes)), folder, scenario, (), [reading])
    unknown = FrontReading(load=4, counts=Counts())
    check_carried(cast("Any", Came(ARRIVED + AGAIN + more_bytes)), folder, scenario, (), [unknown])


def test_the_other_connection_of_a_disturbance(tmp_path: Path) -> None:
    """The handshake and the first bytes of another connection make a probe that has one no invalid run."""
    probe = {"PLAN": "probe", "PAGE": "pair", "RELOADS": "0", "RATE": "unlimited", "DELAY": "0ms", "LOWAT": "none"}
    came_bytes = ARRIVED + AGAIN + 3645
    _check(tmp_path, came_bytes, knobs={**probe, "DISTURB": "connection"})
    with pytest.raises(InvalidRun):
        _check(tmp_path, came_bytes, knobs={**probe, "DISTURB": "reset"})


MEASURED = Span(began_ns=100, ended_ns=200)


def _crossed(folder: Path, flows: list[tuple[int, int]], *, arrived: int = ARRIVED, entered: int = ARRIVED) -> None:
    """Checks cross traffic of two flows. flows: (time, open flows) of each sample."""
    journal = folder / "cross.jsonl"
    journal.write_text(
        "".join(f'{{"t_ns": {t_ns}, "flows": {count}, "packets": 7, "bytes": {arrived}}}\n' for t_ns, count in flows)
    )
    observed = observed_cross(cast("Any", Came(entered)), journal)
    assert observed["cross_packets"] == 7
    check_cross(scenario_from({"CROSS": "2"}), observed, MEASURED)


def test_cross_traffic_that_was_there(tmp_path: Path) -> None:
    """Flows may open before the measured load, and close after it. A part of what they send may be lost."""
    _crossed(tmp_path, [(1, 0), (50, 1), (60, 2), (150, 2), (300, 1)], entered=2 * ARRIVED)


@pytest.mark.parametrize(
    ("flows", "seen"),
    [([(1, 0)], "[0]"), ([(1, 0), (150, 2)], "[0, 2]"), ([(1, 2), (150, 1)], "[2, 1]"), ([(1, 1)], "[1]")],
)
def test_a_flow_that_was_missing(tmp_path: Path, flows: list[tuple[int, int]], seen: str) -> None:
    """The error has the numbers of flows that were open during the measured load."""
    with pytest.raises(InvalidRun, match="flows of cross traffic during the measured load: asked for 2, observed") as e:
        _crossed(tmp_path, flows)
    assert seen in str(e.value)


@pytest.mark.parametrize("arrived", [0, ARRIVED + 20 * PACKET])
def test_cross_traffic_that_did_not_cross(tmp_path: Path, arrived: int) -> None:
    """Nothing that arrived, or more than entered the link, makes the run invalid."""
    with pytest.raises(InvalidRun, match=f"bytes of cross traffic that arrived.* observed {arrived}"):
        _crossed(tmp_path, [(1, 2)], arrived=arrived)


def test_a_flow_that_pauses() -> None:
    """Its kernel has nothing to send for some time. A flow that waits for the link has."""
    check_sending(9 * 10**9, [1_000_000, 500_000], [10_000_000, 9_490_000], VIRTUAL)
    with pytest.raises(InvalidRun, match=r"flow of the cross traffic .* for at least 8977000, observed 8700000"):
        check_sending(9 * 10**9, [1_000_000, 500_000], [10_000_000, 9_200_000], VIRTUAL)
