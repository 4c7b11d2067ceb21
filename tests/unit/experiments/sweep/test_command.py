"""Tests of the output of `priolab sweep` and `priolab list SWEEP`, with a fabric that copies."""

import argparse
import errno
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from priolab.common.cache_folder import cache_folder
from priolab.common.errors import GridError, Unavailable
from priolab.experiments.commands.console import Report
from priolab.experiments.execution import conclusion, pace
from priolab.experiments.execution.local import Local
from priolab.experiments.sweep import command, listing
from priolab.experiments.sweep.sweep import sweep_from
from priolab.experiments.sweep.sweep_request import sweep_request_from
from tests.support.sweeping import CopyingFabric

Swept = Callable[..., tuple[int, argparse.Namespace]]
WORDS = ("LOWAT=none,4096", "CC=cubic,bbr", "SIZE=20480", "RELOADS=0", "JS_DELAY=200ms")


@pytest.fixture
def swept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Swept:
    """Return a function that runs `priolab sweep`. troubles: shell commands by arm."""

    def run(
        *words: str, scheduler: str | None = None, print_folder: bool = False, **troubles: str
    ) -> tuple[int, argparse.Namespace]:
        fabric = CopyingFabric(troubles=troubles)
        monkeypatch.setattr("priolab.experiments.sweep.sweep.choose", lambda *_: (fabric, "for a test"))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        options = argparse.Namespace(
            words=[*words, f"RESULTS={tmp_path}"], yes=False, scheduler=scheduler, from_make=False, kept=None
        )
        options.print_folder = print_folder
        return command.sweep(options, Report()), options

    return run


