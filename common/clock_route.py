"""Measures how the clock is read: through the vDSO or by a system call.

Rules:
1. A child process reads the clock under a seccomp filter, which kills it with SIGSYS if it asks for the time by a
   system call. If the child is killed, the clock is read by a system call. If the child survives, the clock is read
   through the vDSO.
2. Survival proves nothing if the filter does not work. So another child makes the system call, and the filter must kill
   this child.
3. If the measurement fails, the route is None, and the field `reason` says why. The route is never guessed.
"""

import ctypes
import os
import platform
import resource
import select
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

# <linux/prctl.h>, <linux/seccomp.h>, <linux/bpf_common.h>
_PR_SET_PDEATHSIG = 1
_PR_SET_SECCOMP = 22
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_KILL = 0x8000_0000
_ALLOW = 0x7FFF_0000
_LOAD = 0x20  # loads the 32-bit word at k of struct seccomp_data: 0 call number, 4 architecture, 16 first argument
_IF_EQUAL = 0x15
_IF_GREATER = 0x25
_RETURN = 0x06
_INSTRUCTION = struct.Struct("@HBBI")  # code, instructions to skip if true, if false, k

_NO_FILTER = 125
_TIMEOUT_S = 20.0
_libc = ctypes.CDLL(None, use_errno=True)

Instruction = tuple[int, int, int, int]


@dataclass(frozen=True, kw_only=True)
class Calls:
    """The numbers of an architecture's system calls that read the clock. architecture: its AUDIT_ARCH.

    others: the numbers of gettimeofday(2) and time(2), if the architecture has them.
    """

    architecture: int
    clock_gettime: int
    others: tuple[int, ...]


CALLS: Mapping[str, Calls] = MappingProxyType(
    {
        "x86_64": Calls(architecture=0xC000_003E, clock_gettime=228, others=(96, 201)),
        "aarch64": Calls(architecture=0xC000_00B7, clock_gettime=113, others=(169,)),
    }
)
"""The system calls by architecture, as platform.machine() names it."""


class Route(StrEnum):
    """The way in which a program reads the clock."""

    VDSO = "vdso"
    """Without a system call, from memory that the kernel shares with the program."""
    SYSTEM_CALL = "system call"


@dataclass(frozen=True, kw_only=True)
class ClockRoute:
    """The result of a measurement. route: None if it is unknown. reason: why the route is unknown, else None."""

    route: Route | None
    reason: str | None = None


def filter_against(calls: Calls) -> list[Instruction]:
    """Returns a seccomp(2) filter: it kills a process that reads CLOCK_REALTIME or CLOCK_MONOTONIC by a system call.

    Other clocks, such as those of processor time, can be read only by a system call, so the filter allows them.
    """
    program: list[Instruction] = [
        (_LOAD, 0, 0, 4),
        (_IF_EQUAL, 1, 0, calls.architecture),
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, 0),
    ]
    for number in calls.others:
        program += [(_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, _KILL)]
    return [
        *program,
        (_IF_EQUAL, 1, 0, calls.clock_gettime),
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, 16),
        (_IF_GREATER, 1, 0, time.CLOCK_MONOTONIC),
        (_RETURN, 0, 0, _KILL),
        (_RETURN, 0, 0, _ALLOW),
    ]


def route_of_python() -> ClockRoute:
    """Finds out whether this process reads the clock through the vDSO or by a system call."""
    return _found(lambda forbid: _ending_of(forbid, lambda: time.clock_gettime_ns(time.CLOCK_MONOTONIC)))


def route_of(command: Sequence[str], environment: Mapping[str, str]) -> ClockRoute:
    """Runs a program that reads the clock and then ends with exit code 0; returns the route of its reads."""

    def run(forbid: Callable[[], None]) -> int:
        return subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=forbid,
            timeout=_TIMEOUT_S,
            check=False,
        ).returncode

    return _found(run)


def _found(run: Callable[[Callable[[], None]], int]) -> ClockRoute:
    """Runs a program that reads the clock under the filter. Returns the route that the program's exit code shows.

    run: starts the program and returns its exit code, negative for a signal. `run` gets a function that installs the
    filter, and must call this function in the new process before the program begins.
    """
    calls = CALLS.get(platform.machine())
    if calls is None:
        return ClockRoute(route=None, reason=f"the lab does not know the system calls of {platform.machine()}")
    program = filter_against(calls)

    def forbid() -> None:
        _forbid(program)

    def ask() -> None:
        _libc.syscall(calls.clock_gettime, time.CLOCK_MONOTONIC, ctypes.create_string_buffer(16))

    try:
        code = run(forbid)
        if code == -signal.SIGSYS:
            return ClockRoute(route=Route.SYSTEM_CALL)
        if code == 0 and _ending_of(forbid, ask) == -signal.SIGSYS:
            return ClockRoute(route=Route.VDSO)
    except (OSError, subprocess.SubprocessError) as error:
        return ClockRoute(route=None, reason=f"the measurement failed: {error}")
    if code == _NO_FILTER:
        return ClockRoute(route=None, reason="this kernel accepts no seccomp filter")
    if code != 0:
        return ClockRoute(route=None, reason=f"the program that reads the clock ended with exit code {code}")
    return ClockRoute(route=None, reason="the seccomp filter stops no clock read")


def _forbid(program: Sequence[Instruction]) -> None:
    """Installs the filter in this process, a new child; it stays installed across execve(2). Raises OSError."""
    code = ctypes.create_string_buffer(b"".join(_INSTRUCTION.pack(*instruction) for instruction in program))
    header = struct.pack("@HP", len(program), ctypes.addressof(code))  # struct sock_fprog
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for words in ((_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, header, 0, 0)):
        if _libc.prctl(*words) != 0:
            raise OSError(ctypes.get_errno(), f"no seccomp filter: {os.strerror(ctypes.get_errno())}")


def _ending_of(forbid: Callable[[], None], act: Callable[[], object]) -> int:
    """Forks a child that calls `forbid`, then `act`. Returns the child's exit code, negative for a signal."""
    child = os.fork()
    if child == 0:
        code = _NO_FILTER
        try:
            forbid()
            code = 1
            act()
            code = 0
        finally:
            os._exit(code)
    descriptor = os.pidfd_open(child)
    try:
        if not select.select([descriptor], [], [], _TIMEOUT_S)[0]:
            os.kill(child, signal.SIGKILL)
    finally:
        os.close(descriptor)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
