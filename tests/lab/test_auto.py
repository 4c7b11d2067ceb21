"""LOWAT=auto in the guest: the results of the tuner, which does not get the link's settings."""

import json

import pytest

from priolab.common.formats.decisions import Decision, Trigger
from priolab.common.formats.reading import read_journal
from priolab.common.packets import PACKET_BUFFER_BYTES, unframed
from tests.support.lab import complete_ms
from tests.support.shared_runs import Runs
from tests.support.tuner.law import follows
from tests.support.variations import finely_sampled

pytestmark = pytest.mark.usefixtures("guest")


def test_auto_is_as_good_as_a_good_value(run: Runs) -> None:
    """The first byte comes at most 15 % later than with LOWAT=16384, a good value here, and goodput is not lower."""
    auto = run("LOWAT=auto", "CONTROL=no").arm("lowat-auto")
    assert auto["observed"]["tuner"] == "bpf"
    assert auto["verdict"] == "kept"
    best = run("LOWAT=16384", "CONTROL=no").arm("lowat-16384")
    assert auto["script"]["first_byte_ms"] < 1.15 * best["script"]["first_byte_ms"]
    control = run("LOWAT=131072").arm("control")
    assert complete_ms(dict(auto)) < 1.01 * complete_ms(dict(control))


def test_the_journal_is_what_the_socket_had(run: Runs) -> None:
    """The tuner sets a value as the connection is established, and its journal has each value that was sampled.

    Each value follows from the numbers in its line."""
    done = run("LOWAT=auto", "CONTROL=no")
    assert done.folder is not None
    decisions = read_journal(done.folder / "lowat-auto.1/front/lowat.jsonl", Decision)
    assert decisions[0].event == Trigger.ESTABLISHED
    assert {decision.peer for decision in decisions} == {"198.18.0.2"}
    assert all(map(follows, decisions))
    lowats = set(done.arm("lowat-auto")["observed"]["socket_lowat"])
    assert lowats
    assert lowats <= {decision.new_bytes for decision in decisions}


def test_a_target_is_aimed_at(run: Runs) -> None:
    """With TARGET_DELAY=200ms, LOWAT is near 239 kB, which 10 Mbit/s carry in 200 ms, minus a packet buffer."""
    most = max(finely_sampled(run).arm("target")["observed"]["socket_lowat"])
    assert most == pytest.approx(unframed(250_000) - PACKET_BUFFER_BYTES, rel=0.15)


@pytest.mark.parametrize("tuner", ["bpf", "cautious-bpf"])
def test_a_new_connection_starts_small(run: Runs, tuner: str) -> None:
    """With a round trip of 1.5 ms the window per round trip is a high rate, but nothing has been measured.

    So the first value is the floor, also with the caution of `priolab tune`, and the script comes as with LOWAT=16384.
    """
    words = ("RATE=2mbit", "DELAY=1500us", "RELOADS=0", "CONTROL=no")
    done = run("LOWAT=auto", f"TUNER={tuner}", *words)
    arm = done.arm("lowat-auto")
    assert done.folder is not None
    assert arm["observed"]["tuner"] == tuner
    first = json.loads((done.folder / "lowat-auto.1/front/lowat.jsonl").read_text().splitlines()[0])
    assert (first["event"], first["why"], first["rate_bytes_s"]) == ("established", "nothing known", 0)
    assert max(arm["observed"]["socket_lowat"]) < 20_000
    fixed = run("LOWAT=16384", *words).arm("lowat-16384")
    assert arm["script"]["first_byte_ms"] == pytest.approx(fixed["script"]["first_byte_ms"], rel=0.01)
