"""Tests of `priolab tune`, which starts priority-tuner."""

import os
from pathlib import Path

import pytest

from priolab.common import home
from priolab.experiments.cli import main
from priolab.extras.tuner import command


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of a priority-tuner that `make tuner` might have built. PATH has none."""
    monkeypatch.setattr(home, "ROOT", tmp_path)
    monkeypatch.setattr(command, "find", lambda _: None)
    return tmp_path / "build" / "priority-tuner"


@pytest.mark.usefixtures("built")
def test_not_installed(capsys: pytest.CaptureFixture[str]) -> None:
    """The error says how to get the program."""
    assert main(["tune", "--cgroup", "/sys/fs/cgroup"]) == 1
    said = "priolab: priolab tune cannot be used here: priority-tuner is not installed; build it with `make tuner`, or"
    assert capsys.readouterr().err.startswith(said)


@pytest.mark.parametrize(
    ("words", "passed"),
    [
        (["--cgroup", "x", "--help", "--dry-run"], ["run", "--cgroup", "x", "--help", "--dry-run"]),
        (["status", "--json"], ["status", "--json"]),
        (["--help"], ["--help"]),
        ([], []),
    ],
)
def test_every_argument_goes_to_it(
    built: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], passed: list[str]
) -> None:
    """The program gets all arguments, also those that priolab knows. Options go to its command `run`."""
    started: list[object] = []

    def start(*what: object) -> None:
        started.extend(what)
        raise SystemExit(0)

    monkeypatch.setattr(os, "execv", start)
    built.parent.mkdir()
    built.write_text("#!/bin/sh\n")
    built.chmod(0o755)
    with pytest.raises(SystemExit):
        main(["tune", *words])
    assert started == [str(built), ["priority-tuner", *passed]]
