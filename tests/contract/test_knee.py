"""Summary, tables and picture of a recorded sweep, and the command `priolab knee`."""

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from priolab.analysis.figures import knee, picture
from priolab.analysis.records.runs import Run, load_experiment, load_run
from priolab.analysis.reports.summary import arms
from priolab.analysis.reports.summary import summarize as summarize_experiment
from priolab.analysis.sweeps import table
from priolab.analysis.sweeps.folder import Sweep, load_sweep
from priolab.analysis.sweeps.knee import find
from priolab.analysis.sweeps.measures import Measure
from priolab.analysis.sweeps.networks import networks
from priolab.analysis.sweeps.summary import Summary as SummaryRecord
from priolab.analysis.sweeps.summary import summarize
from priolab.experiments import cli
from tests.contract.conftest import GOLDEN_SWEEP, Summary
from tests.support.declarations import valid
from tests.support.schemas import validator
from tests.support.sweeps import knobs, write_run, write_sweep

SCHEMA = msgspec.json.schema(SummaryRecord)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the recorded sweep that a test may change."""
    return Path(shutil.copytree(GOLDEN_SWEEP, tmp_path / "golden-sweep"))


def test_the_summary_has_its_schema(summary: Summary) -> None:
    """The summary conforms to its schema; a summary without a promised limit does not."""
    check = validator(SCHEMA)
    check.validate(summary)
    damaged = json.loads(json.dumps(summary))
    del damaged["networks"][0]["knee"]["promise"]["goodput_bit_s"]["low"]
    assert not check.is_valid(damaged)


def test_what_it_says(summary: Summary) -> None:
    """The summary of the recorded sweep has the figures that were checked by hand."""
    without, with_loss = summary["networks"]
    assert [without["network"], with_loss["network"]] == ["LOSS=0%", "LOSS=1%"]
    assert summary["runs"] == {"asked": 30, "ok": 30, "troubles": []}
    assert summary["finished"]
    assert [network["knee"]["recommended"] for network in (without, with_loss)] == ["16384", "131072"]
    assert without["knee"]["front"] == ["4096", "16384"]
    assert without["knee"]["goodput_falls_at"] is None
    assert without["knee"]["put_back"][-5:] == ["LOSS=0%", "LOWAT=16384", "REPEAT=3", "SEED=7", "FABRIC=virtual"]
    first = {value["value"]: value["measured"]["script_first_byte_ms"] for value in without["values"]}
    assert {value: round(found["median"]) for value, found in first.items()} == {
        "4096": 403,
        "16384": 390,
        "131072": 514,
        "none": 1874,
    }
    assert first["none"]["coverage"] == 0.75
    assert without["no_difference"]["script_first_byte_ms"]["pair"] < 0.1
    assert with_loss["no_difference"]["script_first_byte_ms"]["pair_ratio"] > 1.5


def test_the_summary_of_an_arm_holds_the_runs_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The summary by arms equals that of the whole experiment, and loads the runs of one arm at a time."""
    loaded: list[Path] = []

    def counting(path: Path) -> Run:
        loaded.append(path)
        return load_run(path)

    monkeypatch.setattr("priolab.analysis.reports.summary.load_run", counting)
    one_by_one = arms(GOLDEN_SWEEP)
    first = next(one_by_one)
    assert len(loaded) == 3
    assert [first, *one_by_one] == summarize_experiment(load_experiment(GOLDEN_SWEEP))["arms"]


def test_tables_are_the_same_for_people_and_programs(summary: Summary) -> None:
    """The tables have a row for each network and each value; unmeasured cells say so, and are empty in CSV."""
    overview = table.of_networks(summary)
    assert [row[:2] for row in overview.rows] == [("LOSS=0%", "16384"), ("LOSS=1%", "131072")]
    values = table.of_values(summary["networks"][0])
    assert [row[0] for row in values.rows] == ["4096", "16384 (recommended)", "131072", "none"]
    assert {row[values.head.index("front CPU per MB")] for row in values.rows} == {"not measured"}
    assert {len(row) for row in values.rows} == {len(values.head)}
    lines = list(csv.DictReader(io.StringIO(table.networks_csv(summary))))
    assert [line["recommended_lowat"] for line in lines] == ["16384", "131072"]
    assert round(float(lines[0]["unset_script_first_byte_ms_median"])) == 1874
    assert lines[0]["recommended_front_cpu_ms_per_mb_median"] == ""
    lines = list(csv.DictReader(io.StringIO(table.values_csv(summary))))
    assert [line["lowat"] for line in lines if line["is_recommended"] == "1"] == ["16384", "131072"]
    text = table.markdown(summary)
    assert "system calls) were not measured in the virtual fabric" in text
    assert "an interval holds the true median in at least 75% of cases" in text
    assert all(network["knee"]["reason"] in text for network in summary["networks"])


