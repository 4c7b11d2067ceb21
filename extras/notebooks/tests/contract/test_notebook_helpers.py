"""The notebooks' helpers, with a recorded experiment: what they return, and what they show."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from IPython.display import Image, Markdown

from priolab.analysis.records.runs import Experiment, load_experiment
from priolab.common.command_server import Answer, answer_of
from priolab.common.home import ROOT
from priolab.extras.notebooks import lab

_TESTS = ROOT / "tests"
_GOLDEN = _TESTS / "golden" / "format-3"


class Screen:
    """Collects what the helpers show, in place of a notebook. A line that is updated counts with each of its texts."""

    def __init__(self) -> None:
        self.shown: list[Any] = []

    def display(self, what: object, **_: object) -> "Screen":
        self.shown.append(what)
        return self

    update = display

    @property
    def texts(self) -> list[str]:
        return [each.data for each in self.shown if isinstance(each, Markdown)]

    @property
    def pictures(self) -> list[bytes]:
        return [each.data for each in self.shown if isinstance(each, Image)]


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    made = Screen()
    monkeypatch.setattr(lab, "display", made.display)
    return made


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    return load_experiment(_GOLDEN)


def test_figures_are_those_of_the_run(experiment: Experiment) -> None:
    """Figures and waits are the numbers of run.json, by the arm's name."""
    for name, run in lab.arms(experiment).items():
        each, account = lab.figures(experiment)[name], run.record.ledger
        assert account is not None
        assert each.script_first_s * 1000 == run.record.measured.resources["script"].first_byte_ms
        assert each.behind_image_s == each.script_first_s - each.image_first_s > 0
        layers = ("pending", "committed", "unsent", "queue", "propagation", "recovery", "record", "unexplained")
        assert sum(lab.wait_s(experiment, name, layer) for layer in layers) * 1000 == pytest.approx(account.wait_ms)
        longest = max(layers, key=lambda layer: lab.wait_s(experiment, name, layer))
        assert lab.longest_wait(experiment, name) == longest
        assert lab.explained(experiment, name) > 0.9


def test_a_statement_that_does_not_hold_ends_the_notebook(screen: Screen) -> None:
    """`check` shows a statement that holds, and raises for one that does not, instead of showing it."""
    lab.check("it is so", holds=True)
    with pytest.raises(AssertionError, match="this run shows otherwise: it is not so"):
        lab.check("it is not so", holds=False)
    assert screen.texts == ["✓ it is so"]


def test_a_command_tells_its_outcome(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    """`run` and `sweep` end with a line that is the same on each machine, whether runs were made or reused."""

    def folder(command: str, _: Any, line: Any) -> Path:
        line.tell(f"taken from /home/somebody/{command}")
        return _GOLDEN if command == "run" else _TESTS / "golden-sweep"

    monkeypatch.setattr(lab, "_folder", folder)
    runs = len(lab.run("LOWAT=131072").runs)
    assert screen.texts[-1] == f"`priolab run LOWAT=131072`: {runs} runs, {runs} ok"
    arms = lab.sweep("LOWAT=none,4096").arms
    total = sum(arm.asked for arm in arms)
    assert re.match(rf"`priolab sweep LOWAT=none,4096`: {total} runs, \d+ ok", screen.texts[-1])


def _answered(process: "subprocess.Popen[str]") -> Answer:
    assert process.stdout is not None
    return next(filter(None, map(answer_of, process.stdout)))


def test_one_process_carries_out_the_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands share a process, unless the environment has changed or the process has ended; `end` ends it."""
    commands = lab._Commands()
    first = commands.ask(("list",))
    assert _answered(first).code == 0
    assert commands.ask(("list", "maps")) is first
    assert "maps" in _answered(first).out
    monkeypatch.setenv("PRIOLAB_RESULTS", "elsewhere")
    second = commands.ask(("list",))
    assert second is not first
    assert first.poll() is not None
    assert _answered(second).code == 0
    second.kill()
    second.wait()
    third = commands.ask(("list",))
    assert _answered(third).code == 0
    commands.end()
    assert third.poll() is not None


def test_a_failed_command_is_an_error(screen: Screen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A word that the lab refuses is an error with the lab's sentence."""
    monkeypatch.setattr(lab, "_RESULTS", tmp_path)
    with pytest.raises(RuntimeError, match="LOWAT"):
        lab.run("LOWAT=many")
    assert screen.texts[0] == "`priolab run LOWAT=many`"
