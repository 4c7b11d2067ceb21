"""Tests of the link time of a run that is under way."""

from pathlib import Path

import pytest

from priolab.experiments.commands.link_clock import link_s


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Make a run folder without journals."""
    for name in ("client", "front"):
        (tmp_path / name).mkdir()
    return tmp_path


def test_no_journal_yet(run: Path) -> None:
    """Before the first complete line there is no link time."""
    assert link_s(run) is None
    (run / "client/events.jsonl").write_text('{"t_ns": 10')
    assert link_s(run) is None


def test_the_ends_of_both_journals(run: Path) -> None:
    """Link time is from the first line of either journal to the last complete line of either."""
    (run / "client/events.jsonl").write_text('{"t_ns": 16000000000, "kind": "connected"}\n{"t_ns": 17000000000}\n')
    assert link_s(run) == 1.0
    lines = [f'{{"t_ns": {15_500_000_000 + 10**7 * number}, "unsent": 5}}\n' for number in range(451)]
    (run / "front/sockets.jsonl").write_text("".join(lines) + '{"t_ns": 99')
    assert link_s(run) == 4.5


def test_a_journal_without_sense(run: Path) -> None:
    """Bytes that are no journal have no time, and do no harm."""
    (run / "client/events.jsonl").write_bytes(b"\xff\x00" * 5000 + b'\n{"t_ns": ' + b"9" * 40 + b"}\n")
    assert link_s(run) is None
