"""What was asked against what was found."""

import pytest

from experiments.errors import InvalidRun
from experiments.run.setting_checks import check_ferry, check_record
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
    """What the Link's own rules drop or lose is no fault."""
    check_ferry({"down": GOOD, "up": GOOD}, REAL)


def test_no_packet_at_all_is_not_late() -> None:
    """Before the first packet lateness is -1."""
    for never in (GOOD, UNLIMITED):
        check_ferry({"down": never | {"lateness_p50_ns": -1, "lateness_p99_ns": -1}}, REAL)


@pytest.mark.parametrize("name", ["kernel_drops", "refused"])
def test_packets_lost_before_the_model(name: str) -> None:
    """The link was then not the one that was asked for."""
    with pytest.raises(
        InvalidRun, match="packets that the ferry could not take in, direction down: asked for 0, observed 2"
    ):
        check_ferry({"down": GOOD | {name: 2}}, REAL)


def test_a_late_ferry() -> None:
    """More than one packet in a hundred left later than the tolerance of the round trip."""
    with pytest.raises(
        InvalidRun, match=r"lateness in ns, direction up: asked for at most 20000000, observed 20000001"
    ):
        check_ferry({"down": GOOD, "up": GOOD | {"lateness_p99_ns": 20_000_001}}, REAL)


def test_a_burst_on_an_unlimited_link() -> None:
    """Its end may be as late as the ferry takes for all of it; half of all packets may not."""
    check_ferry({"down": UNLIMITED | {"lateness_p99_ns": 21_700_000}}, REAL)
    with pytest.raises(
        InvalidRun, match=r"lateness in ns, direction down: asked for at most 20000000, observed 20000001"
    ):
        check_ferry({"down": UNLIMITED | {"lateness_p50_ns": 20_000_001, "lateness_p99_ns": 30_000_000}}, REAL)


@pytest.mark.parametrize(
    ("asked", "buffering", "found"), [("stock", "on", None), ("1400", "on", 1400), ("1400", "off", 900)]
)
def test_a_record_as_asked_for(asked: str, buffering: str, found: int | None) -> None:
    """Whoever buffers fills it; of whoever does not it is only known that it is no larger."""
    check_record(scenario_from({"RECORD": asked, "BUFFERING": buffering}), {"record_bytes": found})


@pytest.mark.parametrize(
    ("buffering", "found"), [("on", 16_384), ("on", 900), ("on", None), ("off", 1401), ("off", None)]
)
def test_another_record_is_invalid(buffering: str, found: int | None) -> None:
    """Larger, smaller though there was enough to fill it, or not seen at all."""
    with pytest.raises(InvalidRun, match=f"largest TLS record at the client: asked for 1400, observed {found}"):
        check_record(scenario_from({"RECORD": "1400", "BUFFERING": buffering}), {"record_bytes": found})
