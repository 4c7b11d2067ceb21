"""Tests of packet capture from start to end, with a script that prints what tcpdump prints."""

from pathlib import Path

import pytest

from priolab.common.errors import InvalidRun, StepFailed
from priolab.common.process.processes import Process
from priolab.testbed.topology import packet_capture as tap

_LISTENING = "echo tcpdump: listening on wire, snapshot length 262144 bytes >&2"
_UNTIL_TOLD = "while :; do sleep 0.01; done"


def _start(tmp_path: Path, at_end: str, begin: str = _LISTENING, middle: str = _UNTIL_TOLD) -> Process:
    script = f"trap '{at_end}; exit 0' TERM; {begin}; {middle}"
    return Process("the capture", ["sh", "-c", script], tmp_path / "client.log")


def test_a_tap_that_missed_nothing(tmp_path: Path) -> None:
    """A capture that missed nothing runs inside the context, ends with it, and its log is removed."""
    started = _start(tmp_path, "echo 9 packets captured; echo 0 packets dropped by kernel")
    with tap.listening(started, started.stop) as listening:
        assert listening.running
    assert not started.running
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("said", "missed"), [("1 packet dropped by kernel", 1), ("20 packets dropped by kernel", 20)])
def test_packets_that_were_missed(tmp_path: Path, said: str, missed: int) -> None:
    """A run is invalid if the capture missed packets, and the capture's log stays."""
    started = _start(tmp_path, f"echo {said}")
    expected = f"packets missed by the capture: asked for 0, observed {missed}"
    with pytest.raises(InvalidRun, match=expected), tap.listening(started, started.stop):
        pass
    assert started.log.exists()


def test_a_tap_that_says_nothing_at_its_end(tmp_path: Path) -> None:
    """A capture fails if it does not print how many packets it missed."""
    started = _start(tmp_path, "true")
    with (
        pytest.raises(StepFailed, match=r"it ended without a report of how many packets it missed \(log: "),
        tap.listening(started, started.stop),
    ):
        pass


def test_a_tap_that_cannot_start(tmp_path: Path) -> None:
    """A capture that cannot start fails with tcpdump's reason."""
    refused = "echo tcpdump: wire: no permission to capture >&2; exit 1"
    started = _start(tmp_path, "true", begin=refused)
    with pytest.raises(StepFailed, match="no permission to capture"), tap.listening(started, started.stop):
        raise AssertionError("it must not come to this")


def test_a_tap_that_ended_early(tmp_path: Path) -> None:
    """A capture that ended early fails, whatever it printed."""
    started = _start(tmp_path, "true", middle="echo 0 packets dropped by kernel; exit 0")
    with (
        pytest.raises(StepFailed, match="it ended with exit code 0"),
        tap.listening(started, started.stop),
    ):
        assert started.wait(5)


def test_an_error_within_ends_the_tap(tmp_path: Path) -> None:
    """An exception inside the context ends the capture and is raised."""
    started = _start(tmp_path, "true")
    with pytest.raises(ZeroDivisionError), tap.listening(started, started.stop):
        raise ZeroDivisionError
    assert not started.running
