"""The bottleneck's queueing disciplines, bursts of losses, packets that overtake, and cross traffic, in the guest.

The disciplines are those that tc(8) of every supported system knows; dualpi2 needs a newer one than Debian 13 has.
"""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from priolab.netem.link import Qdisc
from tests.support.lab import Done
from tests.support.shared_runs import Runs
from tests.support.together import together

pytestmark = pytest.mark.usefixtures("guest")

_MANAGED = (Qdisc.FQ_CODEL, Qdisc.CAKE, Qdisc.PIE)
"""Disciplines that drop packets before the queue is full, so that it stays short."""
_DEEP = "QUEUE=1000"
_ARMS: Mapping[str, tuple[str, ...]] = {
    **{qdisc: (f"QDISC={qdisc}", _DEEP) for qdisc in (Qdisc.FIFO, Qdisc.FQ, *_MANAGED)},
    "marked": ("QDISC=fq_codel", "ECN=on", _DEEP),
    "overtaking": ("REORDER=5%", "QUEUE=100"),
    "overtaking-managed": ("REORDER=5%", "QDISC=fq_codel", "LOSS=1%", "LOSS_BURST=4"),
    "bursts": ("LOSS=2%", "LOSS_BURST=8"),
    "stepped-cake": ("QDISC=cake", "RATE_STEPS=1280kbps@1s+128kbps@3s"),
    "cross": ("CROSS=1", "RELOADS=0"),
    "cross-managed": ("CROSS=2", "CROSS_CC=bbr", "QDISC=fq_codel", _DEEP, "RELOADS=0"),
    "cross-fifo": ("CROSS=1", "QUEUE=100", "SIZE=200K", "RELOADS=0"),
}
_LEAST_EXPLAINED = 0.98


@pytest.fixture(scope="module")
def done(guest: None, tmp_path_factory: pytest.TempPathFactory) -> Done:  # noqa: ARG001
    """Runs an experiment that has an arm for each link."""
    return together(tmp_path_factory.mktemp("disciplines"), _ARMS, "LOWAT=131072")


def _counters(done: Done, name: str) -> list[dict[str, Any]]:
    assert done.folder is not None
    found: list[dict[str, Any]] = json.loads((done.folder / f"{name}.1" / "link" / "counters.json").read_text())["down"]
    return found


@pytest.mark.parametrize("name", _ARMS)
def test_every_such_link_is_calibrated_and_explained(done: Done, name: str) -> None:
    """The run is ok, the rate is within 3 %, and the ledger's layers account for at least 98 % of the wait."""
    arm = done.ok_arm(name)
    assert arm["observed"]["rate_bit_s"] == pytest.approx(1_024_000, rel=0.03)
    assert arm["observed"]["round_trip_ns"] == pytest.approx(300 * 10**6, abs=3 * 10**6)
    assert arm["ledger"]["explained"] >= _LEAST_EXPLAINED
    assert sum(arm["ledger"]["parts_ms"].values()) == pytest.approx(arm["ledger"]["wait_ms"])
    assert 0 < arm["oracle"]["first_byte_ms"] <= arm["first_byte_ms"]


@pytest.mark.parametrize("qdisc", [Qdisc.FQ, *_MANAGED])
def test_the_discipline_asked_for_had_the_packets(done: Done, qdisc: Qdisc) -> None:
    """All packets passed the discipline. Calibration says why it did not measure the queue."""
    counted = {found["kind"]: found["packets"] for found in _counters(done, qdisc) if found["dev"] == "rate-down"}
    assert counted[qdisc] == counted["netem"] > 1000
    observed = done.ok_arm(qdisc)["observed"]
    assert observed["queue_packets"] is None
    assert observed["unmeasured"] == {"queue_packets": f"{qdisc} drops packets before its queue is full"}


@pytest.mark.parametrize("qdisc", _MANAGED)
def test_a_managed_queue_does_not_hold_the_script(done: Done, qdisc: Qdisc) -> None:
    """With 1000 packets of fifo the script is lost in the network's queue, in spite of LOWAT; with fq_codel, cake or
    pie its order is kept, and it hardly waits in the queue.
    """
    lost, kept = done.ok_arm(Qdisc.FIFO), done.ok_arm(qdisc)
    assert (lost["verdict"], lost["ledger"]["largest"]) == ("inverted", "bottleneck_queue")
    assert kept["verdict"] == "kept"
    assert kept["first_byte_ms"] < 0.7 * lost["first_byte_ms"]
    assert kept["ledger"]["parts_ms"]["bottleneck_queue"] < 0.1 * lost["ledger"]["parts_ms"]["bottleneck_queue"]
    assert not [text for text in kept["warnings"] if "QUEUE=1000" in text]


