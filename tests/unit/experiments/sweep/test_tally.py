"""Tests of a sweep's progress, and of the correction of the time left."""

from dataclasses import replace
from random import Random

import pytest

from priolab.experiments.sweep.tally import Tally, link_s
from tests.support import builders

RUN = builders.run(
    loads=[builders.load_record((1.0, last), (1.0, other)) for last, other in ((12e3, 9e3), (5e3, 13e3))]
).record
BAD = builders.run(status="failed").record


def tally(seconds: float = 4.0) -> Tally:
    arms = {f"{arm}.{number}": arm for arm in ("a", "b", "c") for number in (1, 2)}
    return Tally(arms=arms, estimates_s=dict.fromkeys(arms, seconds), start_s=0.0, starts=0, side_by_side=2, now_s=0.0)


def large(runs: int, seconds: float = 2.0, start_s: float = 1.0) -> Tally:
    """Return the tally of a sweep with two guests at first."""
    arms = {str(number): str(number) for number in range(runs)}
    estimates_s = dict.fromkeys(arms, seconds)
    return Tally(arms=arms, estimates_s=estimates_s, start_s=start_s, starts=2, side_by_side=2, now_s=0.0)


def test_link_time() -> None:
    """A run's link time is the sum of its loads' durations, each until the last byte of image and script.
    A failed run has none.
    """
    assert link_s(RUN) == 25.0
    assert link_s(BAD) == 0.0


def test_the_line() -> None:
    """The line has the finished arms and runs, failures, link time, the factor over real time, and the time left."""
    counted = tally()
    assert counted.line(0.0) == "0 of 3 arms, 0 of 6 runs; about 12 s left"
    counted.ended("a.1", RUN)
    counted.ended("b.1", BAD)
    counted.ended("a.2", RUN)
    assert counted.line(5.0).startswith("1 of 3 arms, 3 of 6 runs, 1 failed; 50 s of link time, 10x real time; about")
    for name in ("b.2", "c.1", "c.2"):
        counted.ended(name, RUN)
    assert counted.line(200.0) == "3 of 3 arms, 6 of 6 runs, 1 failed; 2 min of link time, 1x real time; took 3 min"
    assert counted.runs_left == 0


def test_what_was_done_before_counts_as_done_but_not_as_speed() -> None:
    """Runs finished by an earlier process count as done. Link time and time left are those of this process."""
    counted = tally()
    counted.begin(100.0, ["a.1", "a.2"])
    assert counted.line(101.0) == "1 of 3 arms, 2 of 6 runs; about 8 s left"
    counted.ended("b.1", RUN)
    assert "25 s of link time, 5x real time" in counted.line(105.0)


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_time_left_is_corrected_by_what_took_place(factor: float) -> None:
    """The time left is corrected by the times that runs took. It does not jump at the first run."""
    counted = large(1000)
    assert counted.left_s == pytest.approx(1000 + 1)
    counted.ended("0", replace(RUN, wall_s=3.0 * factor))
    assert 800 < counted.left_s < 1500
    counted.ended("1", replace(RUN, wall_s=3.0 * factor))
    for number in range(2, 500):
        counted.ended(str(number), replace(RUN, wall_s=2.0 * factor))
    assert counted.left_s == pytest.approx(500 * factor, rel=0.02)


@pytest.mark.parametrize("factor", [0.25, 4.0])
def test_a_short_sweep_is_corrected_soon(factor: float) -> None:
    """After a quarter of 40 runs, most of an error of the estimate is corrected, although no two runs are alike."""
    random, counted = Random(3), large(40)
    counted.ended("0", replace(RUN, wall_s=3.0 * factor))
    counted.ended("1", replace(RUN, wall_s=3.0 * factor))
    for number in range(2, 10):
        counted.ended(str(number), replace(RUN, wall_s=2.0 * factor * random.uniform(0.7, 1.3)))
    assert abs(counted.left_s - 30 * factor) < 0.5 * abs(30 - 30 * factor)


def test_short_runs_are_soon_believed() -> None:
    """A sweep of short runs on a machine that is twice as slow as estimated notices within an eighth of its runs."""
    counted = large(40, seconds=0.4, start_s=0.75)
    for number in range(5):
        counted.ended(str(number), replace(RUN, wall_s=2 * (0.4 + 0.75 * (number < 2))))
    assert counted.left_s == pytest.approx(2 * 35 * 0.4 / 2, rel=0.3)


def test_the_start_of_a_guest_is_not_taken_for_the_pace() -> None:
    """The first runs to end have waited for the start of their guests, which is expected."""
    counted = large(100, start_s=30.0)
    counted.ended("0", replace(RUN, wall_s=32.0))
    counted.ended("1", replace(RUN, wall_s=32.0))
    assert counted.left_s == pytest.approx(98)


def test_a_change_of_the_load_is_noticed() -> None:
    """Recent runs count for more: if the machine becomes slower, the time left follows within some minutes."""
    counted = large(1000)
    for number in range(400):
        counted.ended(str(number), replace(RUN, wall_s=2.0))
    for number in range(400, 700):
        counted.ended(str(number), replace(RUN, wall_s=6.0))
    assert counted.left_s == pytest.approx(300 * 3, rel=0.1)


def test_a_failed_run_does_not_correct() -> None:
    """A failed run counts as done, and its time, which may be the limit of wall time, says nothing about others."""
    counted = large(100)
    counted.ended("0", replace(BAD, wall_s=300.0))
    assert counted.runs_done == 1
    assert counted.left_s == pytest.approx(99 + 0.5)
