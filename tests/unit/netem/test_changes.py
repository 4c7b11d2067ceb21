"""Tests of rate steps at their times."""

import json
import os
import time
from pathlib import Path

from priolab.netem.changes import RateChanges, beside
from priolab.netem.link import RateStep

STEPS = (RateStep(at_ns=100, rate_bit_s=2000), RateStep(at_ns=300, rate_bit_s=1000))


def test_steps_count_from_when_it_is_told(tmp_path: Path) -> None:
    """No step is due before `begin`. Then `look` makes each step at its time, and records the rate that was set."""
    made: list[int] = []

    def make(rate_bit_s: int) -> int:
        made.append(rate_bit_s)
        return rate_bit_s - 1

    file = tmp_path / "changes.jsonl"
    with RateChanges(STEPS, make, file) as changes:
        assert (changes.next_ns, changes.look(10**6)) == (None, None)
        assert changes.begin(10**7) == [(10**7 + 100, 2000), (10**7 + 300, 1000)]
        assert changes.look(10**7 + 99) == 10**7 + 100
        assert made == []
        assert changes.look(10**7 + 100) == 10**7 + 300
        assert changes.look(10**7 + 100) == changes.next_ns
        assert changes.look(10**7 + 400) is None
    assert made == [2000, 1000]
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(line["asked_ns"], line["rate_bit_s"]) for line in lines] == [(10**7 + 100, 1999), (10**7 + 300, 999)]
    assert all(line["t_ns"] > 0 for line in lines)


def test_steps_that_are_made_ahead_are_exact(tmp_path: Path) -> None:
    """Steps announced ahead of time are recorded with their exact times, even if `look` is called late.
    Steps whose time is past at `begin` are recorded as late.
    """
    file = tmp_path / "changes.jsonl"
    far_ns = time.monotonic_ns() + 10**15
    with RateChanges(STEPS, None, file) as changes:
        changes.begin(far_ns)
        changes.look(far_ns + 200)
        changes.begin(0)
        changes.look(far_ns + 10**9)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["t_ns"] - line["asked_ns"] for line in lines[:2]] == [0, 0]
    assert all(line["t_ns"] > line["asked_ns"] for line in lines[2:])


def test_a_link_without_steps_leaves_no_file(tmp_path: Path) -> None:
    """A link without steps has no record, and no step is ever due."""
    file = tmp_path / "changes.jsonl"
    with RateChanges((), int, file) as changes:
        assert (changes.begin(5), changes.look(10)) == ([], None)
    assert not file.exists()


def test_the_record_is_beside_the_journal() -> None:
    """The record is beside the journal; a link without a journal has no record."""
    assert beside(Path("/results/link/queue.jsonl")) == Path("/results/link/changes.jsonl")
    assert beside(Path(os.devnull)) == Path(os.devnull)
