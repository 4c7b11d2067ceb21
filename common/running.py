"""Runs a program until it ends. A program that takes too long, or is interrupted, is ended with its children."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

_LOOK_S = 0.5


class ProgramFailed(Exception):
    """A program failed. The text is one line with the program's name and the reason."""


class CannotStart(ProgramFailed):
    """A program cannot be started. reason: the system's reason."""

    def __init__(self, command: Sequence[str], error: OSError) -> None:
        self.reason = error.strerror or str(error)
        is_missing = isinstance(error, FileNotFoundError)
        super().__init__(f"{command[0]} is not installed" if is_missing else f"{command[0]}: {self.reason}")


class TookTooLong(ProgramFailed):
    """A program did not end within limit_s seconds."""

    def __init__(self, command: Sequence[str], limit_s: float) -> None:
        self.limit_s = limit_s
        super().__init__(f"{command[0]} took more than {limit_s:g} s")


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A program that has ended.

    program: its name. code: its exit code; minus the signal's number if a signal ended it. out, errors: its output.
    """

    program: str
    code: int
    out: str
    errors: str

    def checked(self) -> Self:
        """Returns itself. Raises ProgramFailed, with the program's last line, if the exit code is another than 0."""
        if self.code != 0:
            said = (self.errors.strip() or self.out.strip()).splitlines()
            last = f": {said[-1].strip()}" if said else ""
            raise ProgramFailed(f"{self.program} ended with exit code {self.code}{last}")
        return self


def finished(
    command: Sequence[str],
    limit_s: float | None,
    *,
    environment: Mapping[str, str] | None = None,
    text_in: str | None = None,
    stdin: IO[bytes] | None = None,
    folder: Path | None = None,
    merges: bool = False,
    look: Callable[[], None] | None = None,
    begin: Callable[[], None] | None = None,
    own_session: bool = True,
) -> Finished:
    """Runs a program. Raises CannotStart, and TookTooLong after limit_s seconds.

    environment, folder: None for those of this process. text_in, stdin: the text, or the file, that the program reads;
    nothing without either. merges: True to have the errors in `out`, among the other lines. look: called every half
    second; its exception ends the program. begin: called in the new process, before the program.
    own_session: False for a program that never asks on a terminal, to save time: the kernel's scheduler has a group for
    each session.
    """
    try:
        process: subprocess.Popen[str] = subprocess.Popen(
            command,
            stdin=subprocess.PIPE if text_in is not None else stdin or subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merges else subprocess.PIPE,
            text=True,
            errors="replace",
            env=environment,
            cwd=folder,
            start_new_session=own_session,
            process_group=None if own_session else 0,
            preexec_fn=begin,
        )
    except OSError as error:
        raise CannotStart(command, error) from error
    with process:
        try:
            out, errors = _communicate(process, text_in, limit_s, look)
        except BaseException as error:
            _end(process)
            if limit_s is not None and isinstance(error, subprocess.TimeoutExpired):
                raise TookTooLong(command, limit_s) from None
            raise
    return Finished(program=command[0], code=process.returncode, out=out, errors=errors or "")


def _communicate(
    process: subprocess.Popen[str], text_in: str | None, limit_s: float | None, look: Callable[[], None] | None
) -> tuple[str, str | None]:
    if look is None:
        return process.communicate(text_in, timeout=limit_s)
    end_s = None if limit_s is None else time.monotonic() + limit_s
    while True:
        try:
            return process.communicate(text_in, timeout=_LOOK_S)
        except subprocess.TimeoutExpired:
            if end_s is not None and time.monotonic() > end_s:
                raise
        text_in = None  # the program has received it
        look()


def _end(process: subprocess.Popen[Any]) -> None:
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)


def piped(first: Sequence[str], second: Sequence[str], limit_s: float) -> Finished:
    """Runs two programs, of which the second reads the output of the first. Raises CannotStart and TookTooLong.

    Returns the second; its exit code is that of the first if only the first has failed.
    """
    try:
        process = subprocess.Popen(first, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True)
    except OSError as error:
        raise CannotStart(first, error) from error
    with process:
        try:
            done = finished(second, limit_s, stdin=process.stdout)
        except BaseException:
            _end(process)
            raise
    return Finished(program=done.program, code=done.code or process.returncode, out=done.out, errors=done.errors)
