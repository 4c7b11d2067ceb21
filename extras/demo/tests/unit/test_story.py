"""Tests of the demo page's story: what it offers and states before a run, and what it shows of a run."""

import json
import re
import shutil
from pathlib import Path

import pytest

from priolab.analysis.records.runs import load_experiment
from priolab.analysis.reports.summary import summarize
from priolab.client.plan import PlanKind
from priolab.common.formats.reading import FolderError
from priolab.common.home import ROOT
from priolab.experiments.scenario.knobs import KNOBS, scenario_from, with_defaults
from priolab.extras.demo import choices
from priolab.extras.demo.arm_view import FinishedArm, document
from priolab.extras.demo.choices import LOWATS, offers
from priolab.extras.demo.plain_names import plain
from priolab.extras.demo.recorded import FILE, recorded, recorded_step
from priolab.extras.demo.server import PAGE
from priolab.extras.demo.story import Closing, StoryStep, closing, joined, steps
from tests.support.documented import page_of

_GOLDEN = ROOT / "tests" / "golden"


@pytest.mark.parametrize("step", steps(), ids=lambda step: step.title)
def test_a_step_compares(step: StoryStep) -> None:
    """A step compares two scenarios that differ in one knob, and their plain names differ, too.
    The step's speed is one that the page allows.
    """
    first, second = (scenario_from(arm) for arm in step.arms)
    assert first != second
    assert {name for name in step.arms[0] if step.arms[0][name] != step.arms[1][name]} == {step.compare}
    assert step.names == tuple(plain(step.compare, value) for value in step.values)
    assert len(set(step.names)) == 2
    slowest, fastest = re.findall(r"^export const \w+EST = ([\d.]+);$", (PAGE / "player.js").read_text(), re.MULTILINE)
    assert float(slowest) <= step.speed <= float(fastest)


def test_the_story_fits_a_page() -> None:
    """Each step has its own title of one line and a few lines of text."""
    assert len({step.title for step in steps()}) == len(steps()) >= 5
    assert all(len(step.title) < 70 and 20 < len(joined(step.text)) < 250 for step in steps())


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


def test_the_page_says_how_to_get_other_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text below SERVER names the servers that are not installed and the command; a file for others does not."""
    monkeypatch.setattr(choices, "lack_of", lambda server: "it" if server.name in ("h2o", "caddy") else None)
    (here,) = (knob["meaning"] for knob in choices.live()["knobs"] if knob["name"] == "SERVER")
    (elsewhere,) = (knob["meaning"] for knob in offers()["knobs"] if knob["name"] == "SERVER")
    assert here.startswith("the TLS server under test, `make setup-servers` installs caddy, h2o; ")
    assert elsewhere == KNOBS["SERVER"].meaning


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


def test_plain_names() -> None:
    """Arms have names in plain words; values without such a name have the knob's name and the value."""
    names = {
        ("LOWAT", "none"): "no limit",
        ("LOWAT", "131072"): "limit 128 KiB",
        ("LOWAT", "1M"): "limit 1,024 KiB",
        ("LOWAT", "auto"): "limit set by the tuner",
        ("LOWAT", "5000"): "LOWAT 5000",
        ("PRIORITY", "spdy"): "asks for the script",
        ("PRIORITY", "swap"): "asks for the image",
        ("QUEUE", "25"): "queue of 25",
        ("QUEUE", "30kb"): "QUEUE 30kb",
        ("SERVER", "haproxy"): "haproxy",
        ("CC", "bbr"): "CC bbr",
    }
    assert {asked: plain(*asked) for asked in names} == names
    for knob in offers()["knobs"]:
        assert len(set(knob["names"].values())) == len(knob["values"])


def test_what_is_compared_tells_something() -> None:
    """The value that the page compares with a default is another offered value; for QUEUE it is 1000."""
    knobs = {knob["name"]: knob for knob in offers()["knobs"]}
    assert knobs["QUEUE"]["telling"] == "1000"
    for knob in knobs.values():
        telling = knob["telling"]
        assert telling is None or (telling in knob["values"] or knob["name"] == "SERVER")
        assert telling != knob["default"]


def _verdicts() -> dict[str, tuple[str, str]]:
    """Returns the verdicts of each row of docs/measured/sabotage.md: with LOWAT unset, and with LOWAT."""
    lines = (line for line in page_of("studies", "sabotage.md").splitlines() if line.startswith("| "))
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    second = rows[0].index("with LOWAT")
    return {row[0]: (row[1], row[second]) for row in rows}


@pytest.mark.parametrize("name", [each["name"] for each in offers()["scenarios"] if each["card"]])
def test_a_cure_shows_in_the_compared_arm(name: str) -> None:
    """A card's comparison has the arm that the cure changes: the arm's verdicts with the cure and without it differ.

    A cure without a row of its own leads back to `maps`.
    """
    card = next(each for each in offers()["scenarios"] if each["name"] == name)["card"]
    verdicts = _verdicts()
    (cured,) = [row for row in verdicts if row.startswith(f"{name}, ")] or ["maps"]
    if name in ("big-records", "huge-buffer"):  # the same verdict comes a second earlier; the cure is LOWAT itself
        assert verdicts[name] == verdicts[cured]
    else:
        assert verdicts[name][card["cured_arm"]] != verdicts[cured][card["cured_arm"]]


def _keys(document: object) -> object:
    """Return the structure of a document: names of fields, without values."""
    if isinstance(document, dict):
        return {name: _keys(value) for name, value in document.items()}
    return [_keys(document[0])] if isinstance(document, list) and document and isinstance(document[0], dict) else None


def test_what_is_shipped_has_the_present_format() -> None:
    """The shipped arms are those of the step about LOWAT, small, and documents as the page gets them now.
    If the documents have changed, `make recorded` records the arms anew.
    """
    assert FILE.stat().st_size < 300_000
    shipped = recorded()
    assert [each["knobs"] for each in shipped] == [with_defaults(knobs) for knobs in recorded_step().arms]
    now = document(FinishedArm(folder=_GOLDEN / "format-3", arm="control"))
    for each in shipped:
        assert each.keys() == now.keys()
        assert _keys(each["film"]) == _keys(now["film"])
        assert each["arm"].keys() == now["arm"].keys()
        assert each["film"]["looks"]["t_ms"]
        assert each["arm"]["status"] == "ok"
    first, second = (each["arm"]["first_byte_ms"] for each in shipped)
    assert second < first / 2


def test_the_notes_fit_five_minutes() -> None:
    """The minutes of the short talk increase, and the closing slide comes last, before the fifth minute ends."""
    told: list[StoryStep | Closing] = [*steps(), closing()]
    minutes = [each.minute for each in told if each.minute]
    seconds = [60 * int(minute.split(":")[0]) + int(minute.split(":")[1]) for minute in minutes]
    assert seconds == sorted(set(seconds))
    assert seconds[0] == 0
    assert seconds[-1] < 300
    assert all(len(joined(each.say)) > 20 for each in told)
