"""LOWAT=auto in the guest: the results of the tuner, which does not get the link's settings."""

import json
from collections.abc import Callable
from pathlib import Path
from statistics import quantiles

import pytest

from priolab.analysis.loads.metrics import measured_load
from priolab.analysis.records.runs import load_run
from priolab.analysis.records.samples import latest
from priolab.common.formats.decisions import Decision, Trigger
from priolab.common.formats.reading import read_journal
from priolab.common.packets import PACKET_BUFFER_BYTES, PACKET_BYTES, unframed
from tests.support.lab import complete_ms
from tests.support.shared_runs import Runs
from tests.support.tuner.law import Aim, Seen, decide, follows
from tests.support.variations import finely_sampled

pytestmark = pytest.mark.usefixtures("guest")

_EVERY_MS, _SENDS_MS, _PER_MS = 120, 25, 10
_TARGET_MS = 50
_MS = 10**6


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


@pytest.fixture
def in_turns(tmp_path: Path) -> Path:
    """Make a trace of a link that serves the client 25 of every 120 ms, with ten packets in each."""
    file = tmp_path / "in-turns"
    turns = (range(begin, begin + _SENDS_MS) for begin in range(1, 40 * _EVERY_MS, _EVERY_MS))
    file.write_text("".join(f"{ms}\n" * _PER_MS for turn in turns for ms in turn))
    return file


@pytest.mark.parametrize("tuner", ["bpf", "cautious-bpf"])
def test_acknowledgments_in_clumps(in_turns: Path, run: Runs, tuner: str) -> None:
    """On a link that serves the client in turns, 99 % of the expected waits are below twice the target, by time.

    Within a turn round trips are short, and the kernel's delivery rate is several times the link's mean rate; by this
    rate alone the waits would be longer. The load takes no longer than without a limit.
    """
    words = (f"TRACE={in_turns}", "DELAY=200us", "QUEUE=25", "SIZE=6M", "WINDOW=256M", "RELOADS=0")
    done = run("LOWAT=auto", f"TUNER={tuner}", *words)
    assert complete_ms(dict(done.ok_arm("lowat-auto"))) < 1.01 * complete_ms(dict(done.ok_arm("control")))
    assert done.folder is not None
    folder = done.folder / "lowat-auto.1"
    assert _late_wait_ms(folder, lambda decision: decision.new_bytes) < 2 * _TARGET_MS
    assert _late_wait_ms(folder, _by_the_kernels_rate) > 4 * _TARGET_MS


def _by_the_kernels_rate(decision: Decision) -> int:
    """Return the law's value if no rate of bytes limits the kernel's delivery rate."""
    rate = decision.delivery_rate_bytes_s
    seen = Seen(rate, rate, rate, decision.cwnd_segments, decision.mss_bytes, decision.rtt_ns // 1000)
    return decide(seen, Aim()).lowat_bytes


def _late_wait_ms(folder: Path, lowat_bytes: Callable[[Decision], int]) -> float:
    """Return the 99th percentile, by time, of how long the link needs for unsent bytes at its mean rate."""
    decisions, load = read_journal(folder / "front/lowat.jsonl", Decision), measured_load(load_run(folder).evidence())
    per_ms = unframed(PACKET_BYTES * _PER_MS * _SENDS_MS / _EVERY_MS)
    known = [latest(decisions, t_ns) for t_ns in range(load.started_ns, load.finished_ns, _MS)]
    return quantiles([(lowat_bytes(each) + PACKET_BUFFER_BYTES) / per_ms for each in known if each], n=100)[-1]