def layers(sweep: Sweep) -> list[dict[str, Any]]:
    """Return every layer of the picture."""
    declaration = knee.draw(sweep)
    assert declaration is not None
    rows = [cell for row in declaration["vconcat"] for cell in row["hconcat"]]
    return [layer for cell in rows for plot in cell["vconcat"] for layer in plot["layer"]]


def test_the_picture_shows_what_was_measured(sweep: Sweep) -> None:
    """Every LOWAT value has its point and interval; LOWAT unset is rightmost, and no line joins it to other values."""
    points = [layer["data"]["values"] for layer in layers(sweep) if layer["mark"]["type"] == "line"]
    of_first_bytes = points[1]
    assert [point["lowat"] for point in of_first_bytes] == ["4096", "16384", "131072", "none"]
    places = [point["at"] for point in of_first_bytes]
    assert places == sorted(places)
    assert places[:3] == [12, 14, 17]
    assert [point["joined"] for point in of_first_bytes] == [True, True, True, False]
    assert round(of_first_bytes[-1]["y"], 2) == 1.87
    assert all(point["low"] <= point["y"] <= point["high"] for series in points for point in series)
    rings = [layer["data"]["values"] for layer in layers(sweep) if layer["mark"].get("filled") is False]
    assert [ring[0]["lowat"] for ring in rings] == ["16384", "16384", "131072", "131072"]


def test_what_is_left_out_is_told(copy: Path) -> None:
    """Summary, notes and picture name a value with too few ok runs; the notes count the runs without a ledger."""
    for number in (1, 2):
        shutil.rmtree(copy / f"loss-0-lowat-16384.{number}")
    run = copy / "loss-0-lowat-4096.1" / "run.json"
    run.write_text(json.dumps(json.loads(run.read_text()) | {"ledger": None}))
    sweep = load_sweep(copy)
    summary = summarize(sweep)
    knee_of = summary["networks"][0]["knee"]
    assert (knee_of["recommended"], knee_of["left_out"]) == ("4096", ["16384"])
    assert "LOWAT=16384 (1 of 3 runs ok)" in knee_of["left_out_words"]
    assert knee_of["left_out_words"] in table.markdown(summary)
    declaration = knee.draw(sweep)
    assert declaration is not None
    assert "LOWAT with too few ok runs: 16384" in picture.drawn(declaration)
    assert "The time in the send queue is from 21 of 22 runs: the other runs have no ledger." in table.notes(summary)


def test_the_grey_band_is_the_rule(sweep: Sweep) -> None:
    """The grey band is a part of the noise band: it begins at the best first byte; for goodput, at the lower end."""
    bands = [layer["data"]["values"][0] for layer in layers(sweep) if layer["mark"]["type"] == "rect"]
    for number, network in enumerate(networks(sweep)):
        found = find(network)
        assert found.best is not None
        assert found.reference is not None
        for band, level, measure in zip(
            bands[2 * number :], (found.best, found.reference), (Measure.FIRST_BYTE, Measure.GOODPUT), strict=False
        ):
            scale = 1000 if measure is Measure.FIRST_BYTE else 10**6
            median = level.estimate(measure).median
            low, high = found.spreads[measure].reach(median, median)
            assert band["y"] * scale == pytest.approx(median if measure is Measure.FIRST_BYTE else low)
            assert band["top"] * scale <= high * 1.0001


@pytest.fixture
def steered(tmp_path: Path) -> Sweep:
    """Write a sweep of one network with one run for each value and none for 4096; LOWAT=auto is among the values."""
    first_ms = {"none": 6700.0, "16384": 1000.0, "auto": 1100.0, "4096": None}
    folder = write_sweep(tmp_path / "small", [{"arm": value, "knobs": knobs(LOWAT=value)} for value in first_ms])
    for value, at_ms in first_ms.items():
        if at_ms is not None:
            # The LOWAT in the run's own record does not matter here.
            write_run(folder, value, 1, knobs(LOWAT="4096"), at_ms)
    return load_sweep(folder)


