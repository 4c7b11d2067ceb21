"""How good a clock is, seen on clocks made by hand: fine, coarse, standing still, dead."""

from dataclasses import dataclass

import pytest

from common.clock_quality import Quality, examine

MS = 10**6


@dataclass(kw_only=True)
class MadeClock:
    """A clock that shows its time in steps. read_ns, work_ns: what a read and a piece of work move it by."""

    read_ns: int
    work_ns: int
    step_ns: int = 1
    sleeps: bool = True
    true_ns: int = 123_456_789_123

    def read(self) -> int:
        self.true_ns += self.read_ns
        return self.true_ns // self.step_ns * self.step_ns

    def work(self) -> None:
        self.true_ns += self.work_ns

    def sleep(self, seconds: float) -> None:
        self.true_ns += round(seconds * 10**9) if self.sleeps else 0

    def quality(self) -> Quality:
        return examine(self.read, self.work, self.sleep)


def test_a_fine_clock() -> None:
    """The smallest step that shows is what a read takes."""
    quality = MadeClock(read_ns=60, work_ns=150_000).quality()
    assert (quality.resolution_ns, quality.read_cost_ns) == (60, 60.0)
    assert quality.advances_while_working
    assert quality.reasons == {}


def test_a_clock_that_only_reads_move() -> None:
    """As in the guest: work takes no time, and a read takes one step."""
    quality = MadeClock(read_ns=256, work_ns=0, step_ns=256).quality()
    assert (quality.resolution_ns, quality.read_cost_ns) == (256, 256.0)
    assert not quality.advances_while_working


def test_steps_larger_than_a_read() -> None:
    """A clock of microseconds: the step is seen, and the cost of a read is the mean."""
    quality = MadeClock(read_ns=60, work_ns=150_000, step_ns=1000).quality()
    assert quality.resolution_ns == 1000
    assert quality.read_cost_ns == pytest.approx(60, abs=3)


@pytest.mark.parametrize("step_ms", [1, 4, 10])
def test_a_coarse_clock(step_ms: int) -> None:
    """It stands still for many reads: its step is seen asleep, what a read costs cannot be told, and work moves it."""
    quality = MadeClock(read_ns=60, work_ns=100_000, step_ns=step_ms * MS).quality()
    assert quality.resolution_ns is not None
    assert quality.resolution_ns % (step_ms * MS) == 0
    assert quality.resolution_ns <= 2 * step_ms * MS
    assert quality.read_cost_ns is None
    assert quality.advances_while_working
    assert quality.reasons == {"read_cost_ns": "the clock is too coarse to measure it"}


def test_a_clock_that_moves_in_sleep_alone() -> None:
    """Neither reads nor work move it: that ends, and is told."""
    quality = MadeClock(read_ns=0, work_ns=0).quality()
    assert quality.resolution_ns == 1000  # the first nap
    assert not quality.advances_while_working


def test_a_dead_clock() -> None:
    """Whatever is done it shows the same: every loop ends, and each figure has its reason."""
    quality = MadeClock(read_ns=0, work_ns=0, sleeps=False).quality()
    assert (quality.resolution_ns, quality.read_cost_ns, quality.advances_while_working) == (None, None, False)
    assert set(quality.reasons) == {"resolution_ns", "read_cost_ns"}
