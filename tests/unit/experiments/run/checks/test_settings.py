"""Tests that compare requested settings with observed ones."""

from pathlib import Path

import pytest

from experiments.errors import InvalidRun
from experiments.run.checks.settings import check_ferry, check_kernel, check_record
from experiments.scenario.knobs import scenario_from
from netem.calibration import REAL

GOOD = {
    "kernel_drops": 0,
    "refused": 0,
    "longest_queue_packets": 25,
    "lateness_p50_ns": 20_000,
    "lateness_p99_ns": 300_000,
    "dropped": 17,
    "lost": 3,
}
UNLIMITED = GOOD | {"longest_queue_packets": 0}


def test_a_punctual_ferry() -> None:
    """Packets that the link's rules drop or lose are valid."""
    check_ferry({"down": GOOD, "up": GOOD}, REAL)


def test_no_packet_at_all_is_not_late() -> None:
    """A lateness of -1, which means that no packet came, is valid."""
    for never in (GOOD, UNLIMITED):
        check_ferry({"down": never | {"lateness_p50_ns": -1, "lateness_p99_ns": -1}}, REAL)


@pytest.mark.parametrize("name", ["kernel_drops", "refused"])
def test_packets_lost_before_the_model(name: str) -> None:
    """Packets that the ferry could not accept make the run invalid."""
    with pytest.raises(
        InvalidRun,
        match="packets that the ferry lost because it was overloaded, direction down: asked for 0, observed 2",
    ):
        check_ferry({"down": GOOD | {name: 2}}, REAL)


def test_a_late_ferry() -> None:
    """A run is invalid if the ferry sent more than 1% of the packets too late.
    Too late is a lateness above the tolerance of the round trip.
    """
    with pytest.raises(
        InvalidRun, match=r"lateness in ns, direction up: asked for at most 20000000, observed 20000001"
    ):
        check_ferry({"down": GOOD, "up": GOOD | {"lateness_p99_ns": 20_000_001}}, REAL)


def test_a_burst_on_an_unlimited_link() -> None:
    """On an unlimited link the end of a burst may be late, but not half of all packets."""
    check_ferry({"down": UNLIMITED | {"lateness_p99_ns": 21_700_000}}, REAL)
    with pytest.raises(
        InvalidRun, match=r"lateness in ns, direction down: asked for at most 20000000, observed 20000001"
    ):
        check_ferry({"down": UNLIMITED | {"lateness_p50_ns": 20_000_001, "lateness_p99_ns": 30_000_000}}, REAL)


@pytest.mark.parametrize(
    ("asked", "buffering", "found"), [("stock", "on", None), ("1400", "on", 1400), ("1400", "off", 900)]
)
def test_a_record_as_asked_for(asked: str, buffering: str, found: int | None) -> None:
    """A front that buffers fills TLS records to the requested size. Without buffering records may be smaller."""
    check_record(scenario_from({"RECORD": asked, "BUFFERING": buffering}), {"record_bytes": found})


@pytest.mark.parametrize(
    ("buffering", "found"), [("on", 16_384), ("on", 900), ("on", None), ("off", 1401), ("off", None)]
)
def test_another_record_is_invalid(buffering: str, found: int | None) -> None:
    """A run is invalid if the largest TLS record is too large, too small despite buffering, or unknown."""
    with pytest.raises(
        InvalidRun, match=f"largest TLS record at the client, in bytes: asked for 1400, observed {found}"
    ):
        check_record(scenario_from({"RECORD": "1400", "BUFFERING": buffering}), {"record_bytes": found})


def test_a_kernel_with_a_fault(tmp_path: Path) -> None:
    """A guest's kernel that has found a fault in itself makes the run invalid."""
    mark = tmp_path / "tainted"
    mark.write_text("0\n")
    check_kernel(mark)
    mark.write_text("32\n")
    with pytest.raises(InvalidRun, match=r"kernel\.tainted\): asked for 0, observed 32"):
        check_kernel(mark)
