"""Tests of the timeline's Vega-Lite declaration."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from priolab.analysis.figures import timeline
from priolab.analysis.records.runs import Evidence, Experiment, Layers, Run
from tests.support.builders import Pieces, evidence, experiment, load_events, run, script_request
from tests.support.declarations import valid

IMAGE = [(700, 1000), (6000, 1000)]
SCRIPT = [(6100, 1000), (12_000, 1000)]


@dataclass(frozen=True, kw_only=True)
class Seen(Run):
    """A run that takes its evidence from memory, not from a folder."""

    seen: Evidence

    def evidence(self) -> Evidence:
        return self.seen

    def layers(self) -> Layers:
        return Layers(sockets=(), queue=(), arrivals=())


def seen(image: Pieces = IMAGE, script: Pieces = SCRIPT, available_ms: int = 500, **how: Any) -> Seen:
    made = run(**how)
    events = load_events(1, 0, image, script)
    return Seen(path=made.path, record=made.record, seen=evidence([events], [script_request(60, available_ms)]))


def declaration(of: Experiment) -> dict[str, Any]:
    return valid(timeline.draw(of))


def headline(*runs: Run) -> list[str]:
    text: list[str] = declaration(experiment(*runs))["title"]["text"]
    return text


def layers(node: Any) -> Iterator[dict[str, Any]]:
    """Yields all marks of a declaration in the order in which they are painted."""
    if "mark" in node:
        yield node
    for below in [*node.get("vconcat", ()), *node.get("layer", ())]:
        yield from layers(below)


def rows(layer: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the data rows of a mark."""
    found: list[dict[str, Any]] = layer["data"]["values"]
    return found


@pytest.mark.parametrize("words", ["RECORD=1400", "BUFFERING=off"])
def test_what_is_unusual_is_in_the_headline(words: str) -> None:
    """The headline has a knob as the user types it, but only if the value is not the default."""
    name, _, value = words.partition("=")
    assert words in " · ".join(headline(seen(knobs={name: value}))).split(" · ")
    assert name not in " · ".join(headline(seen()))


def test_a_trace_is_in_the_headline(tmp_path: Path) -> None:
    """The headline has the trace's mean rate in round figures, and the name of its file."""
    (tmp_path / "phone.trace").write_text("7\n")
    shown = headline(seen(knobs={"TRACE": str(tmp_path / "phone.trace")}))
    assert "on average 216 kB/s (1,730 kbit/s)" in shown[0]
    assert "TRACE=phone.trace" in " · ".join(shown).split(" · ")


def test_a_queue_in_bytes_is_in_the_headline() -> None:
    """The headline has what QUEUE became, if it is not a number of packets."""
    knobs = {"QUEUE": "1bdp", "RATE_UP": "16kbps"}
    assert "queue 38,400 bytes, 4,800 bytes toward the front" in " · ".join(headline(seen(knobs=knobs)))
    assert "queue" not in " · ".join(headline(seen(knobs={"QUEUE": "100"})))


def test_how_it_was_made() -> None:
    """The headline ends with the fabric, and with the shaper if the run recorded a shaper."""
    assert headline(seen(shaper="ferry"))[0].endswith(" · virtual, ferry")
    assert headline(seen())[0].endswith(" · virtual")


def test_an_arm_that_is_not_shown_is_named() -> None:
    """The headline names an arm without an ok run; if no arm has an ok run, there is no picture."""
    assert headline(run("control", status="invalid"), seen(arm="lowat-131072"))[-1].endswith("control: invalid")
    assert timeline.draw(experiment(run(status="failed"))) is None


@pytest.mark.parametrize(
    ("most_kib", "limit_kib", "expected"), [(1348, 128, [500, 1000]), (1348, 450, [1000]), (24.6, 16, [10])]
)
def test_the_scale_leaves_room_for_lowat(most_kib: float, limit_kib: int, expected: list[float]) -> None:
    """The scale of the unsent bytes leaves out a mark if its text would overlap that of LOWAT."""
    assert timeline.scale_marks(most_kib * 1024, limit_kib * 1024, 100) == expected


def step(at_s: float, rate_bit_s: int, reason: str | None = None) -> dict[str, Any]:
    late_ns = None if reason else 0
    return {"at_ns": round(at_s * 10**9), "rate_bit_s": rate_bit_s, "late_ns": late_ns, "reason": reason}


def rate_labels(document: dict[str, Any]) -> list[tuple[float, str]]:
    """Returns (seconds, text) of each label of a rate inside a panel."""
    return [
        (row["start"], row["text"])
        for layer in layers(document)
        if layer["mark"]["type"] == "text"
        for row in rows(layer)
        if "kB/s" in row.get("text", "")
    ]


def test_steps_of_the_rate_are_lines_with_labels() -> None:
    """Each rate step that was made has a line with a label; the headline has all steps asked for."""
    steps = [step(2, 10_240_000), step(4, 1_024_000), step(6, 8000, "the load had ended before this step")]
    changed = seen(knobs={"RATE_STEPS": "1280kbps@2s+128kbps@4s+1kbps@6s"}, rate_steps=steps)
    document = declaration(experiment(changed))
    assert rate_labels(document) == [(2.0, "1,280 kB/s"), (4.0, "128 kB/s")]
    thin = [layer for layer in layers(document) if layer["mark"].get("strokeWidth") == 1.5 and "x" in layer["encoding"]]
    assert {row["start"] for layer in thin for row in rows(layer)} == {2.0, 4.0}
    assert "1,280 kB/s from 2 s, 128 kB/s from 4 s, 1 kB/s from 6 s" in " ".join(headline(changed))
