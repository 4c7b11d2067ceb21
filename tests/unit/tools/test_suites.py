"""Tests of the suites' script: what it reads from results, logs, and this machine's settings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from priolab.common.debian.apt import Rights
from priolab.experiments.setup.machine import Distribution, Machine
from priolab.experiments.setup.packages import Want
from priolab.experiments.setup.setup_plan import decide
from priolab.experiments.setup.setup_request import SetupPart, setup_request_from
from tools.suites.command_results import (
    of_experiment,
    of_tests,
    roots_command,
)
from tools.suites.tree import mounted_below


def _summary(control: tuple[str, float], treatment: tuple[str, float]) -> Mapping[str, Any]:
    return {
        "arms": [
            {"name": name, "status": "ok", "verdict": verdict, "script": {"first_byte_ms": at_ms}}
            for name, (verdict, at_ms) in (("control", control), ("lowat-131072", treatment))
        ]
    }


def test_a_good_experiment() -> None:
    """An experiment is good if the control is inverted, the treatment is kept, and both times are in their ranges."""
    told, trouble = of_experiment(0, _summary(("inverted", 6710.0), ("kept", 2940.0)))
    assert told == "control 6.71 s inverted, lowat-131072 2.94 s kept"
    assert trouble == []


@pytest.mark.parametrize(
    ("code", "summary", "trouble"),
    [
        (2, None, ["exit code 2, and there is no result"]),
        (1, _summary(("inverted", 6710.0), ("kept", 2940.0)), ["exit code 1"]),
        (0, _summary(("inverted", 5400.0), ("kept", 2940.0)), ["control 5.40 s inverted"]),
        (0, _summary(("inverted", 6710.0), ("kept", 3300.0)), ["lowat-131072 3.30 s kept"]),
        (
            0,
            _summary(("kept", 6710.0), ("undecided", 2940.0)),
            ["control 6.71 s kept", "lowat-131072 2.94 s undecided"],
        ),
        (0, {"arms": []}, ["control: not there", "lowat-131072: not there"]),
    ],
)
def test_a_bad_experiment(code: int, summary: Mapping[str, Any] | None, trouble: list[str]) -> None:
    """Each fault is reported."""
    assert of_experiment(code, summary)[1] == trouble


def test_an_arm_that_is_not_ok() -> None:
    """The fault is the arm's reason."""
    arms = [{"name": name, "status": "invalid", "reason": "late"} for name in ("control", "lowat-131072")]
    assert of_experiment(1, {"arms": arms})[1] == ["exit code 1", "control: late", "lowat-131072: late"]


@pytest.mark.parametrize(
    ("code", "log", "result", "trouble"),
    [
        (0, "x\n10 passed, 2 skipped in 3.10s\n", "10 passed, 2 skipped in 3.10s", []),
        (0, "===== 10 passed in 3.10s =====\nbye\n", "10 passed in 3.10s", []),
        (
            1,
            "FAILED tests/a.py::b - no\n1 failed, 9 passed in 3.10s\n",
            "1 failed, 9 passed in 3.10s",
            ["exit code 1: 1 failed, 9 passed in 3.10s", "FAILED tests/a.py::b - no"],
        ),
        (4, "ERROR: no such file\n", "-", ["exit code 4: no tests"]),
        (
            0,
            "== 10 passed in 3.10s ==\n= 1 passed, 2 skipped in 62.00s (0:01:02) =\n  5 s  x\nLeft out: 3 tests, for\n",
            "10 passed in 3.10s; 1 passed, 2 skipped in 62.00s (0:01:02); Left out: 3 tests, for",
            [],
        ),
        (0, "", "-", ["exit code 0: no tests"]),
        (5, "no tests ran in 0.10s\n", "-", ["exit code 5: no tests"]),
    ],
)
def test_tests(code: int, log: str, result: str, trouble: list[str]) -> None:
    """The result is the last line of each process of pytest, and of all. Without a passed test it is a fault."""
    found = of_tests(code, log)
    assert (found[0], found[1]) == (result, trouble)


def test_what_root_has_to_run() -> None:
    """An ordinary user is told one line, with the command that root carries out as it is."""
    packages = (Want(packages=("nginx",)), Want(packages=("gcc", "bc"), without="no guests"))
    request = setup_request_from(SetupPart.EXPERIMENT, [], Path())
    distribution = Distribution(name="Debian GNU/Linux 13 (trixie)", families=("debian",))
    machine = Machine(distribution=distribution, has_apt=True, rights=Rights.NONE)
    refusals = decide(request, machine, packages, {}, builds_kernel=True).refusals
    log = "".join(f"setup: {line}\n" for line in refusals)
    command = "apt-get update && apt-get install --no-install-recommends nginx gcc bc"
    assert roots_command(f"setup: x\n{log}make: *** Error 1\n") == command
    assert roots_command("setup: installing nginx\n") is None


def test_what_is_mounted_is_seen() -> None:
    """Mounts at the folder and below it are found, also with spaces in their paths, but not those of a sibling."""
    mountinfo = (
        "36 35 98:0 / /c/root\\040x/proc rw - proc proc rw\n37 35 0:5 / /c/root\\040x rw - x x rw\n"
        "38 35 0:5 / /c/rooty rw - x x rw\n"
    )
    assert mounted_below(Path("/c/root x"), mountinfo) == ["/c/root x/proc", "/c/root x"]
    assert mounted_below(Path("/c/root"), mountinfo) == []
