"""Tests of the lines of a sweep's runs."""

from pathlib import Path

from priolab.experiments.sweep.runs_at_work import RunsAtWork


def test_runs_come_and_go() -> None:
    """A run has a line from its begin until it is complete."""
    runs = RunsAtWork(links_s={"a": 40.0, "b": 40.0}, starting="starting", link_clock=lambda _: 10.0)
    assert runs.lines(0.0, 80) == []
    runs.begun("a.1", Path("a.1"), 0.0)
    runs.begun("b.12", Path("b.12"), 0.0)
    runs.step("a.1", "load 1 of 3", 1.0)
    runs.step("unknown", "load 1 of 3", 1.0)
    assert [line for line, _ in runs.lines(3.0, 80)] == [
        "arm   phase                         link time    time    left",
        "a.1   page load 1 of 3                 10.0 s     3 s     6 s",
        "b.12  starting                                    3 s",
    ]
    runs.carried_out("a.1")
    assert "evaluating the run's files" in runs.lines(4.0, 80)[1][0]
    runs.ended("a.1")
    assert [line.split()[0] for line, _ in runs.lines(4.0, 80)] == ["arm", "b.12"]
