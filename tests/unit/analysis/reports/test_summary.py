"""Tests of the summary of an experiment."""

import json

import pytest

from priolab.analysis.records.runs import Run
from priolab.analysis.reports.summary import summarize, typical
from priolab.common.formats.page import Chunk
from priolab.common.formats.run import Status
from tests.support.builders import experiment, load_of, load_record, run
from tests.support.pages import page_of_parts, part


def timed(first_byte_ms: float, **more: str) -> Run:
    """Returns a run with this time of the script's first byte."""
    loads = [load_record((5.0, 6.0), (1.0, 2.0)), load_record((first_byte_ms, 9000.0), (400.0, 8000.0), before=70)]
    return run(loads=loads, **more)  # type: ignore[arg-type]


def test_typical_is_the_median_of_the_good() -> None:
    """The typical run of an arm is the ok run with the median first byte.

    Of an even number of runs it is the run below the middle.
    """
    runs = [timed(900.0), timed(700.0), run(status="failed"), timed(800.0)]
    assert typical(runs) is runs[3]
    assert typical(runs[:2]) is runs[1]
    assert typical([run(status="failed")]) is None


def test_one_run() -> None:
    """A single run's figures are those of its measured load, and its arm has no repetitions."""
    summary = summarize(experiment(timed(800.0)))
    assert (summary["format"], summary["fabric"], summary["status"]) == (1, "virtual", "ok")
    assert summary["experiment"] == "maps-20260101-000000-abcd"
    (arm,) = summary["arms"]
    assert arm["name"] == "control"
    assert arm["script"] == {"first_byte_ms": 800.0, "last_byte_ms": 9000.0}
    assert arm["image"] == {"first_byte_ms": 400.0, "last_byte_ms": 8000.0}
    assert arm["image_bytes_before_script"] == 70
    assert (arm["verdict"], arm["verdict_reason"], arm["reason"]) == ("kept", "kept, because", None)
    assert len(arm["loads"]) == 2
    assert "repetitions" not in arm


def test_repetitions_are_medians() -> None:
    """Figures of repetitions are medians over the ok runs; each repetition is listed."""
    (arm,) = summarize(experiment(timed(900.0), timed(700.0), run(status="failed", wall_s=3.0)))["arms"]
    assert arm["script"]["first_byte_ms"] == 800.0
    assert arm["wall_s"] == 1.0
    assert [(one["status"], one["script"]["first_byte_ms"]) for one in arm["repetitions"]] == [
        ("ok", 900.0),
        ("ok", 700.0),
        ("failed", None),
    ]


def test_medians_are_no_finer_than_what_was_measured() -> None:
    """Medians between two runs are rounded to whole bytes and whole nanoseconds."""
    loads = [load_record((0.1, 1.0), (2.0, 3.0), before=70), load_record((0.2, 1.0), (2.0, 3.0), before=73)]
    runs = [run(loads=[load], wall_s=wall_s) for load, wall_s in zip(loads, (0.1, 0.2), strict=True)]
    (arm,) = summarize(experiment(*runs))["arms"]
    assert json.dumps([arm["script"]["first_byte_ms"], arm["wall_s"]]) == "[0.15, 0.15]"
    assert json.dumps([arm["image_bytes_before_script"], arm["image_bytes_during_script"]]) == "[72, 0]"


@pytest.mark.parametrize(
    ("statuses", "worst"),
    [
        (["ok", "ok"], "ok"),
        (["ok", "unsupported"], "unsupported"),
        (["unsupported", "invalid", "ok"], "invalid"),
        (["invalid", "failed"], "failed"),
    ],
)
def test_the_worst_status_counts(statuses: list[Status], worst: str) -> None:
    """An experiment has the status of its worst run, and the reason of a run that is not ok."""
    runs = [timed(1.0) if status == "ok" else run(status=status) for status in statuses]
    summary = summarize(experiment(*runs))
    assert summary["status"] == summary["arms"][0]["status"] == worst
    assert summary["arms"][0]["reason"] == (None if worst == "ok" else "the reason of control")


def test_an_arm_without_a_good_run_has_no_figures() -> None:
    """An arm without an ok run has no figures, because figures of failed runs are no results."""
    (arm,) = summarize(experiment(run(status="invalid")))["arms"]
    assert arm["script"] == {"first_byte_ms": None, "last_byte_ms": None}
    assert (arm["verdict"], arm["image_bytes_before_script"], arm["loads"], arm["warnings"]) == (None, None, [], [])


