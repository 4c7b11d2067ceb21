"""The notebooks' helpers, with a recorded experiment: what they return, and what they show."""

import re
from pathlib import Path
from typing import Any

import pytest
from IPython.display import Image, Markdown

import priolab
from priolab import Experiment, load_experiment
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

    def made(load: Any, folder: str) -> Any:
        def command(*, progress: Any, **knobs: Any) -> Any:
            assert (knobs["REUSE"], knobs["RESULTS"]) == (True, lab._RESULTS)
            progress(f"taken from /home/somebody/{knobs['LOWAT']}")
            return load(_TESTS / folder)

        return command

    monkeypatch.setattr(lab, "_keep_guests", lambda: None)
    monkeypatch.setattr(priolab, "run", made(priolab.load_experiment, "golden/format-3"))
    monkeypatch.setattr(priolab, "sweep", made(priolab.load_sweep, "golden-sweep"))
    runs = len(lab.run("LOWAT=131072").arms)
    assert screen.texts[-2:] == [
        "`priolab run LOWAT=131072`: taken from /home/somebody/131072",
        f"`priolab run LOWAT=131072`: {runs} runs, {runs} ok",
    ]
    total = sum(arm.asked for arm in lab.sweep("LOWAT=none,4096").arms.values())
    assert re.match(rf"`priolab sweep LOWAT=none,4096`: {total} runs, \d+ ok", screen.texts[-1])


def test_a_failed_command_is_an_error(screen: Screen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A word that the lab refuses is an error with the lab's sentence."""
    monkeypatch.setattr(lab, "_RESULTS", tmp_path)
    monkeypatch.setattr(lab, "_keep_guests", lambda: None)
    with pytest.raises(priolab.ScenarioError, match="LOWAT"):
        lab.run("LOWAT=many")
    assert screen.texts[0] == "`priolab run LOWAT=many`"