def test_auto_is_judged_over_all_networks(steered: Sweep) -> None:
    """LOWAT=auto has a table and a part of the summary; the notes name the missing run and the lack of repetitions."""
    found = summarize(steered)
    validator(SCHEMA).validate(json.loads(json.dumps(found)))
    assert found["auto"] == {"judged": 1, "near": 1, "keep_goodput": 1, "unknown": 0, "worst_ratio": 1.1}
    auto = table.of_auto(found)
    assert auto is not None
    (row,) = auto.rows
    assert row[1:] == ("auto", "1.10 s", "16384: 1.00 s", "1.10", "yes", "100.0%", "yes", "154 ms")
    notes = table.notes(found)
    assert notes[:3] == [
        "The sweep is not finished: 3 of 4 runs are done and ok.",
        "These runs are left out as missing (the run has not begun): 4096.1.",
        "Every number comes from a single repetition, so it has no interval.",
    ]
    assert "## LOWAT=auto" in table.markdown(found)


def test_a_sweep_that_is_mostly_invalid(tmp_path: Path) -> None:
    """A note says so, and what to do: on a real clock the machine is late, in the guest the lab is wrong."""
    folder = write_sweep(
        tmp_path / "small", [{"arm": value, "knobs": knobs(LOWAT=value)} for value in ("none", "1", "2")]
    )
    for value in ("none", "1", "2"):
        write_run(folder, value, 1, knobs(LOWAT=value), 1000.0)
    for value in ("1", "2"):
        file = folder / f"{value}.1" / "run.json"
        run = json.loads(file.read_text())
        file.write_text(json.dumps(run | {"status": "invalid", "reason": "because", "verdict": None, "loads": []}))
    _, first, *_ = table.notes(summarize(load_sweep(folder)))
    assert first.startswith("2 of 3 runs are invalid, so this sweep tells nothing about LOWAT: ")
    assert first == table.mostly_invalid(2, 3, load_sweep(folder).record.fabric)
    assert (table.mostly_invalid(2, 3, "virtual") or "").endswith("if that is invalid, too, report the lab's fault.")
    assert (table.mostly_invalid(2, 3, "netns") or "").endswith("or use FABRIC=virtual, where no run is late.")
    assert table.mostly_invalid(1, 3, "netns") is table.mostly_invalid(0, 0, "netns") is None


def test_auto_is_a_line(steered: Sweep) -> None:
    """LOWAT=auto is a horizontal line, because it has no place among the values; a value without ok runs is named."""
    rules = [layer for layer in layers(steered) if layer["mark"].get("strokeDash")]
    assert [rule["data"]["values"][0]["text"] for rule in rules] == ["auto 1.10 s", "auto 997.3 kbit/s"]
    svg = picture.drawn(valid(knee.draw(steered)))
    assert "LOWAT without an ok run: 4096" in svg
    assert "1 run missing or not ok" in svg


def test_nothing_to_draw(tmp_path: Path) -> None:
    """A sweep without runs has no picture, and its summary recommends no value."""
    begun = load_sweep(write_sweep(tmp_path, [{"arm": "a", "knobs": knobs(LOWAT="none")}]))
    assert knee.draw(begun) is None
    assert summarize(begun)["networks"][0]["knee"]["recommended"] is None


def test_the_command(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`priolab knee` prints the summary's reasons, and writes picture and tables into the sweep's folder."""
    assert cli.main(["knee", str(copy)]) == 0
    said = capsys.readouterr().out
    summary = summarize(load_sweep(copy))
    for network in summary["networks"]:
        assert network["knee"]["reason"] in said
    measures = "first byte, goodput and processor time (if known)"
    assert f"  The best trade-offs of {measures} are LOWAT=4096, LOWAT=16384 and LOWAT=131072.\n" in said
    told = [line for line in said.splitlines() if line.startswith("  ")]
    assert {line.split()[0] for line in told if "LOWAT" in line} <= {"The", "Its", "Goodput", "A", "This"}
    left = sorted(path.name for path in copy.iterdir() if path.name.startswith("knee"))
    assert left == ["knee-values.csv", "knee.csv", "knee.html", "knee.md", "knee.png", "knee.svg"]


def test_the_command_for_programs(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --json the command prints only the summary and writes no file; it exits with 1 if a run is missing."""
    shutil.rmtree(copy / "loss-0-lowat-4096.2")
    before = sorted(copy.iterdir())
    assert cli.main(["knee", str(copy), "--json"]) == 1
    summary = json.loads(capsys.readouterr().out)
    validator(SCHEMA).validate(summary)
    assert summary["runs"]["troubles"] == [
        {"run": "loss-0-lowat-4096.2", "status": "missing", "reason": "the run has not begun"}
    ]
    assert sorted(copy.iterdir()) == before


def test_the_command_on_no_sweep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`priolab knee` on an empty folder names the missing sweep.json and exits with 1."""
    assert cli.main(["knee", str(tmp_path)]) == 1
    assert "sweep.json: missing" in capsys.readouterr().err
