"""Real links: what netem makes of a Link in the guest, measured before every run, is what was asked."""

import json
from typing import Any

import pytest

from tests.conftest import Done, Lab

pytestmark = pytest.mark.usefixtures("guest")

_SHORT = ("FABRIC=virtual", "CONTROL=no", "RELOADS=0", "SIZE=20000")


def _observed(done: Done) -> dict[str, Any]:
    assert done.summary is not None, done.err
    (arm,) = done.summary["arms"]
    assert done.code == 0, arm["reason"]
    return dict(arm["observed"])


@pytest.mark.parametrize(
    ("words", "rate_bit_s", "round_trip_ms", "queue_packets"),
    [
        (("RATE=128kbps", "DELAY=300ms"), 1_024_000, 300, 25),
        (("RATE=128kbit", "DELAY=150ms", "DELAY_UP=150ms", "QUEUE=10"), 128_000, 300, 10),
        (("RATE=10mbit", "DELAY=25ms", "DELAY_UP=25ms", "QUEUE=100"), 10_000_000, 50, 100),
        (("RATE=1mbit", "DELAY=0ms", "QUEUE=1"), 1_000_000, 0, 1),
        (("RATE=1mbit", "DELAY=50ms", "QUEUE=2"), 1_000_000, 50, 2),
        (("RATE=1mbit", "DELAY=50ms", "QUEUE=30kb"), 1_000_000, 50, 20),
        (("RATE=100mbit", "DELAY=10ms", "QUEUE=1000"), 100_000_000, 10, 1000),
        (("RATE=1gbit", "DELAY=1ms"), 1_000_000_000, 1, 25),
    ],
)
def test_rate_round_trip_and_queue_are_what_was_asked(
    lab: Lab, words: tuple[str, ...], rate_bit_s: int, round_trip_ms: int, queue_packets: int
) -> None:
    """Within three percent and three milliseconds; the queue to the packet, in-flight packets not counted."""
    observed = _observed(lab.run(*words, *_SHORT))
    assert observed["rate_bit_s"] == pytest.approx(rate_bit_s, rel=0.03)
    assert observed["round_trip_ns"] == pytest.approx(round_trip_ms * 10**6, abs=3 * 10**6 + 480 / rate_bit_s * 10**9)
    assert observed["queue_packets"] == queue_packets


@pytest.mark.parametrize(
    "words",
    [
        ("DELAY=12s",),
        ("DELAY=12s", "SHAPER=ferry"),
        ("DELAY=30s", "DELAY_UP=32s"),
        ("DELAY=30s", "DELAY_UP=32s", "SERVER=h2o"),
    ],
)
def test_nobody_loses_patience_with_a_long_link(lab: Lab, words: tuple[str, ...]) -> None:
    """Neighbour tables, the kernel, the servers and the client all have deadlines that would be too short."""
    observed = _observed(lab.run(*words, *_SHORT, "SAMPLE=100ms"))  # minutes of link time: looks add up
    assert observed["queue_packets"] == 25


def test_jitter_varies_the_delay_and_keeps_the_order(lab: Lab) -> None:
    """Round trips differ, and not one packet of a train overtakes another."""
    done = lab.run("RATE=10mbit", "DELAY=100ms", "JITTER=40ms", "QUEUE=1000", "SERVER=h2o", *_SHORT)
    observed = _observed(done)
    assert observed["reordered_packets"] == 0
    assert observed["queue_packets"] is None
    assert 60 * 10**6 <= observed["round_trip_ns"] <= 145 * 10**6
    assert done.folder is not None
    (run,) = done.folder.glob("lowat-*")
    delay = next(
        qdisc["options"]["delay"]
        for qdisc in json.loads((run / "link" / "counters.json").read_text())["down"]
        if qdisc["options"].get("delay", {}).get("jitter")
    )
    assert delay["jitter"] == pytest.approx(0.04)


def test_loss_drops_packets(lab: Lab) -> None:
    """Three percent of loss shows in the counters; the load ends, and no event is dated before its predecessor."""
    done = lab.run(
        "FABRIC=virtual", "LOSS=3%", "RATE=10mbit", "DELAY=20ms", "QUEUE=200", "CONTROL=no", "RELOADS=0", "SIZE=500000"
    )
    _observed(done)
    assert done.folder is not None
    (run,) = done.folder.glob("lowat-*")
    counters = json.loads((run / "link" / "counters.json").read_text())["down"]
    assert counters[0]["drops"] > 0
    times = [json.loads(line)["t_ns"] for line in (run / "client" / "events.jsonl").read_text().splitlines()]
    assert times == sorted(times)
    assert any("REPEAT=5" in sentence for sentence in done.arm("lowat-131072")["warnings"])
