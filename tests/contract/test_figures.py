"""Figures of recorded folders agree with the run's numbers, and stay within their axes."""

import json
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from priolab.analysis.figures import clients, filmstrip, ladder, ledger_area, ledger_bar, slide, timeline
from priolab.analysis.figures.all_figures import FIGURES
from priolab.analysis.figures.arms import Arm, arms
from priolab.analysis.figures.lettering import text_px
from priolab.analysis.figures.palette import LAYERS
from priolab.analysis.figures.sheet import WIDTH, Declaration, sheet
from priolab.analysis.figures.street_map import COLOURS
from priolab.analysis.loads.layer import Layer
from priolab.analysis.loads.ledger import NAMES
from priolab.analysis.records.runs import Experiment, load_experiment
from priolab.common.formats.scenario import ClientKind
from priolab.common.home import ROOT
from tests.support.declarations import valid

_GOLDEN = Path(__file__).parent.parent / "golden"
_LATER_NS = 470_000_000
_Row = dict[str, Any]


@pytest.fixture(scope="module")
def sampled() -> Experiment:
    return load_experiment(_GOLDEN / "format-3")


@pytest.fixture(scope="module")
def unsampled(tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    """Return the experiment without samples of the front's socket, as SAMPLE=none leaves it."""
    folder = tmp_path_factory.mktemp("unsampled") / "given"
    shutil.copytree(_GOLDEN / "format-3", folder)
    for journal in folder.glob("*/front/sockets.jsonl"):
        journal.write_text("")
    return load_experiment(folder)


def panels(figure: Declaration | None) -> list[list[tuple[_Row, list[_Row]]]]:
    """Return, for each panel of a figure, its layers with their rows of data."""
    assert figure is not None
    return [[(layer, layer["data"]["values"]) for layer in panel["layer"]] for panel in figure["vconcat"]]


def drawn(panel: list[tuple[_Row, list[_Row]]], mark: str, field: str) -> list[_Row]:
    """Return the rows that have the field, from all layers of the panel that have the mark."""
    return [row for layer, rows in panel if layer["mark"]["type"] == mark for row in rows if field in row]


def words(panel: list[tuple[_Row, list[_Row]]]) -> list[str]:
    return [row["text"] for row in drawn(panel, "text", "text")]


def ledgers(experiment: Experiment) -> Iterator[tuple[Arm, Any]]:
    for arm in arms(experiment):
        account = arm.ledger()
        assert account is not None
        yield arm, account


@pytest.fixture(scope="module")
def browsed(sampled: Experiment, tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    """Return the experiment with a copy of each arm whose client is Chromium and whose payload is 470 ms later."""
    runs = [*sampled.runs]
    for run in sampled.runs:
        scenario = replace(run.scenario, client=ClientKind.CHROMIUM)
        record = replace(run.record, arm=f"chromium-{run.arm}", scenario=scenario)
        path = tmp_path_factory.mktemp("browsed") / f"chromium-{run.arm}.1"
        shutil.copytree(run.path, path)
        _delay_payload(path / "client" / "events.jsonl", _LATER_NS)
        runs.append(replace(run, path=path, record=record))
    return replace(sampled, runs=tuple(runs))


def _delay_payload(journal: Path, by_ns: int) -> None:
    """Delay the payload of image and script, and the end of each load."""
    events = [json.loads(line) for line in journal.read_text().splitlines()]
    for event in events:
        if event.get("resource") in ("image", "script") and event["kind"] in ("data", "data-header", "ended"):
            event["t_ns"] += by_ns
        if event["kind"] == "load-finished":
            event["t_ns"] += by_ns
    journal.write_text("".join(json.dumps(event) + "\n" for event in events))


def test_clients_are_laid_beside_each_other(sampled: Experiment, browsed: Experiment) -> None:
    """If arms differ only in the client, each scenario has a panel with first and last bytes of both clients."""
    assert clients.draw(sampled) is None
    assert [arm.name for arm in arms(browsed)][2:] == ["Chromium, LOWAT unset", "Chromium, LOWAT 16384"]
    for arm, panel in zip(arms(sampled), panels(clients.draw(browsed)), strict=True):
        said = words(panel)
        assert said.index("h2") < said.index("Chromium")
        for name, times in ((name, arm.load.resources[name]) for name in ("script", "image")):
            own = [arm.load.ms(t_ns) / 1000 for t_ns in (times.first_byte_ns, times.last_byte_ns)]
            both = [own, [t_s + _LATER_NS / 10**9 for t_s in own]]
            assert [text for text in said if text.startswith(f"{name} ")] == [
                f"{name} {first_s:.2f} to {last_s:.2f} s" for first_s, last_s in both
            ]
            bars = [row for row in drawn(panel, "rect", "resource") if row["resource"] == name]
            for bar, (first_s, last_s) in zip(bars, both, strict=True):
                assert (bar["start"], bar["end"]) == (pytest.approx(first_s), pytest.approx(last_s))


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_lies_off_the_axis(name: str, sampled: Experiment, browsed: Experiment) -> None:
    """All bars and areas of a figure lie within the x and y axes of their panel."""
    for panel in panels(FIGURES[name](browsed if name == "clients" else sampled)):
        encoding = panel[0][0]["encoding"]
        across, upward = (encoding[axis]["scale"]["domain"] for axis in ("x", "y"))
        for _, rows in panel:
            for row in rows:
                for fields, (least, most) in ((("start", "end"), across), (("base", "top"), upward)):
                    assert all(least <= row[field] <= most for field in fields if field in row), row


def test_the_socket_lane_is_what_was_seen(sampled: Experiment) -> None:
    """In the timeline the unsent bytes are drawn up to the largest sample, and hovering shows no larger value."""
    for arm, panel in zip(arms(sampled), panels(timeline.draw(sampled)), strict=True):
        assert arm.layers is not None
        times = range(arm.load.started_ns, arm.load.finished_ns)
        unsent = max(sample.notsent_bytes for sample in arm.layers.sockets if sample.t_ns in times)
        scale = max(sample.notsent_bytes for other in arms(sampled) if other.layers for sample in other.layers.sockets)
        (lane,) = (
            rows for layer, rows in panel if layer["mark"].get("color") == LAYERS[Layer.UNSENT] and len(rows) > 1
        )
        height = timeline.UNSENT[1] - timeline.UNSENT[0]
        assert max(row["top"] for row in lane) == pytest.approx(timeline.UNSENT[0] + height * unsent / scale, abs=1e-3)
        numbers = drawn(panel, "rect", "unsent")
        assert max(row["unsent"] for row in numbers) <= unsent / 1024 + 0.01
        assert {"unsent", "in flight", "in queue"} < set(words(panel))
        assert ("LOWAT" in words(panel)) == (arm.lowat is not None)


def test_without_samples_there_is_no_socket_lane(unsampled: Experiment, sampled: Experiment) -> None:
    """Without samples the timeline does not draw unsent bytes, and there is no ledger figure."""
    old, new = panels(timeline.draw(unsampled)), panels(timeline.draw(sampled))
    for before, after in zip(old, new, strict=True):
        assert "unsent" not in words(before)
        assert set(words(before)) < set(words(after))
        assert before[0][0]["encoding"]["y"]["scale"]["domain"][0] == 0
    assert ledger_bar.draw(unsampled) is None
    assert ledger_area.draw(unsampled) is None


def test_the_bar_is_the_ledger(sampled: Experiment) -> None:
    """The figure `ledger-bar` has every positive part of the ledger, from front to client, without gaps."""
    for (_, account), panel in zip(ledgers(sampled), panels(ledger_bar.draw(sampled)), strict=True):
        bars = drawn(panel, "rect", "words")
        positive = {layer: wait_ns for layer, wait_ns in account.parts.items() if wait_ns > 0}
        assert [(row["name"], row["words"]) for row in bars] == [(NAMES[layer], layer.words) for layer in positive]
        assert [row["end"] - row["start"] for row in bars] == pytest.approx(
            [wait_ns / 10**9 for wait_ns in positive.values()]
        )
        assert [row["start"] for row in bars] == [0.0, *(row["end"] for row in bars[:-1])]
        assert sum(text.startswith("possible: ") for text in words(panel)) == 1


@pytest.mark.parametrize("name", FIGURES)
def test_no_text_is_over_a_bar_or_another_text(name: str, sampled: Experiment, browsed: Experiment) -> None:
    """In each figure texts are beside bars, areas and other texts."""
    figure = FIGURES[name](browsed if name == "clients" else sampled)
    assert figure is not None
    for panel, layers in zip(figure["vconcat"], panels(figure), strict=True):
        texts = [box for box in _texts(panel, layers) if box.text]
        for number, one in enumerate(texts):
            for other in [*texts[number + 1 :], *_filled(panel, layers)]:
                apart = one.right <= other.left or other.right <= one.left
                assert apart or one.bottom >= other.top or other.bottom >= one.top, (one, other)


@dataclass(frozen=True, kw_only=True)
class _Drawn:
    """A rectangle in pixels. text: empty for a bar."""

    left: float
    right: float
    bottom: float
    top: float
    text: str = ""


def _texts(panel: Declaration, layers: list[tuple[_Row, list[_Row]]]) -> Iterator[_Drawn]:
    pixels, heights = _scales(panel)
    for layer, rows in layers:
        mark = layer["mark"]
        for row in rows if mark["type"] == "text" and "x" in layer["encoding"] else []:
            if "start" not in row:
                continue
            side = 1 if mark["align"] == "left" else -1
            at_px, middle_px = pixels(row["start"]) + mark["dx"], heights(row["base"])
            left, right = sorted((at_px, at_px + side * text_px(row["text"], mark["fontSize"])))
            half = 0.4 * mark["fontSize"]
            yield _Drawn(left=left, right=right, bottom=middle_px - half, top=middle_px + half, text=row["text"])


def _filled(panel: Declaration, layers: list[tuple[_Row, list[_Row]]]) -> Iterator[_Drawn]:
    pixels, heights = _scales(panel)
    for layer, rows in layers:
        mark = layer["mark"]
        if mark.get("opacity") == 0:
            continue
        if mark["type"] == "rect":
            ends = [row["end"] for row in rows]
        elif mark["type"] == "area":
            ends = [other["start"] if other["start"] > one["start"] else one["start"] for one, other in pairwise(rows)]
        else:
            continue
        for row, end in zip(rows, ends, strict=False):
            yield _Drawn(
                left=pixels(row["start"]), right=pixels(end), bottom=heights(row["base"]), top=heights(row["top"])
            )


def _scales(panel: Declaration) -> tuple[Callable[[float], float], Callable[[float], float]]:
    encoding = panel["layer"][0]["encoding"]
    most = encoding["x"]["scale"]["domain"][1]
    bottom, top = encoding["y"]["scale"]["domain"]
    return lambda value: value / most * WIDTH, lambda row: (row - bottom) / (top - bottom) * panel["height"]


def test_the_areas_add_up_to_the_image(sampled: Experiment) -> None:
    """In `ledger-area` the areas add up to the image at every instant; at the end the whole image has arrived."""
    for (arm, _), panel in zip(ledgers(sampled), panels(ledger_area.draw(sampled)), strict=True):
        stacks: dict[float, list[_Row]] = defaultdict(list)
        for row in drawn(panel, "area", "place"):
            stacks[row["start"]].append(row)
        for stack in stacks.values():
            assert (stack[0]["base"], stack[-1]["top"]) == (0, 1)
            assert [row["base"] for row in stack[1:]] == [row["top"] for row in stack[:-1]]
        numbers = drawn(panel, "rect", "place0")
        assert numbers[-1]["place0"] == pytest.approx(arm.load.others.size_bytes / 1024, abs=0.01)


def test_the_ladder_climbs(sampled: Experiment) -> None:
    """In the figure `ladder` each of a resource's five steps begins where the step before it ended."""
    for arm, panel in zip(arms(sampled), panels(ladder.draw(sampled)), strict=True):
        for name in ("script", "image"):
            steps = [row for row in drawn(panel, "rect", "rung") if row["resource"] == name]
            assert len(steps) == 5
            assert [step["start"] for step in steps] == [0.0, *(step["end"] for step in steps[:-1])]
            times = arm.load.resources[name]
            payload = next(step for step in steps if step["rung"] == "first byte of payload")
            first_ms = float(arm.load.ms(times.first_byte_ns))
            record_ms = first_ms - payload["end"]
            assert f"at {record_ms / 1000:.2f} s" in " ".join(words(panel))


def test_figures_of_nothing(tmp_path: Path) -> None:
    """`priolab figures` on an empty folder prints one line that names the missing file, and exits with 1."""
    command = [sys.executable, "-m", "priolab.experiments", "figures", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "experiment.json: missing" in done.stderr


@pytest.mark.parametrize("name", FIGURES)
def test_every_panel_moves_with_the_others(name: str, sampled: Experiment, browsed: Experiment) -> None:
    """All panels of a figure share one selection, so that they zoom and pan together; the figure is valid Vega-Lite."""
    document = valid(FIGURES[name](browsed if name == "clients" else sampled))
    (parameter,) = document["params"]
    assert parameter["bind"] == "scales"
    assert len(parameter["views"]) == len(document["vconcat"])
    for panel in document["vconcat"]:
        assert sum(layer.get("name") in parameter["views"] for layer in panel["layer"]) == 1


def test_a_slide_has_lanes_and_screens(sampled: Experiment) -> None:
    """A slide is valid Vega-Lite; below its title, text and common facts it has two panels for each arm."""
    shown = arms(sampled)
    document = valid(slide.draw("A title", "A sentence.", shown, "virtual"))
    lanes = panels(sheet(timeline.panels_of(shown, socket=False, has_axis=False), {}))
    assert [rows for panel in panels(document)[0::2] for _, rows in panel] == [
        rows for each in lanes for _, rows in each
    ]
    assert len(document["vconcat"]) == 2 * len(shown)
    assert [panel["layer"][0]["encoding"]["x"]["axis"]["labels"] for panel in document["vconcat"]] == [False] * 3 + [
        True
    ]
    assert document["title"]["text"] == ["A title"]
    assert document["title"]["subtitle"][0] == "A sentence."
    assert document["title"]["subtitle"][1].startswith("nginx · 128 kB/s")


def test_the_filmstrip_shows_what_could_be_read(sampled: Experiment) -> None:
    """In each frame the image is as long as the client could read it; a frame is green once the script is complete."""
    shown = arms(sampled)
    for arm, panel in zip(shown, panels(filmstrip.draw(sampled)), strict=True):
        frames = defaultdict(list)
        for row in (row for _, rows in panel for row in rows):
            frames[row["at"]].append(row)
        assert len(frames) == filmstrip.FRAMES
        for at_s, parts in frames.items():
            at_ns = arm.load.started_ns + at_s * 10**9
            is_ready = arm.load.important.last_byte_ns <= at_ns + 10**6
            assert (parts[0]["colour"] == filmstrip.READY) == is_ready
            awaited = [part for part in parts if part["colour"] == COLOURS["awaited"]]
            read = [part["base"] for part in parts if part["colour"] == COLOURS["land"]]
            part = arm.load.others.bytes_until(round(at_ns)) / arm.load.others.size_bytes
            if awaited:
                whole = awaited[0]["top"] - awaited[0]["base"]
                assert (max(read) - min(read) if read else 0) / whole == pytest.approx(part, abs=0.02)
            else:
                assert part == 0
                assert not read


def test_drawing_needs_neither_altair_nor_jsonschema() -> None:
    """The programs that draw import none of the packages that only tests and notebooks need."""
    modules = ("priolab.analysis.figures.all_figures", "priolab.analysis.figures.knee")
    in_extras = [file for file in (ROOT / "extras").glob("*/*.py") if file.parent.name != "notebooks"]
    drawing = [file for file in in_extras if "priolab.analysis.figures" in file.read_text()]
    names = ", ".join((*modules, *(f"priolab.extras.{file.parent.name}.{file.stem}" for file in drawing)))
    code = f"import sys, {names}; print({{'altair', 'jsonschema', 'IPython'}} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