def test_repetitions_that_disagree_are_undecided() -> None:
    """If the verdicts of an arm's runs differ, its verdict is `undecided`, and the reason counts the verdicts."""
    runs = [timed(1.0, verdict="kept"), timed(2.0, verdict="inverted"), timed(3.0, verdict="kept")]
    (arm,) = summarize(experiment(*runs))["arms"]
    assert (arm["verdict"], arm["verdict_reason"]) == (
        "undecided",
        "the repetitions have different verdicts: 2 kept, 1 inverted",
    )


def test_arms_stay_in_order() -> None:
    """Arms are in the order of the runs, the control first, also if repetitions alternate."""
    loads = [load_record((1.0, 2.0), (3.0, 4.0))]
    names = ["control", "lowat-131072", "control", "lowat-131072"]
    summary = summarize(experiment(*(run(name, loads=loads) for name in names)))
    assert [arm["name"] for arm in summary["arms"]] == ["control", "lowat-131072"]
    assert [len(arm["repetitions"]) for arm in summary["arms"]] == [2, 2]


def test_warnings_are_the_typical_runs_advice() -> None:
    """The warnings of an arm are the advice on its typical run."""
    loads = [load_record((1.0, 2.0), (3.0, 4.0))]
    (arm,) = summarize(experiment(run(loads=loads, knobs={"LOWAT": "4M"})))["arms"]
    told = "LOWAT=4194304 is not less than the 716800 bytes of the image"
    assert [warning.split(":")[0] for warning in arm["warnings"]] == [told]


_OF_MAPS = {"script", "image", "image_bytes_before_script", "image_bytes_during_script"}


def _streamed(gap_ms: int, **more: str) -> Run:
    """Returns a run of a page with a stream of three chunks, the last of which comes gap_ms later."""
    chunks = (Chunk(at_ns=0, size_bytes=10, every_ns=10**6, count=3),)
    stream = part("stream", after="html", important=True, size_bytes=30, chunks=chunks)
    page = page_of_parts(part("html"), part("a", after="html"), part("b", after="html"), stream)
    payload = {"html": [(1, 1000)], "a": [(30, 1000)], "b": [(40, 1000)]}
    load = load_of(
        page,
        payload | {"stream": [(20, 10), (22, 10), (22 + gap_ms, 10)]},
        dict.fromkeys(("html", "a", "b", "stream"), 1),
    )
    return run(knobs={"PAGE": "news"}, loads=[load.as_record()], **more)  # type: ignore[arg-type]


def test_a_page_of_another_name() -> None:
    """Each resource has its times, and its gaps if it is in chunks; no key names image or script."""
    (arm,) = summarize(experiment(_streamed(10), _streamed(30), _streamed(20)))["arms"]
    assert not _OF_MAPS & set(arm)
    assert arm["focal"] == "stream"
    assert list(arm["resources"]) == ["html", "a", "b", "stream"]
    assert arm["resources"]["a"] == {
        "important": False,
        "size_bytes": 1000,
        "available_ms": 1,
        "headers_ms": 0,
        "first_byte_ms": 30,
        "last_byte_ms": 30,
    }
    stream = arm["resources"]["stream"]
    assert (stream["gap_p50_ms"], stream["gap_p99_ms"], stream["gap_longest_ms"]) == (11, 19.82, 20)
    assert (arm["other_bytes_before"], arm["other_bytes_during"], arm["others_last_byte_ms"]) == (0, 2000, 40)
    assert not any(_OF_MAPS & set(each) for each in arm["repetitions"])


def test_a_page_of_another_name_without_a_good_run() -> None:
    """A page other than `maps` has no keys of image and script, even if a run is not ok."""
    (arm,) = summarize(experiment(_streamed(10), _streamed(10, status="failed")))["arms"]
    assert not any(_OF_MAPS & set(each) for each in (arm, *arm["repetitions"]))
    assert [each["first_byte_ms"] for each in arm["repetitions"]] == [20, None]
    (arm,) = summarize(experiment(_streamed(10, status="invalid")))["arms"]
    assert not _OF_MAPS & set(arm)
    assert (arm["focal"], arm["resources"], arm["first_byte_ms"]) == (None, {}, None)
