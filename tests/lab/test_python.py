"""docs/guide/python.md: its examples run one after the other, and give what the guide says."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

import priolab
from priolab.common.home import ROOT
from priolab.experiments.sweep.instants import INSTANTS

pytestmark = pytest.mark.usefixtures("guest")

_EXAMPLES = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs/guide/python.md").read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder in which the examples run."""
    return tmp_path_factory.mktemp("python")


@pytest.fixture(scope="module")
def told(here: Path) -> dict[str, Any]:
    """Runs all examples, and returns their names."""
    names: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        for example in _EXAMPLES:
            exec(compile(example, "python.md", "exec"), names)
    return names


def test_the_examples_run(told: dict[str, Any], here: Path) -> None:
    """The default experiment's verdicts and times are those of the README, and the figures are written."""
    experiment = told["experiment"].check()
    assert [arm.verdict for arm in experiment.arms.values()] == ["inverted", "kept"]
    assert told["sooner_ms"] == pytest.approx(3730, abs=10)
    assert repr(experiment).splitlines()[1].startswith("control: inverted, first byte after 6.69 s; 100% of the image")
    assert experiment.path.parent == here / "results"
    limited = told["limited"]
    assert max(limited.ledger_ms, key=limited.ledger_ms.__getitem__) == "front_pending"
    assert limited.resources["script"]["first_byte_ms"] == limited.first_byte_ms
    assert limited.observed["lowat"] == 131072
    for name in ("timeline.svg", "knee.svg"):
        assert (here / name).read_text().startswith("<svg ")
    assert experiment.figure()._repr_png_().startswith(b"\x89PNG")


def test_runs(told: dict[str, Any]) -> None:
    """A run's values are those of run.json, of the tables and of the verdict."""
    run, load, arm = told["run"], told["load"], told["unset"]
    assert arm.runs == (run,)
    assert (run.name, run.status, run.judgement(load).verdict) == ("control.1", "ok", "inverted")
    assert load.as_record().resources == run.record.measured.resources
    assert load.ms(told["script"].first_byte_ns) == arm.first_byte_ms
    assert told["ledger"].as_record() == run.record.ledger
    assert told["ledger"].largest == priolab.Layer.UNSENT
    assert run.measures[priolab.Measure.FIRST_BYTE] == arm.first_byte_ms
    assert told["most"].notsent_bytes == run.observed.notsent_most_bytes
    rows = [row for row in told["experiment"].rows("events") if row["run"] == run.name]
    assert [row["t_ns"] for row in rows] == [event.t_ns for event in run.events]
    assert run.environment.versions.keys() >= {"nginx", "node"}


def test_arms_by_name(told: dict[str, Any]) -> None:
    """Each arm has the knobs that all have in common, and its own; there is no other."""
    scenarios = {name: arm.scenario for name, arm in told["fronts"].arms.items()}
    assert {name: scenario["congestion_control"] for name, scenario in scenarios.items()} == {
        "one": "cubic",
        "other": "bbr",
    }
    assert {one.record.measured.load for one in told["fronts"].runs} == {1}


def test_a_sweep_is_confirmed(told: dict[str, Any], here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables have a row for each LOWAT. New runs of the recommended value are compared with the sweep's."""
    monkeypatch.chdir(here)
    sweep = told["sweep"]
    assert [len(table.rows) for table in sweep.tables.values()] == [3, 3]
    assert any("single repetition" in note for note in sweep.notes)
    arms = {
        f"again-{number}-{instant}": {**network["knobs"], "JS_DELAY": instant}
        for number, network in enumerate(sweep.summary["networks"])
        for instant in network["values"][0]["first_byte_ms_at"]
    }
    again = priolab.run(arms, LOWAT=16384, SEED=9, progress=lambda _: None)
    assert [kept.holds for of_network in sweep.confirm(again).values() for kept in of_network] == [True] * 4


def test_tables(told: dict[str, Any], here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames and rows have the same values, also those of all runs of a sweep."""
    monkeypatch.chdir(here)
    experiment = told["experiment"]
    rows, frame = experiment.rows("resources"), experiment.frame("resources")
    assert frame.shape == (len(rows), len(rows[0]))
    assert frame["first_byte_ms"].tolist() == [row["first_byte_ms"] for row in rows]
    swept = told["sweep"].experiment().rows("loads")
    assert {row["arm"] for row in swept} == told["sweep"].arms.keys()


def test_a_sweep(told: dict[str, Any]) -> None:
    """Each of both networks has a recommendation, and every arm its first bytes."""
    sweep = told["sweep"]
    assert sweep.is_finished
    assert set(sweep.recommended.values()) == {"16384"}
    made = 2 * (3 * INSTANTS + 1)
    assert [arm.ok for arm in sweep.arms.values()] == [1] * made
    lines = repr(sweep).splitlines()
    assert lines[0].endswith(f": {made} arms")
    assert len(lines) == 3


def test_wrong_values(told: dict[str, Any], here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names and values that are not allowed are refused with what is allowed, before anything runs."""
    monkeypatch.chdir(here)
    before = sorted(Path("results").iterdir())
    for wrong, words in (
        (lambda: priolab.run(LOWT=1), "LOWT is not a knob; did you mean LOWAT"),
        (lambda: priolab.run("nowhere"), "SCENARIO=nowhere is not allowed; allowed: "),
        (lambda: priolab.run(LOWAT=[]), "LOWAT= is not allowed"),
        (lambda: priolab.sweep("nowhere"), "SWEEP=nowhere is not allowed"),
        (lambda: told["experiment"].rows("tables"), "table=tables is not allowed; allowed: loads, resources"),
        (lambda: told["experiment"].frame("loads", "R"), "library=R is not allowed; allowed: pandas, polars"),
        (lambda: told["experiment"].figure("pie"), "figure=pie is not allowed; allowed: timeline"),
        (
            lambda: told["experiment"].figure(arms=["nobody"]),
            "arms=nobody is not allowed; allowed: control, lowat-131072",
        ),
        (lambda: priolab.run({}), "arms=none is not allowed; allowed: at least one"),
        (lambda: priolab.run({"a/b": {}}), "arm=a/b is not allowed"),
        (lambda: priolab.run({"a": {"REPEAT": 2}}), "REPEAT is not a knob"),
        (lambda: told["experiment"].figure("clients"), "figure=clients is not allowed; allowed: a figure for which"),
        (lambda: told["experiment"].figure().save("a.gif"), "path=a.gif is not allowed"),
    ):
        with pytest.raises(priolab.ScenarioError, match=f"^{re.escape(words)}"):
            wrong()
    assert sorted(Path("results").iterdir()) == before
    with pytest.raises(priolab.FolderError, match=r"experiment\.json: missing"):
        priolab.load_experiment("nowhere")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(priolab.Unavailable, match=r"^polars cannot be used here: it is not installed; "):
        told["experiment"].frame("loads", "polars")
