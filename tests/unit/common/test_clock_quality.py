"""Tests of the quality of clocks, with artificial ones: fine, coarse, or without progress."""

from dataclasses import dataclass

import pytest

from priolab.common.clock_quality import Quality, examine

MS = 10**6


@dataclass(kw_only=True)
class MadeClock:
    """A clock that shows its time in steps.

    read_ns: the time that a read takes.
    work_ns: the time that a piece of work takes.
    """

    read_ns: int
    work_ns: int
    step_ns: int = 1
    sleeps: bool = True
    true_ns: int = 123_456_789_123
    worked: int = 0

    def read(self) -> int:
        self.true_ns += self.read_ns
        return self.true_ns // self.step_ns * self.step_ns

    def work(self) -> None:
        self.true_ns += self.work_ns
        self.worked += 1

    def sleep(self, seconds: float) -> None:
        self.true_ns += round(seconds * 10**9) if self.sleeps else 0

    def quality(self) -> Quality:
        return examine(self.read, self.work, self.sleep)


def test_a_fine_clock() -> None:
    """The resolution of a fine clock is the time that a read takes."""
    quality = MadeClock(read_ns=60, work_ns=150_000).quality()
    assert (quality.resolution_ns, quality.read_cost_ns) == (60, 60.0)
    assert quality.advances_while_working
    assert quality.reasons == {}


def test_a_clock_that_only_reads_move() -> None:
    """A clock may advance by reads alone, as in the guest, where work takes no time."""
    quality = MadeClock(read_ns=256, work_ns=0, step_ns=256).quality()
    assert (quality.resolution_ns, quality.read_cost_ns) == (256, 256.0)
    assert not quality.advances_while_working


def test_work_outlasts_a_step_by_little() -> None:
    """A clock with fine steps is known to stand still after a millisecond of work; without a step, it takes ten."""
    fine = MadeClock(read_ns=256, work_ns=0, step_ns=256)
    dead = MadeClock(read_ns=0, work_ns=0, sleeps=False)
    fine.quality()
    dead.quality()
    least_work_ns = 50_000
    assert 256 < fine.worked * least_work_ns < MS
    assert dead.worked * least_work_ns == 10 * MS


def test_steps_larger_than_a_read() -> None:
    """If a step is longer than a read, the resolution is the step, and the cost of a read is the mean."""
    quality = MadeClock(read_ns=60, work_ns=150_000, step_ns=1000).quality()
    assert quality.resolution_ns == 1000
    assert quality.read_cost_ns == pytest.approx(60, abs=3)


@pytest.mark.parametrize("step_ms", [1, 4, 10])
def test_a_coarse_clock(step_ms: int) -> None:
    """A coarse clock's step is found by sleeping. The cost of a read is unknown, and work advances the clock."""
    quality = MadeClock(read_ns=60, work_ns=100_000, step_ns=step_ms * MS).quality()
    assert quality.resolution_ns is not None
    assert quality.resolution_ns % (step_ms * MS) == 0
    assert quality.resolution_ns <= 2 * step_ms * MS
    assert quality.read_cost_ns is None
    assert quality.advances_while_working
    assert quality.reasons == {"read_cost_ns": "the clock is too coarse to measure the time of a read"}


def test_a_clock_that_moves_in_sleep_alone() -> None:
    """If only sleep advances a clock, its measurement ends, and the resolution is the advance in the first sleep."""
    quality = MadeClock(read_ns=0, work_ns=0).quality()
    assert quality.resolution_ns == 1000  # the first sleep
    assert not quality.advances_while_working


def test_a_dead_clock() -> None:
    """If a clock never advances, its measurement ends, and each missing figure has its reason."""
    quality = MadeClock(read_ns=0, work_ns=0, sleeps=False).quality()
    assert (quality.resolution_ns, quality.read_cost_ns, quality.advances_while_working) == (None, None, False)
    assert set(quality.reasons) == {"resolution_ns", "read_cost_ns"}
