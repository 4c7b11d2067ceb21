"""A sweep in the guest: interrupted, killed, continued, complete."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from priolab.common.descriptors import with_descendants
from tests.support.endings import nothing_is_left, words_of
from tests.support.lab import Lab

pytestmark = pytest.mark.usefixtures("guest")

_WORDS = ("FABRIC=virtual", "LOWAT=none,16384", "SERVER=nginx,h2o", "SIZE=20480", "RELOADS=0", "JS_DELAY=200ms")
_RUNS = 6
_SOON_S = 60.0


def _filed(lab: Lab) -> dict[str, int]:
    """Returns the complete runs by name, with the times at which they were completed."""
    found = (path for path in lab.results.glob("*.partial/*/run.json") if path.parent.suffix != ".partial")
    return {path.parent.name: path.stat().st_mtime_ns for path in found}


def _stopped(lab: Lab, number: signal.Signals, *, runs: int) -> tuple[int, str]:
    """Sends a signal to a sweep when `runs` runs are complete; returns the exit code and standard error."""
    sweep = subprocess.Popen(
        lab.sweep_command(*_WORDS), env=lab.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    end = time.monotonic() + _SOON_S
    while len(_filed(lab)) < runs and sweep.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    sweep.send_signal(number)
    _, said = sweep.communicate(timeout=_SOON_S)
    return sweep.returncode, said


def test_an_interrupted_sweep_is_gone_on_with(lab: Lab) -> None:
    """SIGINT and SIGKILL leave only the complete runs; the same command then makes the other runs."""
    code, said = _stopped(lab, signal.SIGINT, runs=1)
    assert code == 128 + signal.SIGINT
    first = _filed(lab)
    assert f"interrupted by SIGINT; {len(first)} of {_RUNS} runs are in {lab.results}" in said
    nothing_is_left(lab, partial=1)

    code, said = _stopped(lab, signal.SIGKILL, runs=len(first) + 1)
    assert (code, said) == (-signal.SIGKILL, "")
    second = _filed(lab)
    assert first.items() < second.items()
    assert len(second) < _RUNS
    nothing_is_left(lab, partial=1)

    command = lab.sweep_command(*_WORDS)
    done = subprocess.run(command, env=lab.environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{len(second)} of {_RUNS} runs are complete" in done.stdout
    nothing_is_left(lab)
    folder = (lab.results / "latest").resolve()
    _is_whole(folder)
    assert {name: (folder / name / "run.json").stat().st_mtime_ns for name in second} == second
    summary = lab.latest().summary
    assert summary is not None
    assert len(summary["arms"]) == _RUNS
    for heading in ("verdict", "h2o", "twin"):
        assert heading in done.stdout


def test_a_guest_that_is_killed_loses_one_run(lab: Lab) -> None:
    """A single run failed, the one that did not end. Other guests carry out all others."""
    sweep = subprocess.Popen(
        lab.sweep_command(*_WORDS, "REPEAT=2"),
        env=lab.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    end, guests = time.monotonic() + _SOON_S, list[int]()
    while not (guests and _filed(lab)) and sweep.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
        guests = [
            pid for pid in with_descendants(sweep.pid) if " time-travel=inf-cpu" in words_of(pid).partition(".py")[0]
        ]
    os.kill(min(guests), signal.SIGKILL)
    said, _ = sweep.communicate(timeout=_SOON_S)
    folder = (lab.results / "latest").resolve()
    order = json.loads((folder / "sweep.json").read_text())["order"]
    statuses = {name: json.loads((folder / name / "run.json").read_text())["status"] for name in order}
    failed = [name for name, status in statuses.items() if status != "ok"]
    logged = [line for log in folder.glob("*/console.log") for line in log.read_text().splitlines()]
    assert sorted(line for line in logged if line.startswith("@ begins")) == sorted(
        f"@ begins {name}" for name in order
    )
    assert failed == [name for name in order if f"@ ended {name}" not in logged]
    assert (sweep.returncode, len(failed)) == (1, 1), said
    assert sorted(path.name for path in folder.iterdir()) == sorted([*order, "sweep.json", "experiment.json"])
    assert list(folder.glob("*/waiting")) == []
    nothing_is_left(lab)


def _is_whole(folder: Path) -> None:
    """Checks that the folder has only ok runs of both servers, and for each server a twin arm with another seed."""
    sweep = json.loads((folder / "sweep.json").read_text())
    runs = {name: json.loads((folder / name / "run.json").read_text()) for name in sweep["order"]}
    assert len(runs) == _RUNS
    assert {run["status"] for run in runs.values()} == {"ok"}
    assert {run["scenario"]["server"] for run in runs.values()} == {"nginx", "h2o"}
    twins = [arm for arm in sweep["arms"] if arm["twin_of"]]
    assert {arm["levels"]["SERVER"] for arm in twins} == {"nginx", "h2o"}
    for arm in twins:
        twin, first = runs[f"{arm['arm']}.1"], runs[f"{arm['twin_of']}.1"]
        assert twin["scenario"] == first["scenario"]
        assert (first["seed"], twin["seed"]) == (1, 2)
    assert sorted(path.name for path in folder.iterdir()) == sorted([*runs, "sweep.json", "experiment.json"])
