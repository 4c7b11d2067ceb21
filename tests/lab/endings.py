"""Bad ends of a run: the error that must be printed, and the traces that must not be left on the machine."""

import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.conftest import Done, Lab

_SETTLE_S = 10.0
_SOON_S = 25.0
_SPACES = ("net", "pid", "user")
_OF_CONTAINERS = re.compile("(br-|veth)[0-9a-f]{7,}")  # an engine may be at work besides


def must_have_failed(done: Done, *words: str) -> None:
    """Exit code, status, a reason with these words, and the log it names."""
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
    """No process, no temporary file, and no more partial folders than that."""
    end = time.monotonic() + _SETTLE_S
    while lab.processes() and time.monotonic() < end:
        time.sleep(0.1)
    assert lab.processes() == []
    assert list(lab.temporary.iterdir()) == []
    assert len(list(lab.results.glob("*.partial"))) == partial


@dataclass(kw_only=True)
class Traces:
    """What a lab was seen to have while it ran; made before it starts.

    Its processes need not name its folders, so they are known by descent: process id and start time, which no two
    share. namespaces: those that are not this process's.
    """

    interfaces: set[str] = field(default_factory=lambda: _interfaces())
    processes: set[tuple[int, int]] = field(default_factory=set)
    namespaces: set[str] = field(default_factory=set)

    def look(self, lab_pid: int) -> None:
        """Note down what it has now."""
        own = {_namespace(os.getpid(), space) for space in _SPACES}
        for pid in descendants(lab_pid):
            if (began := _start_time(pid)) is not None:
                self.processes.add((pid, began))
                self.namespaces |= {name for space in _SPACES if (name := _namespace(pid, space))} - own

    def networks(self) -> int:
        """How many network namespaces were seen."""
        return sum(name.startswith("net:") for name in self.namespaces)

    def must_be_gone(self) -> None:
        """Waits a moment for the kernel to finish."""
        end = time.monotonic() + _SETTLE_S
        # The kernel gives a namespace's number to a new one: whoever starts from here on has nothing to do with this.
        ended = int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))
        while (left := self._left(ended)) and time.monotonic() < end:
            time.sleep(0.1)
        assert not left, left

    def _left(self, ended: int) -> list[str]:
        mounts = Path("/proc/self/mountinfo").read_text()
        return [
            *(f"process {pid}" for pid, began in self.processes if _start_time(pid) == began),
            *(
                f"{name} of process {pid} ({words_of(pid)})"
                for pid in _pids()
                if (began := _start_time(pid)) is not None and began < ended
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
    """A lab that has told of this step, in a process group of its own as a shell would have it."""
    running = subprocess.Popen(
        lab.command(*words),
        env=lab.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    try:
        assert running.stdout is not None
        for line in running.stdout:
            traces.look(running.pid)
            if until in line:
                break
        else:
            raise AssertionError(running.communicate()[1])
        yield running
    finally:
        running.kill()
        running.communicate(timeout=_SOON_S)


def descendants(pid: int) -> list[int]:
    """A process and all that descend from it."""
    parents = {each: int(fields[1]) for each in _pids() if (fields := _stat(each))}
    family = [pid]
    for member in family:
        family += [child for child, parent in parents.items() if parent == member]
    return family


def words_of(pid: int) -> str:
    """Its command line; empty when it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _pids() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _start_time(pid: int) -> int | None:
    fields = _stat(pid)
    return int(fields[19]) if fields else None


def _namespace(pid: int, space: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/{space}")
    except OSError:
        return ""


def _interfaces() -> set[str]:
    return {name for _, name in socket.if_nameindex() if not _OF_CONTAINERS.fullmatch(name)}
