"""Tests of the timeline's Vega-Lite declaration."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from priolab.analysis.figures import arms, timeline
from priolab.analysis.loads.verdict import Judgement
from priolab.analysis.records.runs import Evidence, Experiment, Layers, Run
from priolab.common.formats.run import Verdict
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


def dashed(document: dict[str, Any]) -> list[tuple[float, float]]:
    """Returns (bottom, top) of each part of the dashed line at the time when the script is available."""
    (line,) = (layer for layer in layers(document) if layer["mark"].get("strokeDash"))
    return [(row["base"], row["top"]) for row in rows(line)]


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        ("128kbps", "128 kB/s (1,024 kbit/s)"),
        ("100mbit", "12,500 kB/s (100,000 kbit/s)"),
        ("100gbit", "12,500,000 kB/s (100,000,000 kbit/s)"),
        ("1mibit", "131.072 kB/s (1,048.576 kbit/s)"),
        ("unlimited", "unlimited rate"),
    ],
)
def test_rates_have_no_exponent(rate: str, words: str) -> None:
    """The headline has the rate in kB/s and in kbit/s, without an exponent."""
    assert f" · {words} · " in headline(seen(knobs={"RATE": rate}))[0]


@pytest.mark.parametrize(
    ("sndbuf", "words"), [("4M", "4 MiB"), ("6000k", "5.859 MiB"), ("4k", "4 KiB"), ("stock", "stock")]
)
def test_the_send_buffer_in_plain_words(sndbuf: str, words: str) -> None:
    """The headline has the send buffer in MiB, or in KiB if it is smaller than 1 MiB."""
    assert f"send buffer {words} · " in headline(seen(knobs={"SNDBUF": sndbuf}))[0]


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


def test_long_words_do_not_widen_the_picture() -> None:
    """A long headline and a long reason of a verdict continue on a second line."""
    unusual = {"PRIORITY": "swap", "GSO": "65535", "LOSS": "0.25%", "JITTER": "299ms", "RATE": "99999999kbit"}
    told = Judgement(verdict=Verdict.KEPT, reason="because " * 40, focal="script", favoured=True)
    with patch.object(arms, "judgement", lambda *_: told):
        document = declaration(experiment(seen(knobs=unusual)))
    assert len(document["title"]["text"]) == 2
    assert len(document["vconcat"][0]["title"]["subtitle"]) > 1


def test_the_dashed_line_does_not_strike_through_a_label() -> None:
    """The dashed line is interrupted only at the rows of labels that it would cross."""
    assert len(dashed(declaration(experiment(seen())))) == 1
    # The image's label begins at 0.7 s, to the left of the line.
    parts = dashed(declaration(experiment(seen(available_ms=1000))))
    assert len(parts) == 2
    assert parts[0][1] < 3.17 < parts[1][0]
    # Each lane has only one instant. The labels are to the left of the instants, one above the other.
    both = seen(image=[(950, 10)], script=[(980, 10)], available_ms=900)
    assert len(dashed(declaration(experiment(both)))) == 3


def test_marks_are_painted_over_the_dashed_line() -> None:
    """The marks of first bytes are painted after the dashed line, so that the line cannot hide a mark."""
    rules = [layer["mark"] for layer in layers(declaration(experiment(seen()))) if layer["mark"]["type"] == "rule"]
    assert [bool(rule.get("strokeDash")) for rule in rules] == [True, False]


@pytest.mark.parametrize(
    ("most_kib", "limit_kib", "expected"),
    [
        (1348, None, [500, 1000]),
        (1348, 128, [500, 1000]),
        (1348, 450, [1000]),
        (24.6, 16, [10]),
        (70, None, [20, 40, 60]),
    ],
)
def test_the_scale_leaves_room_for_lowat(most_kib: float, limit_kib: int | None, expected: list[float]) -> None:
    """The scale of the unsent bytes leaves out a mark if its text would overlap that of another mark or of LOWAT."""
    limit = None if limit_kib is None else limit_kib * 1024
    assert timeline.scale_marks(most_kib * 1024, limit, 100) == expected


def test_lanes_end_at_their_marks() -> None:
    """The area of a lane begins at the first byte and ends at the last byte."""
    document = declaration(experiment(seen()))
    (areas,) = (layer for layer in layers(document) if layer["mark"]["type"] == "area")
    for name, pieces in (("image", IMAGE), ("script", SCRIPT)):
        times = [row["start"] for row in rows(areas) if row["resource"] == name]
        assert (times[0], times[-1]) == (pieces[0][0] / 1000, pieces[-1][0] / 1000)


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


def test_a_label_that_has_no_room_is_left_out() -> None:
    """The label of a rate step is left out if it would overlap the label of the previous step."""
    steps = [step(2, 10_240_000), step(2.1, 1_024_000), step(11.5, 8000)]
    document = declaration(experiment(seen(rate_steps=steps)))
    assert rate_labels(document) == [(2.0, "1,280 kB/s"), (11.5, "1 kB/s")]
