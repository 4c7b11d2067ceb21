"""The clock of this machine, as Python and Node read it: what is found out agrees with what the kernel does."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from common import clock_route
from common.clock_route import CALLS, ClockRoute, Route, route_of, route_of_python
from experiments.host.origin_process import CLOCK, CLOCK_READER, ONE_THREAD
from experiments.host.processes import find, program_environment

_MACHINE = os.uname().machine
_READ = "import time; time.clock_gettime_ns(time.CLOCK_MONOTONIC)"
_ASK = "import ctypes; ctypes.CDLL(None).syscall({}, 1, ctypes.create_string_buffer(16))"


def _python(program: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", program]


def test_the_filter_bites() -> None:
    """Who makes the system call, whatever the C library would have done, is found to make it."""
    found = route_of(_python(_ASK.format(CALLS[_MACHINE].clock_gettime)), program_environment())
    assert (found.route, found.reason) == (Route.SYSTEM_CALL, None)


def test_the_route_of_python_is_known() -> None:
    """The same for this process and for one of its own; through the vDSO only where the kernel has mapped one."""
    found = route_of_python()
    assert found.route is not None, found.reason
    assert route_of(_python(_READ), program_environment()) == found
    if found.route is Route.VDSO:
        assert "[vdso]" in Path("/proc/self/maps").read_text()


def test_the_route_of_node_is_pythons() -> None:
    """They have one kernel and one C library."""
    node = find("node")
    assert node is not None
    assert route_of([node, *CLOCK_READER], program_environment()) == route_of_python()


def test_a_filter_that_does_not_bite_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that lived where the system call passes as well may have made one."""
    elsewhere = replace(CALLS[_MACHINE], architecture=1)
    monkeypatch.setattr(clock_route, "CALLS", {_MACHINE: elsewhere})
    assert clock_route.route_of_python() == ClockRoute(route=None, reason="the filter lets the system call pass")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ((*_python("raise SystemExit(3)"),), "the program that reads the clock ended with 3"),
        (("/nowhere/node",), "the measurement failed"),
    ],
)
def test_a_reader_that_fails_proves_nothing(command: tuple[str, ...], reason: str) -> None:
    """Whatever its reason."""
    found = route_of(command, program_environment())
    assert found.route is None
    assert found.reason is not None
    assert found.reason.startswith(reason)


def test_python_and_node_account_for_their_clocks() -> None:
    """As programs: JSON, every figure or its reason, and on a real clock a step within a second."""
    node = find("node")
    assert node is not None
    python_says = json.loads(subprocess.check_output([sys.executable, "-m", "common.clock_quality"]))["python"]
    node_says = json.loads(subprocess.check_output([node, *ONE_THREAD, str(CLOCK)]))
    assert python_says["advances_while_working"] is True
    assert set(python_says) == {*node_says, "advances_while_working", "reads"}
    for clock in (python_says, node_says):
        assert {name for name, value in clock.items() if value is None} == set(clock["reasons"])
        assert 0 < clock["resolution_ns"] < 10**9
