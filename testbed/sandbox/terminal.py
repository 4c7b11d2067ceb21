"""The terminal from which `priolab sandbox` was started, while the client has it.

Two named pipes of the sandbox's folder lead to the client: one with what happens here (keystrokes.py), and one with a
byte for each such event. In a guest the first is the second console of its kernel, which is interrupted at each key.
The second is the kernel's standard input: there a guest waits that stands still (pty.py).
"""

import os
import select
import signal
import sys
import termios
import threading
import time
import tty
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Self

from priolab.testbed.sandbox.busy_program import interrupt
from priolab.testbed.sandbox.keystrokes import BEGINS, MOST_BYTES, SIGNALS, TAKEN, Size, of_keys, of_size
from priolab.testbed.sandbox.spec import Files

KERNEL_WORD = "con1=fd:3,null"
"""The word of a guest kernel's command line that makes descriptor 3 the input of its second console."""

_Settings = list[int | list[bytes | int]] | list[int | list[bytes]] | list[int | list[int]]
_SOON_S = 0.2
"""The time in which a key that sends a signal should arrive. If it does not, a program is at work all the time."""
_MOST_ON_THE_WAY = 2048
"""Bytes from which on no more keys are read. When its buffer of 4,096 bytes is full, the console never wakes again."""
_END, _SIZED, _TAKEN = b"e", b"s", b"t"
_JOINED = 'exec 0<"$0" 3<"$1"; shift; exec "$@"'


def is_here() -> bool:
    """True if standard input and standard output of this process are terminals."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def window() -> Size:
    """Returns the size of the window."""
    size = os.get_terminal_size(sys.stdout.fileno())
    return Size(rows=size.lines, columns=size.columns)


def joined(command: Sequence[str], files: Files) -> list[str]:
    """Returns the command of a guest's kernel with the two pipes as its descriptors."""
    return ["sh", "-c", _JOINED, str(files.bell), str(files.keys), *command]


class Terminal:
    """Passes on what happens at the terminal. A context manager, which puts the terminal back as it was."""

    def __init__(self, files: Files) -> None:
        """Makes the pipes."""
        self._files = files
        self._input = sys.stdin.fileno()
        self._sent_bytes = self._taken_bytes = 0

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._keys, self._bell = (self._pipe(stack, path) for path in (self._files.keys, self._files.bell))
            self._news, self._tell = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
            stack.callback(os.close, self._news)
            stack.callback(os.close, self._tell)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _pipe(self, stack: ExitStack, path: Path) -> int:
        os.mkfifo(path, 0o600)
        descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        stack.callback(os.close, descriptor)
        return descriptor

    def hear(self, step: str, scratch: Path | None) -> None:
        """Hears a progress line. When the client begins, every key is the client's.

        scratch: the folder of the guest's process; None without a guest.
        """
        if step == BEGINS:
            self._begin(scratch)
        elif step.startswith(TAKEN):
            self._taken_bytes = int(step.removeprefix(TAKEN))
            self._tell_thread(_TAKEN)

    def _begin(self, scratch: Path | None) -> None:
        before = termios.tcgetattr(self._input)
        self._stack.callback(partial(self._restore, before))
        tty.setraw(self._input, termios.TCSANOW)
        self._stack.callback(signal.signal, signal.SIGWINCH, signal.signal(signal.SIGWINCH, self._resized))
        thread = threading.Thread(target=self._pass_on, args=(scratch,), daemon=True)
        thread.start()
        self._stack.callback(thread.join)
        self._stack.callback(self._tell_thread, _END)

    def _restore(self, before: _Settings) -> None:
        with suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(self._input, termios.TCSANOW, before)

    def _resized(self, _: int, __: FrameType | None) -> None:
        self._tell_thread(_SIZED)

    def _tell_thread(self, what: bytes) -> None:
        with suppress(BlockingIOError):
            os.write(self._tell, what)

    def _pass_on(self, scratch: Path | None) -> None:
        """Passes on keys and sizes, in a thread of its own, until the end of the session or of the terminal."""
        due_s: float | None = None
        while True:
            on_the_way = self._sent_bytes - self._taken_bytes
            if not on_the_way:
                due_s = None
            listened = [self._news, *([self._input] if on_the_way < _MOST_ON_THE_WAY else [])]
            ready = select.select(listened, [], [], None if due_s is None else max(0, due_s - time.monotonic()))[0]
            if not ready and scratch is not None:
                due_s = None
                self._send(of_keys(b""))
                interrupt(scratch)
            elif self._news in ready:
                told = os.read(self._news, MOST_BYTES)
                if _END in told:
                    return
                if _SIZED in told:
                    self._send(of_size(window()))
            elif keys := self._read():
                self._send(of_keys(keys))
                if due_s is None and scratch is not None and SIGNALS.intersection(keys):
                    due_s = time.monotonic() + _SOON_S
            else:
                return

    def _send(self, frame: bytes) -> None:
        with suppress(BlockingIOError):  # so many keys that nobody has read
            self._sent_bytes += os.write(self._keys, frame)
            os.write(self._bell, b"\n")

    def _read(self) -> bytes:
        with suppress(OSError):
            return os.read(self._input, MOST_BYTES)
        return b""
