"""Tests of cross traffic over loopback: real flows, and the journal of what arrived."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from priolab.common.formats.reading import read_journal
from priolab.common.formats.samples import CrossSample
from priolab.common.running import finished
from tests.support.ports import free_port
from tests.support.waiting import until

_PATIENCE_S = 20.0
_INTERVAL_NS = 10**7


def _program(*words: str) -> list[str]:
    return [sys.executable, "-P", "-m", "priolab.netem.cross", *words]


def _until(journal: Path, flows: int, more_than: int = 0) -> CrossSample:
    """Returns the first sample with that number of flows, and with more packets than `more_than`."""
    end_s = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end_s:
        for sample in read_journal(journal, CrossSample) if journal.exists() else ():
            if sample.flows == flows and sample.packets > more_than:
                return sample
        time.sleep(0.02)
    raise AssertionError(f"no sample with {flows} flows in {journal.read_text()}")


@pytest.fixture(name="at")
def receiver(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """Runs a receiver; yields its journal and its port."""
    journal, port = tmp_path / "cross.jsonl", str(free_port())
    with subprocess.Popen(_program("receive", "127.0.0.1", port, str(_INTERVAL_NS), str(journal))) as process:
        try:
            until(journal.exists)
            yield journal, port
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(_PATIENCE_S) == -signal.SIGTERM


def test_flows_send_for_ever_and_are_counted(at: tuple[Path, str]) -> None:
    """Two flows are open until the sender ends. Packets and bytes grow, and the sender's end closes both flows."""
    journal, port = at
    with subprocess.Popen(_program("send", "127.0.0.1", port, "2", "reno")) as sender:
        early = _until(journal, 2)
        later = _until(journal, 2, early.packets)
        sender.send_signal(signal.SIGTERM)
        assert sender.wait(_PATIENCE_S) == -signal.SIGTERM
    assert later.bytes > early.bytes
    last = _until(journal, 0, later.packets - 1)
    samples = read_journal(journal, CrossSample)
    assert [sample.packets for sample in samples] == sorted(sample.packets for sample in samples)
    assert last.packets >= later.packets


def test_a_congestion_control_that_is_not_there(at: tuple[Path, str]) -> None:
    """The sender ends with one line if the kernel does not have the congestion control."""
    _, port = at
    done = finished(_program("send", "127.0.0.1", port, "1", "vegetable"), _PATIENCE_S)
    assert (done.code, done.errors.count("\n")) == (1, 1)
    assert done.errors.startswith("cross traffic: ")
