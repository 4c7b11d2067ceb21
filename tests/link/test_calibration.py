"""The calibration of real links in the guest: netem gives a link the rate, delay and queue that were asked for."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.lab import Done, Lab
from tests.support.together import together

pytestmark = pytest.mark.usefixtures("guest")

_SHORT = ("CONTROL=no", "RELOADS=0", "SIZE=20000", "SAMPLE=none")
_LINKS = {
    "slow": (("RATE=128kbps", "DELAY=300ms"), 1_024_000, 300, 25),
    "modem": (("RATE=128kbit", "DELAY=150ms", "DELAY_UP=150ms", "QUEUE=10"), 128_000, 300, 10),
    "broadband": (("RATE=10mbit", "DELAY=25ms", "DELAY_UP=25ms", "QUEUE=100"), 10_000_000, 50, 100),
    "queue-of-one": (("RATE=1mbit", "DELAY=0ms", "QUEUE=1"), 1_000_000, 0, 1),
    "queue-of-two": (("RATE=1mbit", "DELAY=50ms", "QUEUE=2"), 1_000_000, 50, 2),
    "queue-in-bytes": (("RATE=1mbit", "DELAY=50ms", "QUEUE=30kb"), 1_000_000, 50, 20),
    "time": (("RATE=2mbit", "DELAY=20ms", "QUEUE=100ms"), 2_000_000, 20, 16),
    "both-ways": (("RATE=2mbit", "RATE_UP=1mbit", "DELAY=50ms", "DELAY_UP=50ms", "QUEUE=1bdp"), 2_000_000, 100, 16),
    "fast-in-bytes": (("RATE=1gbit", "DELAY=10ms", "QUEUE=2bdp"), 1_000_000_000, 10, 1651),
    "ferry-in-bytes": (("RATE=2mbit", "DELAY=20ms", "QUEUE=100ms", "RATE_STEPS=1mbit@1s"), 2_000_000, 20, 16),
    "fast": (("RATE=100mbit", "DELAY=10ms", "QUEUE=1000"), 100_000_000, 10, 1000),
    "very-fast": (("RATE=1gbit", "DELAY=1ms"), 1_000_000_000, 1, 25),
}
"""For each link: its knobs, rate in bit/s, round trip in milliseconds, queue in packets."""
_IN_BYTES: dict[str, dict[str, int]] = {
    "queue-in-bytes": {"queue_bytes": 30_720},
    "time": {"queue_bytes": 24_960},
    "both-ways": {"queue_bytes": 24_960, "queue_up_packets": 8, "queue_up_bytes": 12_480},
    "fast-in-bytes": {"queue_bytes": 2_499_614},
    "ferry-in-bytes": {"queue_bytes": 24_960},
}
"""The figures of queues in bytes: how much of small packets they hold, and of both sizes toward the front."""
_LONG = {
    "long": ("DELAY=12s",),
    "long-both-ways": ("DELAY=30s", "DELAY_UP=32s"),
}
_JITTER = ("RATE=10mbit", "DELAY=100ms", "JITTER=40ms", "QUEUE=1000")
_LOSS = ("LOSS=3%", "RATE=10mbit", "DELAY=20ms", "QUEUE=200", "SIZE=500000")


@pytest.fixture(scope="module")
def measured(guest: None, tmp_path_factory: pytest.TempPathFactory) -> Done:  # noqa: ARG001
    """Run an experiment that has an arm for each link of _LINKS and _LONG, and one each for jitter and loss."""
    links = {name: words for name, (words, *_) in _LINKS.items()} | _LONG | {"jitter": _JITTER, "loss": _LOSS}
    return together(tmp_path_factory.mktemp("links"), links, *_SHORT)


def _observed(arm: Mapping[str, Any]) -> dict[str, Any]:
    assert arm["status"] == "ok", arm["reason"]
    return dict(arm["observed"])


def _run_folder(done: Done, arm: str) -> Path:
    assert done.folder is not None
    return done.folder / f"{arm}.1"


@pytest.mark.parametrize("name", _LINKS)
def test_rate_round_trip_and_queue_are_what_was_asked(measured: Done, name: str) -> None:
    """The rate is within 3 % of the requested rate, and the round trip within 3 ms of the requested one.
    The queue holds exactly the requested number of packets.
    """
    _, rate_bit_s, round_trip_ms, queue_packets = _LINKS[name]
    observed = _observed(measured.arm(name))
    assert observed["rate_bit_s"] == pytest.approx(rate_bit_s, rel=0.03)
    assert observed["round_trip_ns"] == pytest.approx(round_trip_ms * 10**6, abs=3 * 10**6 + 480 / rate_bit_s * 10**9)
    assert observed["queue_packets"] == queue_packets


@pytest.mark.parametrize("name", _LINKS)
def test_a_queue_in_bytes_is_filled_with_small_packets_too(measured: Done, name: str) -> None:
    """Small packets show that bytes count; a queue in packets has no such figures. The ferry makes rate steps."""
    observed = _observed(measured.arm(name))
    figures = ("queue_bytes", "queue_up_packets", "queue_up_bytes")
    assert {figure: observed[figure] for figure in figures if figure in observed} == _IN_BYTES.get(name, {})
    assert observed["shaper"] == ("ferry" if name == "ferry-in-bytes" else "netem")


@pytest.mark.parametrize("name", _LONG)
def test_nobody_loses_patience_with_a_long_link(measured: Done, name: str) -> None:
    """A run is ok with a round trip of up to 62 s, beyond the usual deadlines of neighbour tables and servers."""
    assert _observed(measured.arm(name))["queue_packets"] == 25


@pytest.mark.needs("h2o")
def test_h2o_does_not_lose_patience_with_a_long_link(lab: Lab) -> None:
    """The same with h2o."""
    done = lab.run_here("FABRIC=virtual", "SERVER=h2o", *_LONG["long-both-ways"], *_SHORT)
    assert _observed(done.arm("lowat-131072"))["queue_packets"] == 25


def test_nobody_loses_patience_with_a_long_ferry(lab: Lab) -> None:
    """A run is ok with a delay of 12 s if the lab's ferry shapes the link."""
    done = lab.run_here("FABRIC=virtual", "SHAPER=ferry", *_LONG["long"], *_SHORT)
    assert _observed(done.arm("lowat-131072"))["queue_packets"] == 25


def test_jitter_varies_the_delay_and_keeps_the_order(measured: Done) -> None:
    """With jitter the round trip varies within its limits, and no packet overtakes another."""
    observed = _observed(measured.arm("jitter"))
    assert observed["reordered_packets"] == 0
    assert observed["queue_packets"] is None
    assert 60 * 10**6 <= observed["round_trip_ns"] <= 145 * 10**6
    delay = next(
        qdisc["options"]["delay"]
        for qdisc in json.loads((_run_folder(measured, "jitter") / "link" / "counters.json").read_text())["down"]
        if qdisc["options"].get("delay", {}).get("jitter")
    )
    assert delay["jitter"] == pytest.approx(0.04)


def test_loss_drops_packets(measured: Done) -> None:
    """With 3 % loss the counters show drops, the load finishes, and events are in order of time."""
    arm = measured.arm("loss")
    _observed(arm)
    run = _run_folder(measured, "loss")
    counters = json.loads((run / "link" / "counters.json").read_text())["down"]
    assert counters[0]["drops"] > 0
    times = [json.loads(line)["t_ns"] for line in (run / "client" / "events.jsonl").read_text().splitlines()]
    assert times == sorted(times)
    assert any("REPEAT=5" in sentence for sentence in arm["warnings"])