def test_marks_are_counted(done: Done) -> None:
    """With ECN the bottleneck marks packets of the front, which then cross the link."""
    (marked,) = (found for found in _counters(done, "marked") if found["kind"] == "fq_codel")
    observed = done.ok_arm("marked")["observed"]
    assert observed["tcp_ecn"] == [1, 1]
    assert observed["ce_marks"] == marked["ecn_mark"] > 0
    (dropped,) = (found for found in _counters(done, Qdisc.FQ_CODEL) if found["kind"] == "fq_codel")
    assert dropped["ecn_mark"] == 0
    assert dropped["drops"] > marked["drops"]
    assert "ce_marks" not in done.ok_arm(Qdisc.FQ_CODEL)["observed"]


@pytest.mark.parametrize("shaper", ["netem", "ferry"])
def test_losses_come_in_bursts(done: Done, run: Runs, shaper: str) -> None:
    """Both shapers lose packets; netem reports the odds that follow from the mean loss and the mean length."""
    if shaper == "ferry":
        lost = run("SHAPER=ferry", "LOSS=2%", "LOSS_BURST=8", "CONTROL=no", "RELOADS=0")
        assert lost.folder is not None
        counters = json.loads((lost.folder / "lowat-131072.1" / "link" / "counters.json").read_text())
        assert counters["down"]["lost"] >= 8
        return
    (line,) = (found for found in _counters(done, "bursts") if "loss-gemodel" in found["options"])
    odds = line["options"]["loss-gemodel"]
    assert (odds["p"], odds["r"]) == pytest.approx((0.02 / 0.98 / 8, 1 / 8), rel=0.01)
    assert line["drops"] > 0


def test_packets_overtake_and_nothing_skips_the_bottleneck(done: Done) -> None:
    """Calibration does not judge the order. Every packet that left the delay line passed the bottleneck, too."""
    observed = done.ok_arm("overtaking")["observed"]
    assert set(observed["unmeasured"]) == {"queue_packets", "reordered_packets"}
    by_device = {(found["dev"], found["handle"]): found for found in _counters(done, "overtaking")}
    line, bottleneck = by_device["delay-down", "2:"], by_device["to-client", "2:"]
    assert line["options"]["reorder"]["reorder"] == pytest.approx(0.05, rel=0.01)
    assert line["packets"] == bottleneck["packets"] + bottleneck["drops"] + bottleneck["qlen"]


def test_the_rate_of_cake_changes(done: Done) -> None:
    """cake takes a new rate with the next packet, as tbf does."""
    steps = done.ok_arm("stepped-cake")["observed"]["rate_steps"]
    assert [step["rate_bit_s"] for step in steps] == [10_240_000, 1_024_000]


def test_cross_traffic_is_counted_apart_from_the_front(done: Done) -> None:
    """The link's bytes of the cross traffic are not among the front's, and most of them arrived."""
    for name, flows in (("cross", 1), ("cross-managed", 2)):
        observed = done.ok_arm(name)["observed"]
        assert observed["cross_flows"][-1][1] == flows
        assert 0.8 * observed["cross_sent_bytes"] < observed["cross_arrived_bytes"] <= observed["cross_sent_bytes"]
        assert observed["cross_packets"] * 1448 >= observed["cross_arrived_bytes"] - 1448


def test_the_wait_behind_other_flows_has_a_layer_of_its_own(done: Done) -> None:
    """In one queue with a bulk flow the script waits behind its packets. fq_codel serves the flows in turn, so that it
    waits less behind them than in a fifo with fewer packets. Without cross traffic there is no such layer.
    """
    shared, apart = (
        done.ok_arm(name)["ledger"]["parts_ms"]["cross_traffic"] for name in ("cross-fifo", "cross-managed")
    )
    assert shared > 4 * apart
    assert shared > 300
    assert done.ok_arm("cross-managed")["verdict"] == "kept"
    assert "cross_traffic" not in done.ok_arm(Qdisc.FQ_CODEL)["ledger"]["parts_ms"]


def test_cross_traffic_through_the_ferry(run: Runs) -> None:
    """The ferry carries the cross traffic through the same queue, and the ledger adds up."""
    arm = run("SHAPER=ferry", "CROSS=1", "CONTROL=no", "RELOADS=0").arm("lowat-131072")
    assert arm["status"] == "ok", arm["reason"]
    assert arm["ledger"]["explained"] >= _LEAST_EXPLAINED
    assert arm["ledger"]["parts_ms"]["cross_traffic"] > 0
