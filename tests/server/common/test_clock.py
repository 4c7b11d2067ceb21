"""Tests of this machine's clock in Python and Node. A clock's route is how a program reads it: vDSO or system call."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from priolab.common import clock_route
from priolab.common.clock_route import CALLS, ClockRoute, Route, route_of, route_of_python
from priolab.common.process.search_path import find, program_environment
from priolab.experiments.setup.origin_process import CLOCK, CLOCK_READER, ONE_THREAD

_MACHINE = os.uname().machine
_READ = "import time; time.clock_gettime_ns(time.CLOCK_MONOTONIC)"
_ASK = "import ctypes; ctypes.CDLL(None).syscall({}, 1, ctypes.create_string_buffer(16))"


def _python(program: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", program]


def test_the_filter_bites() -> None:
    """`route_of` reports a system call for a program that makes clock_gettime(2) itself, without the C library."""
    found = route_of(_python(_ASK.format(CALLS[_MACHINE].clock_gettime)), program_environment())
    assert (found.route, found.reason) == (Route.SYSTEM_CALL, None)


def test_the_route_of_python_is_known() -> None:
    """This process and a new Python process read the clock by the same route. It is the vDSO only if one is mapped."""
    found = route_of_python()
    assert found.route is not None, found.reason
    assert route_of(_python(_READ), program_environment()) == found
    if found.route is Route.VDSO:
        assert "[vdso]" in Path("/proc/self/maps").read_text()


def test_the_route_of_node_is_pythons() -> None:
    """Node and Python read the clock by the same route, because they share the kernel and the C library."""
    node = find("node")
    assert node is not None
    assert route_of([node, *CLOCK_READER], program_environment()) == route_of_python()


def test_a_filter_that_does_not_bite_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the filter does not kill a process at the system call, the route to the clock is unknown.

    A process that reads the clock and survives may have made the call, too."""
    elsewhere = replace(CALLS[_MACHINE], architecture=1)
    monkeypatch.setattr(clock_route, "CALLS", {_MACHINE: elsewhere})
    assert clock_route.route_of_python() == ClockRoute(route=None, reason="the seccomp filter stops no clock read")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ((*_python("raise SystemExit(3)"),), "the program that reads the clock ended with exit code 3"),
        (("/nowhere/node",), "the measurement failed"),
    ],
)
def test_a_reader_that_fails_proves_nothing(command: tuple[str, ...], reason: str) -> None:
    """The route is unknown if the program that reads the clock fails, and the reason is given."""
    found = route_of(command, program_environment())
    assert found.route is None
    assert found.reason is not None
    assert found.reason.startswith(reason)


def test_python_and_node_account_for_their_clocks() -> None:
    """The clock measurements of Python and Node print JSON: each figure, or the reason why it is missing.
    The resolution is below 1 s.
    """
    node = find("node")
    assert node is not None
    python_says = json.loads(subprocess.check_output([sys.executable, "-m", "priolab.common.clock_quality"]))["python"]
    node_says = json.loads(subprocess.check_output([node, *ONE_THREAD, str(CLOCK)]))
    assert python_says["advances_while_working"] is True
    assert set(python_says) == {*node_says, "advances_while_working", "reads"}
    for clock in (python_says, node_says):
        assert {name for name, value in clock.items() if value is None} == set(clock["reasons"])
        assert 0 < clock["resolution_ns"] < 10**9
