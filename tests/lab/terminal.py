"""Runs a command in a pseudo-terminal, and reads what a user sees on its screen."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

_PART = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")
_PATIENCE_S = 120.0


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The output of a command that has ended. raw: with all control sequences. code: its exit code."""

    code: int
    raw: str

    @property
    def screen(self) -> list[str]:
        """The lines that stay on the screen."""
        lines, row, column = [""], 0, 0
        for part in _PART.finditer(self.raw):
            number, letter, end, text = part.groups()
            if letter == "A":
                row = max(0, row - int(number or 1))
            elif letter == "K":
                lines[row] = "" if number == "2" else lines[row][:column]
            elif end == "\r":
                column = 0
            elif end == "\n":
                row += 1
                lines += [""] * (row + 1 - len(lines))
            elif text:
                lines[row] = lines[row][:column].ljust(column) + text + lines[row][column + len(text) :]
                column += len(text)
        return lines

    @property
    def has_cursor(self) -> bool:
        """True if the cursor is visible at the end."""
        return self.raw.rfind("\x1b[?25h") >= self.raw.rfind("\x1b[?25l")

    @property
    def colours(self) -> set[str]:
        """The control sequences that set a colour."""
        return set(re.findall(r"\x1b\[(?:[0-9]+;)*(?:3[0-7]|9[0-7]|38;[0-9;]+)m", self.raw))


def seen(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    columns: int = 80,
    rows: int = 24,
    interrupt_at: Callable[[str], bool] = lambda _: False,
) -> Seen:
    """Runs a command in a terminal of this size.

    interrupt_at: receives the output so far; returns True to type Ctrl-C, which happens once.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    clean = {name: value for name, value in environment.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    process = subprocess.Popen(
        command,
        env={"TERM": "xterm-256color"}
        | clean
        | {name: environment[name] for name in ("NO_COLOR",) if name in environment},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    output, interrupted, until_s = b"", False, time.monotonic() + _PATIENCE_S
    try:
        while time.monotonic() < until_s:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    data = os.read(ours, 65536)
                except OSError:  # the terminal has no process any more
                    break
                output += data
            if not interrupted and interrupt_at(output.decode(errors="replace")):
                interrupted = True
                os.write(ours, b"\x03")
        code = process.wait(timeout=10)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait()
        os.close(ours)
    return Seen(code=code, raw=output.decode(errors="replace"))
