"""Tests that the link carried the client's connection completely, and no other traffic."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from experiments.errors import InvalidRun
from experiments.results.run_folder import RunFolder
from experiments.run.traffic_checks import check_carried
from experiments.scenario.knobs import scenario_from

ARRIVED, AGAIN, FAR_MORE = 1_000_000, 50_000, 20_000


@dataclass(frozen=True)
class Sample:
    bytes_retrans: int = AGAIN


@dataclass(frozen=True)
class Came:
    payload_bytes: int


def _check(folder: Path, shaper_at: str, came_bytes: int) -> None:
    (folder / "client").mkdir(exist_ok=True)
    (folder / "client" / "arrivals.jsonl").write_text(f'{{"t_ns": 1, "tcp_bytes": {ARRIVED}}}\n')
    sockets = cast("Any", [Sample()] * 100)
    scenario = scenario_from({"SHAPER_AT": shaper_at})
    check_carried(cast("Any", Came(came_bytes)), RunFolder(folder), scenario, sockets)


@pytest.mark.parametrize(
    ("shaper_at", "came_bytes"), [("link", ARRIVED + AGAIN), ("front", ARRIVED), ("front", ARRIVED + AGAIN)]
)
def test_all_of_it(tmp_path: Path, shaper_at: str, came_bytes: int) -> None:
    """A retransmitted packet crosses the link twice. With SHAPER_AT=front it may cross the link only once."""
    _check(tmp_path, shaper_at, came_bytes)


@pytest.mark.parametrize(
    ("shaper_at", "came_bytes"),
    [
        ("link", ARRIVED),
        ("link", ARRIVED + AGAIN + FAR_MORE),
        ("front", ARRIVED + AGAIN + FAR_MORE),
        ("front", ARRIVED - FAR_MORE),
    ],
)
def test_less_or_more(tmp_path: Path, shaper_at: str, came_bytes: int) -> None:
    """The error gives the expected and the observed number of bytes."""
    with pytest.raises(
        InvalidRun,
        match=f"asked for the {ARRIVED + AGAIN} that the client received .* retransmitted, observed {came_bytes}",
    ):
        _check(tmp_path, shaper_at, came_bytes)
