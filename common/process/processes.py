"""Runs programs as steps of the lab's work. A long-lived program is a context manager, whose end stops the program.

A program is stopped by SIGTERM and, some seconds later, by SIGKILL. A program that ended by another signal is an error.
"""

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from priolab.common.errors import StepFailed, TimedOut
from priolab.common.process.program_logs import tail
from priolab.common.process.search_path import program_environment
from priolab.common.running import CannotStart, TookTooLong, finished

_STOP_S = 5.0
_RETRY_S = 0.05
_PR_SET_PDEATHSIG = 1
_CLONE_NEWTIME = 0x80  # <linux/sched.h>
_TIME = Path("/proc/self/timens_offsets")  # time_namespaces(7)
_libc = ctypes.CDLL(None, use_errno=True)

CALMER = "try again when this machine is less busy"
"""The remedy for a program that took too long."""


def module(name: str) -> tuple[str, ...]:
    """Returns the start of a command that runs a Python module.

    With -P, Python imports nothing from the current folder.
    """
    return (sys.executable, "-P", "-m", name)


def die_with_parent(by: signal.Signals = signal.SIGKILL) -> None:
    """Makes the kernel send this process the signal `by` when the parent thread ends.

    So kill -9 of the lab leaves no program running.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, by)


def set_back(back_s: int) -> None:
    """Gives the program that this process begins next a monotonic clock that is so far behind this process's.

    Does nothing in a kernel without time namespaces. Raises OSError.
    """
    if not _TIME.exists():
        return
    if _libc.unshare(_CLONE_NEWTIME) != 0:
        raise OSError(ctypes.get_errno(), "a new time namespace")
    _TIME.write_text(f"monotonic -{back_s} 0\nboottime -{back_s} 0\n")


@dataclass(frozen=True, kw_only=True)
class ProcessSettings:
    """The surroundings of a program.

    environment: its variables; None for those of this process. stdout: a descriptor that gets the standard output
    instead of the log. cgroup: the cgroup to start the program in. root: the folder that is the program's file system
    (chroot(2)), in which the command's paths are looked up; None for that of this process. back_s: how far the
    monotonic clock of the program's own time namespace is behind this process's; None for no such namespace. Kernels
    without time namespaces ignore it.
    """

    environment: Mapping[str, str] | None = None
    stdout: int | None = None
    cgroup: Path | None = None
    root: Path | None = None
    back_s: int | None = None


USUAL = ProcessSettings()
"""Those of a program in the surroundings of this process."""


def _begin_in(settings: ProcessSettings) -> None:
    die_with_parent()
    if settings.back_s is not None:
        set_back(settings.back_s)
    if settings.cgroup is not None:
        (settings.cgroup / "cgroup.procs").write_text("0")
    if settings.root is not None:
        os.chroot(settings.root)
        os.chdir("/")


def _before_the_program(settings: ProcessSettings) -> Callable[[], None] | None:
    """Returns the function to call between fork(2) and execve(2); None if no call is needed.

    subprocess starts a program faster without such a function.

    The children of the first process of a PID namespace need no signal at their parent's end: when that process ends,
    the kernel kills all other processes in the namespace.
    """
    if (settings.cgroup, settings.root, settings.back_s) != (None, None, None):
        return partial(_begin_in, settings)
    return None if os.getpid() == 1 else die_with_parent


def run(
    command: Sequence[str],
    *,
    step: str,
    text_in: str | None = None,
    timeout_s: float = 30.0,
    environment: Mapping[str, str] | None = None,
    if_too_slow: str = CALMER,
    folder: Path | None = None,
    check_alive: Callable[[], None] | None = None,
) -> str:
    """Runs a short command; returns its standard output. Raises StepFailed, and TimedOut after timeout_s.

    step: the name of this step in errors. text_in: the standard input. if_too_slow: the remedy in TimedOut. folder:
    the command's working directory; None for the working directory of this process. check_alive: called every half
    second; its exception ends the command.
    """
    variables = program_environment(environment)
    try:
        done = finished(
            command,
            timeout_s,
            environment=variables,
            text_in=text_in,
            folder=folder,
            look=check_alive,
            own_session=False,
        )
    except CannotStart as error:
        raise StepFailed(step, str(error)) from None
    except TookTooLong:
        raise TimedOut(step, " ".join(command), timeout_s, if_too_slow) from None
    if done.code != 0:
        raise StepFailed(step, f"{' '.join(command)} ended with exit code {done.code}: {done.errors.strip()}")
    return done.out


def wait_until(ready: Callable[[], bool], timeout_s: float, check_alive: Callable[[], None], step: str) -> None:
    """Calls `ready` again and again until it returns True. Raises StepFailed after timeout_s seconds.

    check_alive: called after each attempt that failed; its exception ends the wait. step: the name of this step in
    errors.
    """
    end = time.monotonic() + timeout_s
    while not ready():
        check_alive()
        if time.monotonic() > end:
            raise StepFailed(step, f"not ready after {timeout_s:g} s")
        time.sleep(_RETRY_S)


class _Copy:
    """A forked copy of this process that runs a function. It has the methods of subprocess.Popen that Process uses."""

    def __init__(self, function: Callable[[], int], log: Path, stdout: int) -> None:
        self.returncode: int | None = None
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                with log.open("ab") as output:
                    os.dup2(stdout, 1)
                    os.dup2(output.fileno(), 2)
                os.setsid()
                code = function()
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self) -> int:
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode

    def terminate(self) -> None:
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


def readable(descriptors: Sequence[int], timeout_s: float) -> Sequence[int]:
    """Waits until a descriptor is readable, or until the timeout; returns the readable descriptors."""
    return select.select(descriptors, [], [], timeout_s)[0]


class Process:
    """A running program. name: the program's name in errors. log: the file for the program's output."""

    def __init__(self, name: str, command: Sequence[str], log: Path, settings: ProcessSettings = USUAL) -> None:
        """Starts the program, with its output in the log. Raises StepFailed."""
        self.name = name
        self.log = log
        self._sent: set[int] = set()
        self._ended: int | None = None  # the pidfd that becomes readable when the program ends
        with log.open("ab") as output:
            try:
                self._process: subprocess.Popen[bytes] | _Copy = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output if settings.stdout is None else settings.stdout,
                    stderr=output,
                    env=program_environment(settings.environment),
                    start_new_session=True,
                    preexec_fn=_before_the_program(settings),
                )
            except OSError as error:
                raise StepFailed(f"starting {name}", f"{command[0]}: {error.strerror}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.stop()
        code = self._process.returncode
        if error is None and code is not None and code < 0 and -code not in self._sent:
            raise StepFailed(self.name, self._ending(), self.log)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """True until the program has ended."""
        return self._process.poll() is None

    def check_alive(self) -> None:
        """Raises StepFailed, with the last lines of the log, if the program has ended."""
        if not self.running:
            raise StepFailed(self.name, f"{self._ending()}: {tail(self.log) or 'it wrote nothing'}", self.log)

    def wait(self, timeout_s: float) -> bool:
        """Waits for the program's end, timeout_s at most; returns True if it has ended.

        While it waits, this process sleeps in the kernel, so a virtual clock can jump over the wait.
        """
        return self.wait_or_readable(timeout_s, ())[0]

    def wait_or_readable(
        self,
        timeout_s: float,
        descriptors: Sequence[int],
        wait: Callable[[Sequence[int], float], Sequence[int]] = readable,
    ) -> tuple[bool, bool]:
        """Waits for the program's end or until one of the descriptors is readable, timeout_s at most.

        Returns (the program has ended, a descriptor was readable when the wait ended). wait: waits for descriptors
        until a timeout in s, and returns the readable ones; it may return early with none.
        """
        some = False
        if self._process.returncode is None:
            if self._ended is None:
                self._ended = os.pidfd_open(self.pid)
            found = wait([self._ended, *descriptors], timeout_s)
            has_ended = self._ended in found
            some = len(found) > has_ended
            if not has_ended or self.running:
                return False, some
        self._forget()
        return True, some

    def _forget(self) -> None:
        if self._ended is not None:
            os.close(self._ended)
            self._ended = None

    @property
    def succeeded(self) -> bool:
        """True if the program has ended with exit code 0."""
        return self._process.returncode == 0

    def check_success(self) -> None:
        """Raises StepFailed unless the program, which must have ended, ended with exit code 0."""
        if self._process.returncode != 0:
            said = None if self._signal else tail(self.log, 1)
            raise StepFailed(self.name, said or self._ending(), self.log)

    def stop(self) -> None:
        """Ends the program by SIGTERM, or by SIGKILL if SIGTERM does not end it."""
        if self.running:
            self._sent.add(signal.SIGTERM)
            self._process.terminate()
            if not self.wait(_STOP_S):
                self._sent.add(signal.SIGKILL)
                self._process.kill()
                self._process.wait()
        self._forget()

    @property
    def _signal(self) -> signal.Signals | None:
        code = self._process.returncode or 0
        # A container, like a shell, reports a signal as exit code 128 plus the signal's number.
        number = -code if code < 0 else code - 128
        return signal.Signals(number) if number in list(signal.Signals) else None

    def _ending(self) -> str:
        number = self._signal
        return f"it was ended by {number.name}" if number else f"it ended with exit code {self._process.returncode}"


class CopiedProcess(Process):
    """A forked copy of this process that runs one function and ends."""

    def __init__(self, name: str, function: Callable[[], int], log: Path, stdout: int) -> None:
        """Runs the function in the copy. The function's result is the exit code."""
        self.name = name
        self.log = log
        self._sent = set()
        self._ended = None
        self._process = _Copy(function, log, stdout)
