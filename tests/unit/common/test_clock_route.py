"""Tests of a clock's route, vDSO or system call: the seccomp filter that finds it, and the meaning of exit codes."""

import platform
import time

import pytest

from priolab.common import clock_route
from priolab.common.clock_route import CALLS, ClockRoute, Instruction, Route, filter_against
from priolab.experiments.hosts.containers.node_route import judge

KILL, ALLOW = 0x8000_0000, 0x7FFF_0000
LOAD, IF_EQUAL, IF_GREATER, RETURN = 0x20, 0x15, 0x25, 0x06
GETPID = {"x86_64": 39, "aarch64": 172}


def verdict(program: list[Instruction], *, number: int, architecture: int, argument: int = 0) -> int:
    """Return what the kernel would do with a system call (seccomp(2), struct seccomp_data)."""
    data = {0: number, 4: architecture, 16: argument}
    word, at = 0, 0
    while True:
        code, if_true, if_false, value = program[at]
        if code == RETURN:
            return value
        if code == LOAD:
            word = data[value]
            skip = 0
        else:
            skip = if_true if (word == value if code == IF_EQUAL else word > value) else if_false
        at += 1 + skip


@pytest.mark.parametrize("machine", CALLS)
def test_who_asks_for_the_time_is_killed(machine: str) -> None:
    """The filter kills processes that call clock_gettime for the two clocks of the vDSO, or the older calls."""
    calls = CALLS[machine]
    program = filter_against(calls)
    for clock in (time.CLOCK_REALTIME, time.CLOCK_MONOTONIC):
        asked = verdict(program, number=calls.clock_gettime, architecture=calls.architecture, argument=clock)
        assert asked == KILL
    for number in calls.others:
        assert verdict(program, number=number, architecture=calls.architecture) == KILL


@pytest.mark.parametrize("machine", CALLS)
def test_others_live(machine: str) -> None:
    """The filter allows other calls, the clocks of CPU time, and calls of another architecture.
    Clocks of CPU time are read by system calls on every machine.
    """
    calls = CALLS[machine]
    program = filter_against(calls)
    assert verdict(program, number=GETPID[machine], architecture=calls.architecture) == ALLOW
    for clock in (time.CLOCK_PROCESS_CPUTIME_ID, time.CLOCK_THREAD_CPUTIME_ID):
        asked = verdict(program, number=calls.clock_gettime, architecture=calls.architecture, argument=clock)
        assert asked == ALLOW
    assert verdict(program, number=calls.clock_gettime, architecture=0x4000_0003, argument=1) == ALLOW


def test_an_architecture_that_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """On an unknown architecture the route is unknown, and the reason names the architecture."""
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert clock_route.route_of_python() == ClockRoute(
        route=None, reason="the lab does not know the system calls of riscv64"
    )


@pytest.mark.parametrize(
    ("node", "asked", "alone", "found"),
    [
        ("0", "1", "0", Route.VDSO),
        ("133", "1", "0", Route.SYSTEM_CALL),
        ("1", "1", "0", Route.SYSTEM_CALL),
        ("133", "1", "133", None),
        ("0", "0", "0", None),
        ("0", "127", "0", None),
    ],
)
def test_what_the_ends_of_containers_say(node: str, asked: str, alone: str, found: Route | None) -> None:
    """A container's exit codes give the route only if the filter is effective and Node runs without the filter.
    Otherwise there is a reason.
    """
    finding = judge(node=node, asked=asked, alone=alone)
    assert finding.route == found
    assert (finding.reason is None) == (found is not None)