def test_a_sweep_that_went_well(swept: Swept, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The output has the sweep's size, its progress, and a line for each arm in order of networks.
    The exit code is 0.
    """
    code, options = swept(*WORDS, "REPEAT=2")
    lines = capsys.readouterr().out.splitlines()
    assert code == 0
    assert lines[0] == "sweep: LOWAT x CC (4 arms in 2 networks, and 2 twins, 2 times each: 12 runs)"
    assert lines[1] == "LOWAT=none,4096 CC=cubic,bbr SIZE=20480 RELOADS=0 JS_DELAY=200ms"
    assert "of link time, about" in lines[2]
    assert lines[3] == "fabric: copying (for a test)"
    assert any(line.startswith("6 of 6 arms, 12 of 12 runs; ") for line in lines)
    heading = next(number for number, line in enumerate(lines) if line.startswith("CC "))
    rows = [line.split() for line in lines[heading + 1 :]]
    assert [row[:2] for row in rows[:6]] == [
        ["cubic", "none"],
        ["cubic", "4096"],
        ["cubic", "none"],
        ["bbr", "none"],
        ["bbr", "4096"],
        ["bbr", "none"],
    ]
    assert [row[2] == "twin" for row in rows[:6]] == [False, False, True] * 2
    assert all(row[-1] == "2/2" for row in rows[:6])
    assert lines[-1].startswith("to see which LOWAT this sweep recommends, and why: priolab knee /")
    assert options.kept() == f"{(tmp_path / 'latest').resolve()} is complete"


def test_a_sweep_is_measured_for_the_next(
    swept: Swept, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A sweep teaches this machine's pace, unless one of its runs is bad."""
    monkeypatch.setattr(pace, "_LEAST_S", 0.0)
    monkeypatch.setattr(pace, "free", lambda _: 0.5)
    guess = "other programs use 50% of the processors (a guess: no such sweep was measured on this machine yet)"
    assert swept(*WORDS, **{"lowat-4096_cc-bbr": "exit 3"})[0] == 1
    assert guess in capsys.readouterr().out
    assert not (tmp_path / "pace.json").exists()
    assert swept(*WORDS)[0] == 0
    assert guess in capsys.readouterr().out
    assert list(json.loads((cache_folder() / "pace.json").read_text())) == ["copying"]
    assert swept(*WORDS, "SEED=2")[0] == 0
    assert "use 50% of the processors; " in capsys.readouterr().out


def test_a_study_makes_a_sweep(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A study, whose command has other options than `priolab sweep`, runs a sweep and gets its folder."""
    monkeypatch.setattr("priolab.experiments.sweep.sweep.choose", lambda *_: (CopyingFabric(), "for a test"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    request = sweep_request_from([*WORDS, f"RESULTS={tmp_path}"])
    wanted = sweep_from(request, yes=False)
    options = argparse.Namespace(kept=None)
    folder = command.make(request, wanted, Local(wanted.run_settings, 1), options, Report(aside=True))
    assert folder == (tmp_path / "latest").resolve()
    assert options.kept() == f"{folder} is complete"


def test_a_finished_sweep_serves_again(swept: Swept, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """With REUSE=yes a finished sweep is used again. With --print-folder its path is the last line."""
    assert swept(*WORDS, print_folder=True)[0] == 0
    first = (tmp_path / "latest").resolve()
    assert capsys.readouterr().out.splitlines()[-1] == str(first)
    assert swept(*WORDS, "REUSE=yes", print_folder=True)[0] == 0
    *_, told, folder = capsys.readouterr().out.splitlines()
    assert told.startswith("taken from ")
    assert folder == str(first)
    swept(*WORDS, "REUSE=yes", "SEED=2", print_folder=True)
    assert capsys.readouterr().out.splitlines()[-1] != str(first), "other seeds are another sweep"


def test_bad_arms_are_named_and_counted(swept: Swept, capsys: pytest.CaptureFixture[str]) -> None:
    """Bad arms are printed with their reasons at once and at the end, and the exit code is 1."""
    code, _ = swept(*WORDS, **{"lowat-4096_cc-bbr": "echo no such luck; exit 3"})
    said = capsys.readouterr().out
    assert code == 1
    assert "lowat-4096_cc-bbr.1: failed - " in said
    assert "lowat-4096_cc-bbr: failed - " in said
    assert "no such luck" in said
    assert "1 of 6 arms are not ok" in said
    assert "0/1" in said


def test_a_sweep_that_cannot_go_on(
    swept: Swept, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error gives the reason and how many runs were finished. The same command continues the sweep.
    A sweep in parts does not teach the machine's pace.
    """
    monkeypatch.setattr(pace, "_LEAST_S", 0.0)
    real, full = conclusion.conclude, [False, False, True]

    def conclude(*arguments: Any, **more: Any) -> Any:
        if full and full.pop(0):
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*arguments, **more)

    monkeypatch.setattr("priolab.experiments.execution.local.conclude", conclude)
    code, _ = swept(*WORDS)
    err = capsys.readouterr().err
    assert code == 1
    assert "No space left on device" in err
    assert " of 6 runs are in " in err
    assert "the same command resumes the sweep" in err
    code, _ = swept(*WORDS)
    said = capsys.readouterr().out
    assert code == 0
    assert "resuming " in said
    assert not (cache_folder() / "pace.json").exists()


def test_a_lab_without_clusters(swept: Swept, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the extra `cluster` was taken away, --scheduler is refused."""
    monkeypatch.setattr("priolab.experiments.setup.extras.parts", lambda _: [])
    with pytest.raises(Unavailable, match="--scheduler cannot be used here: the extra `cluster` is not there"):
        swept(*WORDS, scheduler="tcp://127.0.0.1:8786")


def test_what_a_sweep_would_run(capsys: pytest.CaptureFixture[str]) -> None:
    """The listing has the numbers of arms, networks, twins, and runs, the times, and a line for each arm."""
    listing.show_expansion(["maps", "JS_DELAY=200ms", "FABRIC=netns"], Report())
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("16 arms in 2 networks, and 2 twins: 18 runs)")
    assert lines[1].startswith("LOWAT=none,4096,")
    assert "11 min of link time, about " in lines[2]
    assert len(lines) == 4 + 18
    assert lines[-1].split()[:2] == ["lowat-none_cc-bbr_twin", "lowat-none_cc-bbr"]


def test_what_a_target_means_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """If TARGET_DELAY has several values, the listing says that it applies to LOWAT=auto alone."""
    listing.show_expansion(["LOWAT=none,4096,auto", "TARGET_DELAY=20ms,50ms", "JS_DELAY=0ms", "FABRIC=netns"], Report())
    said = capsys.readouterr().out
    assert "4 arms in 1 network, and 1 twin: 5 runs; TARGET_DELAY applies to LOWAT=auto alone" in said


def test_a_grid_too_large_is_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid that is too large is refused with the error of `priolab sweep`, before it is expanded."""
    monkeypatch.setattr("priolab.experiments.sweep.sweep.expand", None)
    lowat = f"LOWAT={','.join(map(str, range(1, 2001)))}"
    with pytest.raises(GridError, match=r"10,005 runs: 2,000 arms and 1 twin, 5 times each; about "):
        listing.show_expansion([lowat, "JS_DELAY=0ms", "REPEAT=5", "FABRIC=netns"], Report())


def test_targets_in_the_table(swept: Swept, capsys: pytest.CaptureFixture[str]) -> None:
    """In the table a cell is empty if the knob does not apply to the arm."""
    code, _ = swept("LOWAT=none,4096,auto", "TARGET_DELAY=20ms,50ms", "SIZE=20480", "RELOADS=0", "JS_DELAY=200ms")
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert code == 0
    assert [row[:2] for row in rows if row[:1] == ["auto"]] == [["auto", "20ms"], ["auto", "50ms"]]
    assert sum(row[:1] == ["none"] for row in rows) == 2


def test_the_named_sweeps(capsys: pytest.CaptureFixture[str]) -> None:
    """Each named sweep is listed with its number of arms."""
    listing.show_named(Report())
    said = capsys.readouterr().out
    assert "networks: Which LOWAT is best for which network (sweep: 576 arms in 24 networks, with the" in said
