"""Tests of the demo page's story: what it offers and states before a run, and what it shows of a run."""

import json
import re
import shutil
from pathlib import Path

import pytest

from analysis.records.runs import load_experiment
from analysis.reports.summary import summarize
from client.plan import PlanKind
from common.formats.reading import FolderError
from experiments.demo import choices
from experiments.demo.arm_view import FinishedArm, document
from experiments.demo.choices import LOWATS, offers
from experiments.demo.server import PAGE
from experiments.demo.story import StoryStep, steps
from experiments.scenario.knobs import KNOBS, scenario_from

_GOLDEN = Path(__file__).parents[3] / "golden"


@pytest.mark.parametrize("step", steps(), ids=lambda step: step.title)
def test_a_step_compares(step: StoryStep) -> None:
    """A step compares two scenarios that differ in one knob, which their names contain.
    The step's speed is one that the page allows.
    """
    first, second = (scenario_from(arm) for arm in step.arms)
    assert first != second
    assert {name for name in step.arms[0] if step.arms[0][name] != step.arms[1][name]} == {step.compare}
    assert step.names == tuple(f"{step.compare} {value}" for value in step.values)
    slowest, fastest = re.findall(r"^export const \w+EST = ([\d.]+);$", (PAGE / "player.js").read_text(), re.MULTILINE)
    assert float(slowest) <= step.speed <= float(fastest)


def test_the_story_fits_a_page() -> None:
    """Each step has its own title of one line and a few lines of text."""
    assert len({step.title for step in steps()}) == len(steps()) >= 5
    assert all(len(step.title) < 70 and 20 < len(step.text) < 250 for step in steps())


def test_every_offer_is_allowed() -> None:
    """Each knob is offered once, with the command line's default, and each offered value makes a scenario."""
    offered = offers()
    assert json.loads(json.dumps(offered))
    assert [knob["name"] for knob in offered["knobs"]] == list(KNOBS)
    for knob in offered["knobs"]:
        assert knob["default"] == KNOBS[knob["name"]].default
        assert not knob["values"] or knob["default"] in knob["values"]
        for value in knob["values"]:
            scenario_from({knob["name"]: value})
    assert offered["lowats"] == list(LOWATS) == next(k["values"] for k in offered["knobs"] if k["name"] == "LOWAT")


def test_scenarios_that_can_be_watched() -> None:
    """The offered scenarios load a page, and the Maps case is among them."""
    scenarios = {each["name"]: each for each in offers()["scenarios"]}
    assert scenario_from(scenarios["maps"]["knobs"]) == scenario_from({})
    for each in scenarios.values():
        assert scenario_from(each["knobs"]).plan is PlanKind.LOADS
        assert each["title"]


def test_servers_that_are_not_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers that are not installed are not offered."""
    monkeypatch.setattr(choices, "lack_of", lambda server: None if server.name == "h2o" else "it")
    (server,) = (knob for knob in offers()["knobs"] if knob["name"] == "SERVER")
    assert server["values"] == ["h2o"]


@pytest.mark.parametrize("arm", ["control", "lowat-16384"])
def test_what_is_shown_is_the_summary(arm: str) -> None:
    """The demo shows the arm's part of `priolab show --json`, and the film."""
    folder = _GOLDEN / "format-3"
    shown = document(FinishedArm(folder=folder, arm=arm))
    summary = summarize(load_experiment(folder))
    assert shown["arm"] == next(each for each in summary["arms"] if each["name"] == arm)
    assert (shown["experiment"], shown["run"]) == (summary["experiment"], f"{arm}.1")
    assert shown["film"]["looks"]["t_ms"]
    assert shown["film_reason"] is None
    assert shown["favoured"] in ("important", "others", None)
    assert json.loads(json.dumps(shown)).keys() == shown.keys()


def test_a_run_without_a_film(tmp_path: Path) -> None:
    """A run that cannot have a film gives the reason."""
    shutil.copytree(_GOLDEN / "format-3", tmp_path / "given")
    (tmp_path / "given" / "control.1" / "front" / "sockets.jsonl").write_text("")
    shown = document(FinishedArm(folder=tmp_path / "given", arm="control"))
    assert (shown["film"], "sampled 0 times" in shown["film_reason"]) == (None, True)


def test_an_arm_that_there_is_not() -> None:
    """The error names an arm that does not exist."""
    with pytest.raises(FolderError, match="no arm nobody"):
        document(FinishedArm(folder=_GOLDEN / "format-3", arm="nobody"))
