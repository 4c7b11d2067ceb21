"""LOWAT=auto in the guest: the results of both tuners, which know nothing of the link."""

import json
from typing import Any

import pytest

from common.packets import PACKET_BUFFER_BYTES, unframed
from tests.lab.conftest import Runs

pytestmark = pytest.mark.usefixtures("guest", "bpf_compiler")


def _complete_ms(arm: dict[str, dict[str, float]]) -> float:
    return max(arm["script"]["last_byte_ms"], arm["image"]["last_byte_ms"])


@pytest.mark.parametrize(("tuner", "words"), [("bpf", ()), ("userland", ("TUNER=userland",))])
def test_auto_is_as_good_as_a_good_value(run: Runs, tuner: str, words: tuple[str, ...]) -> None:
    """A first byte within 15 % of 16384's, which is as good as it gets here, at no cost in goodput."""
    done = run("LOWAT=auto", "CONTROL=no", *words)
    auto = done.arm("lowat-auto")
    assert auto["observed"]["tuner"] == tuner
    assert auto["verdict"] == "kept"
    best = run("LOWAT=16384", "CONTROL=no").arm("lowat-16384")
    assert auto["script"]["first_byte_ms"] < 1.15 * best["script"]["first_byte_ms"]
    control = run("LOWAT=131072").arm("control")
    assert _complete_ms(dict(auto)) < 1.01 * _complete_ms(dict(control))


def test_the_journal_is_what_the_socket_had(run: Runs) -> None:
    """In the kernel the connection has a value from its first moment, and every one it ever had is a decision."""
    done = run("LOWAT=auto", "CONTROL=no")
    assert done.folder is not None
    lines = (done.folder / "lowat-auto.1/front/lowat.jsonl").read_text().splitlines()
    decisions: list[dict[str, Any]] = [json.loads(line) for line in lines]
    assert decisions[0]["event"] == "established"
    assert {decision["peer"] for decision in decisions} == {"198.18.0.2"}
    lowats = set(done.arm("lowat-auto")["observed"]["socket_lowat"])
    assert lowats
    assert lowats <= {decision["new_bytes"] for decision in decisions}


def test_a_target_is_aimed_at(run: Runs) -> None:
    """On 10 Mbit/s, 200 ms allow 239 kB unsent, and the tuner, which was told no rate, comes to that less a buffer."""
    done = run("LOWAT=auto", "CONTROL=no", "TARGET_DELAY=200ms", "RATE=10mbit", "DELAY=50ms", "RELOADS=0")
    most = max(done.arm("lowat-auto")["observed"]["socket_lowat"])
    assert most == pytest.approx(unframed(250_000) - PACKET_BUFFER_BYTES, rel=0.15)
