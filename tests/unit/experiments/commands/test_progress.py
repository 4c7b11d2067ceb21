"""Tests of the progress of runs: the counts, the runs at work, and the time left."""

from pathlib import Path

import pytest

from priolab.experiments.commands.eta import tally
from priolab.experiments.commands.live_lines import lines
from priolab.experiments.commands.progress import Planned, Work


def small(slowness: float | None = 1.0) -> Work:
    """Return three arms of two runs each, of 4 s and 40 s of link time; the link's clock is at 10 s."""
    return Work(
        arms=dict.fromkeys("abc", Planned(cost_s=4.0, link_s=40.0)),
        runs={f"{arm}.{number}": arm for arm in "abc" for number in (1, 2)},
        side_by_side=2,
        slowness=slowness,
        link_clock=lambda _: 10.0,
    )


def large(runs: int, seconds: float = 2.0, start_s: float = 1.0) -> Work:
    """Return the work of a sweep with two guests at first."""
    names = [str(number) for number in range(runs)]
    return Work(
        arms=dict.fromkeys(names, Planned(cost_s=seconds, link_s=1.0)),
        runs={name: name for name in names},
        side_by_side=2,
        slowness=1.0,
        start_s=start_s,
        starts=2,
        link_clock=lambda _: None,
    )


def ended(work: Work, name: str, wall_s: float, status: str = "ok") -> None:
    work.ended(name, status, 0.0, wall_s=wall_s, link_s=25.0 if status == "ok" else 0.0)


def left_s(work: Work) -> float:
    found = work.left_s(0.0)
    assert found is not None
    return found


def test_the_line() -> None:
    """The line has the finished arms and runs, failures, link time, the factor over real time, and the time left."""
    work = small()
    assert tally(work, 0.0, 0.0) == "0 of 3 arms, 0 of 6 runs; about 12 s left"
    ended(work, "a.1", 4.0)
    ended(work, "b.1", 4.0, "failed")
    ended(work, "a.2", 4.0)
    found = "1 of 3 arms, 3 of 6 runs, 1 failed; 50 s of link time, 10x real time; about 6 s left"
    assert tally(work, 5.0, 5.0) == found
    for name in ("b.2", "c.1", "c.2"):
        ended(work, name, 4.0)
    took = "3 of 3 arms, 6 of 6 runs, 1 failed; 2 min of link time, 1x real time; took 3 min"
    assert tally(work, 200.0, 200.0) == took
    assert work.runs_left == 0


def test_what_was_done_before_counts_as_done_but_not_as_speed() -> None:
    """Runs finished by an earlier process count as done. Link time and time left are those of this process."""
    work = small()
    work.done_before(["a.1", "a.2"])
    assert tally(work, 101.0, 1.0) == "1 of 3 arms, 2 of 6 runs; about 8 s left"
    ended(work, "b.1", 4.0)
    assert "25 s of link time, 5x real time" in tally(work, 105.0, 5.0)


def test_runs_come_and_go() -> None:
    """A run has a line from its begin until it is complete. A run before its loads has left what it costs."""
    work = small()
    assert work.at_work(0.0) == []
    work.begun("a.1", Path("a.1"), 0.0)
    work.begun("b.2", Path("b.2"), 0.0)
    work.step("a.1", "load 1 of 3", 1.0)
    work.step("unknown", "load 1 of 3", 1.0)
    assert [text for text, _ in lines(("head", ""), work.at_work(3.0), width=80, height=24)] == [
        "head",
        "arm  phase                         link time    time    left",
        "a.1  page load 1 of 3                 10.0 s     3 s     6 s",
        "b.2  starting                                    3 s     1 s",
    ]
    assert work.left_s(3.0) == (4 * 4.0 + 6.0 + 1.0) / 2
    work.carried_out("a.1")
    assert work.at_work(4.0)[0].phase == "evaluating the run's files"
    work.ended("a.1", "ok", 4.0)
    assert [row.name for row in work.at_work(4.0)] == ["b.2"]


def test_a_late_run_is_the_last_to_end() -> None:
    """A run that takes longer than expected counts as none; if no other is left, the time left is not known."""
    work = small()
    work.done_before(["a.1", "a.2", "b.1", "b.2"])
    work.begun("c.1", Path("c.1"), 0.0)
    assert work.left_s(9.0) == 2.0
    work.ended("c.2", "ok", 9.0, wall_s=4.0)
    assert work.left_s(9.0) is None


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_time_left_is_corrected_by_what_took_place(factor: float) -> None:
    """The time left is corrected by the times that runs took. It does not jump at the first run."""
    work = large(1000)
    assert left_s(work) == pytest.approx(1000 + 1)
    ended(work, "0", 3.0 * factor)
    assert 800 < left_s(work) < 1500
    ended(work, "1", 3.0 * factor)
    for number in range(2, 500):
        ended(work, str(number), 2.0 * factor)
    assert left_s(work) == pytest.approx(500 * factor, rel=0.02)


def test_the_start_of_a_guest_is_not_taken_for_the_pace() -> None:
    """The first runs to end have waited for the start of their guests, which is expected."""
    work = large(100, start_s=30.0)
    ended(work, "0", 32.0)
    ended(work, "1", 32.0)
    assert left_s(work) == pytest.approx(98)


def test_a_failed_run_does_not_correct() -> None:
    """A failed run counts as done, and its time, which may be the limit of wall time, says nothing about others."""
    work = large(100)
    ended(work, "0", 300.0, "failed")
    assert work.runs_done == 1
    assert left_s(work) == pytest.approx(99 + 0.5)
