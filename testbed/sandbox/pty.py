"""The client's pseudo-terminal (pty), and a clock that stands still while the client waits for it.

In a guest, the client's programs give way to the kernel's own threads (SCHED_IDLE), which carry the keys. So Ctrl-C
reaches a program that uses the processor all the time. While the foreground job waits for the terminal, this process
waits for a line of the host's (kernel_patches/host_line.py), and the whole guest stands still until something happens
at the terminal of the host. On a real clock nothing stands still.
"""

import fcntl
import os
import selectors
import struct
import termios
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from priolab.common.descriptors import process_ids, read_beginning, stat
from priolab.testbed.sandbox.blocked_syscall import Wait, wait_of
from priolab.testbed.sandbox.keystrokes import BEGINS, SAID, SIGNALS, TAKEN, Keystrokes, Size
from priolab.testbed.sandbox.spec import Files, SandboxSpec

_KEYS = Path("/dev/tty1")
"""In a guest, the keys are those of the kernel's second console (terminal.py)."""
_HOST_LINE = Path("/sys/module/um_arch/parameters/host_line")
_CHUNK_BYTES = 4096
_SHORT_NS = 10**6
"""The time from the last key or output to the first look at what the foreground job waits for."""
_PART = 8
"""Later looks come after this part of the time since then."""
_PATIENCE_NS = 10**9
"""The time since then in which a job that waits also for something else may get it."""
_SETTLE_S = 0.001
_GROUP = 2  # among the fields of /proc/PID/stat from the state on


class Pty:
    """A pseudo-terminal for the client."""

    def __init__(
        self, spec: SandboxSpec, files: Files, selector: selectors.BaseSelector, hear: Callable[[bytes], None]
    ) -> None:
        """hear: called with what the client writes."""
        assert spec.terminal is not None, "the spec has a terminal"
        self._isolated = spec.isolated
        self._selector = selector
        self._hear = hear
        self._typed = Keystrokes()
        self._bells = 0
        self._waiting = b""
        self._stirred_ns = self._due_ns = 0
        self._master, self.slave = os.openpty()
        os.set_blocking(self._master, False)
        self._own = {os.ttyname(self.slave), "/dev/tty"}
        self._resize(spec.terminal)
        self._keys = os.open(_KEYS if spec.isolated else files.keys, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
        if spec.isolated:
            tty.setraw(self._keys)
        selector.register(self._keys, selectors.EVENT_READ, self._read_keys)
        selector.register(self._master, selectors.EVENT_READ, self._read)

    def take(self) -> None:
        """Makes it the controlling terminal of this process, the first of a session, whose input it is."""
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        if self._isolated:
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))

    def begin(self) -> None:
        """Leaves the client its end, and tells the host that it begins."""
        os.close(self.slave)
        _tell(BEGINS)
        self._stir()

    def look(self, now_ns: int) -> int:
        """Lets the clock stand still if the foreground job waits for the terminal; returns when to look again."""
        if now_ns < self._due_ns:
            return self._due_ns
        if self._waiting:
            self._pass_on()
            return self._due_ns
        quiet_ns = now_ns - self._stirred_ns
        idle = self._isolated and self._typed.frames >= self._bells  # no key is on its way
        wait = self._wait() if idle else Wait.ELSEWHERE
        if wait is Wait.ALONE or (wait is Wait.ALSO and quiet_ns >= _PATIENCE_NS):
            self._bells += len(host_line())
            self._stir()
            return self._due_ns
        self._due_ns = now_ns + max(_SHORT_NS, quiet_ns // _PART)
        return self._due_ns

    def settle(self) -> None:
        """Waits until the kernel has passed on what the client wrote last."""
        time.sleep(_SETTLE_S)

    def _stir(self) -> None:
        self._stirred_ns = time.monotonic_ns()
        self._due_ns = self._stirred_ns + _SHORT_NS

    def _read(self) -> bool:
        """Hears what the client has written; returns False if no process has the terminal any more."""
        try:
            data = os.read(self._master, _CHUNK_BYTES)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self._hear(data)
        _tell(SAID)
        self._stir()
        return True

    def _read_keys(self) -> None:
        """Reads keys, and passes them on. One that sends a signal waits in a guest until no program works any more:
        a signal between two programs of a loop would be lost.
        """
        now = not self._isolated
        with suppress(BlockingIOError):
            for event in self._typed.hear(os.read(self._keys, _CHUNK_BYTES)):
                if isinstance(event, Size):
                    self._resize(event)
                else:
                    self._waiting += event
                    now = now or not event
        if now or not SIGNALS.intersection(self._waiting):
            self._pass_on()
        self._stir()

    def _pass_on(self) -> None:
        """Passes on keys. Those for which the terminal has no room wait, and no others are read."""
        if self._waiting:
            with suppress(OSError):  # no room, or no process has the terminal
                self._waiting = self._waiting[os.write(self._master, self._waiting) :]
        hears = self._keys in self._selector.get_map()
        if self._waiting and hears:
            self._selector.unregister(self._keys)
        elif not self._waiting:
            _tell(f"{TAKEN}{self._typed.bytes}")
            if not hears:
                self._selector.register(self._keys, selectors.EVENT_READ, self._read_keys)
        self._stir()

    def _resize(self, size: Size) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("=HHHH", size.rows, size.columns, 0, 0))

    def _wait(self) -> Wait:
        """Returns what the foreground job waits for."""
        try:
            group = str(os.tcgetpgrp(self._master))
        except OSError:  # no process has the terminal
            return Wait.ELSEWHERE
        members = [pid for pid in process_ids() if (fields := stat(pid)) is not None and fields[_GROUP] == group]
        return max((self._wait_of(pid, task) for pid in members for task in _tasks(pid)), default=Wait.ELSEWHERE)

    def _wait_of(self, pid: int, task: str) -> Wait:
        line = read_beginning(f"/proc/{pid}/task/{task}/syscall")
        with suppress(OSError):
            return wait_of(line, partial(self._is_own, pid), partial(_memory, pid), partial(_watched, pid))
        return Wait.ELSEWHERE

    def _is_own(self, pid: int, descriptor: int) -> bool:
        with suppress(OSError):
            return os.readlink(f"/proc/{pid}/fd/{descriptor}") in self._own
        return False


def _tell(step: str) -> None:
    print(f"@ {step}", flush=True)


def host_line() -> bytes:
    """Stops the guest until the host has a line; returns this line, or nothing if there will be no more."""
    line = os.open(_HOST_LINE, os.O_RDONLY)
    try:
        return os.read(line, _CHUNK_BYTES)
    finally:
        os.close(line)


def _tasks(pid: int) -> list[str]:
    with suppress(OSError):
        return os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - faster than a Path of each
    return []


def _memory(pid: int, address: int, size: int) -> bytes:
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        memory.seek(address)
        return memory.read(size)


def _watched(pid: int, descriptor: int) -> frozenset[int]:
    return frozenset(_watched_in(read_beginning(f"/proc/{pid}/fdinfo/{descriptor}")))


def _watched_in(text: str) -> Iterator[int]:
    """Yields the descriptors that an epoll descriptor watches, from its text in /proc/PID/fdinfo (proc(5))."""
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        if name == "tfd":
            yield int(rest.split()[0])
