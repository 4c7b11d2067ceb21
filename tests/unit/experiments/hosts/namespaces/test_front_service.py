"""Tests of how a front's server is marked in a guest, and of what the guest's kernel says about it."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from priolab.common.errors import InvalidRun
from priolab.common.process.processes import Process
from priolab.experiments.hosts.namespaces import front_service
from priolab.experiments.hosts.namespaces.front_service import serving
from priolab.experiments.scenario.service import Service

_SERVICE = Service(wake_ns=20_000, kb_ns=1000)


class _Kernel:
    """Stands for the file of the guest's kernel: takes marks, and gives the spans in parts."""

    def __init__(self, *parts: str) -> None:
        self.marks: list[str] = []
        self._parts = [*parts, ""]

    def write_text(self, mark: str) -> None:
        self.marks.append(mark)

    def read_text(self) -> str:
        return self._parts.pop(0)


def _served(monkeypatch: pytest.MonkeyPatch, journal: Path, kernel: _Kernel, counts: str) -> Sequence[str]:
    """Runs a server in the context; returns the marks when it was started, and whether the journal was there then."""
    monkeypatch.setattr(front_service, "_KERNELS", kernel)
    monkeypatch.setattr(front_service, "read_beginning", lambda _: counts)
    started: list[str] = []

    def start(command: tuple[str, ...], log: Path) -> Process:
        started.extend(kernel.marks)
        return Process("the front", command, log)

    with serving(_SERVICE, journal, start, ("sleep", "60"), journal.with_name("log")):
        assert not journal.exists()
    return started


def test_a_server_is_marked_as_it_starts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The lab marks itself, starts the server, and unmarks itself; at the end it writes all that the kernel says."""
    kernel, journal = _Kernel("1 2\n3 4\n", "5 7\n"), tmp_path / "service.jsonl"
    marks = _served(monkeypatch, journal, kernel, "syscr: 1\nservice_wake: 20000\nservice_kb: 1000\n")
    assert (marks, kernel.marks) == (["20000 1000"], ["20000 1000", "0 0"])
    written = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [(span["t_ns"], span["until_ns"]) for span in written] == [(1, 2), (3, 4), (5, 7)]


@pytest.mark.parametrize(("wake_ns", "seen"), [(30_000, "30us[+]1us/KB"), (0, "1us/KB")])
def test_a_process_with_another_service_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wake_ns: int, seen: str
) -> None:
    """The run is invalid if a process of the front has another service time."""
    counts = f"service_wake: {wake_ns}\nservice_kb: 1000\n"
    with pytest.raises(InvalidRun, match=rf"SERVICE of the front's processes.*20us\+1us/KB.*{seen}"):
        _served(monkeypatch, tmp_path / "service.jsonl", _Kernel(), counts)
