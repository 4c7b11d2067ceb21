"""Tests of the comparison of costs."""

import subprocess
import sys
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import pytest

from tools.benches import cost
from tools.benches.cost import Cost, Line, alternately, cost_of

_BUSY = "import time\nwhile time.process_time() < 0.2: pass"


def test_the_processor_time_of_a_command_includes_its_children(tmp_path: Path) -> None:
    """A command that waits for a busy child costs the child's processor time."""
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {_BUSY!r}])"
    found = cost_of([sys.executable, "-c", parent], tmp_path)
    assert found.processor_s >= 0.2
    assert found.wall_s > 0


def test_a_command_that_fails_is_no_measurement(tmp_path: Path) -> None:
    """`cost_of` raises CalledProcessError if the command fails."""
    with pytest.raises(subprocess.CalledProcessError):
        cost_of([sys.executable, "-c", "raise SystemExit(1)"], tmp_path)


def test_commands_take_turns() -> None:
    """Each round carries out every command once. The first round does not count; the median of the others does."""
    order: list[str] = []
    times = count(1)

    def run(name: str) -> Cost:
        order.append(name)
        return Cost(wall_s=0, processor_s=next(times))

    found = alternately({"a": lambda: run("a"), "b": lambda: run("b")}, rounds=3)
    assert order == ["a", "b"] * 4
    assert (found["a"].processor_s, found["b"].processor_s) == (5, 6)


@pytest.mark.parametrize(("limit", "judged"), [(None, ""), (1.5, "1.5, kept"), (1.2, "1.2, exceeded")])
def test_a_line_says_whether_its_limit_holds(limit: float | None, judged: str) -> None:
    """A line has both times, their ratio, and whether the ratio is within the limit."""
    line = Line(name="x", one_s=3, other_s=2, limit=limit)
    assert line.cells == ("x", "3.00", "2.00", "1.50", judged)


def test_an_arm_on_a_fast_link_costs_what_a_further_one_adds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a sweep costs whatever its number of runs does not count; each line compares both checkouts."""
    other = tmp_path / "other"

    def cost_of(command: Sequence[str], folder: Path) -> Cost:
        runs = 2 * int(next(word for word in command if word.startswith("REPEAT=")).partition("=")[2])
        return Cost(wall_s=0, processor_s=7 + runs * (4 if folder == other else 3))

    monkeypatch.setattr(cost, "cost_of", cost_of)
    lines = cost._fast_lines(other, tmp_path)
    assert [(line.one_s, line.other_s) for line in lines] == [(3, 4)] * len(cost.FAST_ARMS)
    assert [name for name, line in zip(cost.FAST_ARMS, lines, strict=True) if name in line.name] == [*cost.FAST_ARMS]
