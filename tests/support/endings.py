"""Checks for runs that end badly: the error that the lab prints, and that nothing is left on the machine."""

import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from priolab.common.descriptors import process_ids, stat, with_descendants
from tests.support.lab import Done, Lab

_SETTLE_S = 10.0
_SOON_S = 25.0
_SPACES = ("net", "pid", "user")
_OF_CONTAINERS = re.compile("(br-|veth)[0-9a-f]{7,}")  # a container engine may make them meanwhile


def must_have_failed(done: Done, *words: str) -> None:
    """Checks for exit code 1, the status `failed`, a reason with these words, and the log that the reason names."""
    assert done.code == 1
    assert done.summary is not None, done.err
    assert done.summary["status"] == "failed"
    for arm in done.summary["arms"]:
        assert arm["script"]["first_byte_ms"] is None
        for word in words:
            assert word in arm["reason"]
        log = Path(arm["reason"].rpartition("(log: ")[2].rstrip(")"))
        assert log.exists(), "the log that is named must be there"


def nothing_is_left(lab: Lab, *, partial: int = 0) -> None:
    """Checks that no process and no temporary file is left, and `partial` partial folders."""
    end = time.monotonic() + _SETTLE_S
    while lab.processes() and time.monotonic() < end:
        time.sleep(0.1)
    assert lab.processes() == []
    assert list(lab.temporary.iterdir()) == []
    assert len(list(lab.results.glob("*.partial"))) == partial


@dataclass(kw_only=True)
class Traces:
    """The processes, namespaces and interfaces of a lab that runs; must be created before the lab starts.

    A process's command line need not name the lab's folders, so the lab's processes are found by descent. A process is
    identified by its id and its start time. interfaces: the machine's interfaces before the lab started. namespaces:
    without the namespaces of this process.
    """

    interfaces: set[str] = field(default_factory=lambda: _interfaces())
    processes: set[tuple[int, int]] = field(default_factory=set)
    namespaces: set[str] = field(default_factory=set)

    def look(self, lab_pid: int) -> None:
        """Records the processes and namespaces that the lab has now."""
        own = {_namespace(os.getpid(), space) for space in _SPACES}
        for pid in with_descendants(lab_pid):
            if (began := _start_time(pid)) is not None:
                self.processes.add((pid, began))
                self.namespaces |= {name for space in _SPACES if (name := _namespace(pid, space))} - own

    def networks(self) -> int:
        """Returns the number of network namespaces that were recorded."""
        return sum(name.startswith("net:") for name in self.namespaces)

    def must_be_gone(self) -> None:
        """Waits until all recorded traces are gone. Raises AssertionError after ten seconds."""
        end = time.monotonic() + _SETTLE_S
        # The kernel reuses the numbers of namespaces, so processes that start from now on are not checked, nor those
        # of other tests. A process that a lab leaves behind is no longer a descendant of any test.
        ended = int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))
        while (left := self._left(ended)) and time.monotonic() < end:
            time.sleep(0.1)
        assert not left, left

    def _left(self, ended: int) -> list[str]:
        mounts = Path("/proc/self/mountinfo").read_text()
        others = _of_other_workers()
        return [
            *(f"process {pid}" for pid, began in self.processes if _start_time(pid) == began),
            *(
                f"{name} of process {pid} ({words_of(pid)})"
                for pid in process_ids()
                if pid not in others and (began := _start_time(pid)) is not None and began < ended
                for name in self._spaces(pid) & self.namespaces
            ),
            *(f"{name} mounted" for name in self.namespaces if name in mounts),
            *(f"interface {name}" for name in _interfaces() - self.interfaces),
        ]

    @staticmethod
    def _spaces(pid: int) -> set[str]:
        return {_namespace(pid, space) for space in _SPACES}


@contextmanager
def started(lab: Lab, traces: Traces, *words: str, until: str) -> Iterator[subprocess.Popen[str]]:
    """Starts a lab in a process group of its own, as a shell does; yields when the lab has printed the text `until`.

    The lab draws no picture, and prints its progress to standard error.
    """
    running = subprocess.Popen(
        lab.command(*words, "--print-folder"),
        env=lab.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    try:
        assert running.stderr is not None
        said = []
        for line in running.stderr:
            traces.look(running.pid)
            said.append(line)
            if until in line:
                break
        else:
            raise AssertionError("".join(said))
        yield running
    finally:
        running.kill()
        running.communicate(timeout=_SOON_S)


def _of_other_workers() -> set[int]:
    """Returns the ids of all processes that other workers of pytest-xdist have started."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return set()
    return {*with_descendants(os.getppid())} - {*with_descendants(os.getpid())}


def words_of(pid: int) -> str:
    """Returns the command line of a process; empty if the process has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _start_time(pid: int) -> int | None:
    fields = stat(pid)
    return int(fields[19]) if fields else None


def _namespace(pid: int, space: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/{space}")
    except OSError:
        return ""


def _interfaces() -> set[str]:
    return {name for _, name in socket.if_nameindex() if not _OF_CONTAINERS.fullmatch(name)}
