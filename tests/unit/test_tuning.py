"""What was asked against what was found."""

import pytest

from experiments.errors import InvalidRun
from experiments.tuning import check_ferry
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
    with pytest.raises(InvalidRun, match="packets down that the ferry could not take in: asked for 0, observed 2"):
        check_ferry({"down": GOOD | {name: 2}}, REAL)


def test_a_late_ferry() -> None:
    """More than one packet in a hundred left later than the tolerance of the round trip."""
    with pytest.raises(InvalidRun, match=r"lateness up in ns: asked for at most 20000000, observed 20000001"):
        check_ferry({"down": GOOD, "up": GOOD | {"lateness_p99_ns": 20_000_001}}, REAL)


def test_a_burst_on_an_unlimited_link() -> None:
    """Its end may be as late as the ferry takes for all of it; half of all packets may not."""
    check_ferry({"down": UNLIMITED | {"lateness_p99_ns": 21_700_000}}, REAL)
    with pytest.raises(InvalidRun, match=r"lateness down in ns: asked for at most 20000000, observed 20000001"):
        check_ferry({"down": UNLIMITED | {"lateness_p50_ns": 20_000_001, "lateness_p99_ns": 30_000_000}}, REAL)
