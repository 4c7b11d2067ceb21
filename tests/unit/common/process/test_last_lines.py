"""Tests of what an error quotes of a program's output."""

from pathlib import Path

from priolab.common.process.program_logs import last_lines, tail


def test_the_last_lines() -> None:
    """Blank lines are left out, and the others are joined."""
    assert last_lines("one\ntwo\n\n three \n") == "two | three"
    assert last_lines("one\ntwo\n", 1) == "two"
    assert last_lines("") == ""


def test_a_long_line_is_cut(tmp_path: Path) -> None:
    """An error stays short even if a server prints its whole configuration in one line."""
    log = tmp_path / "output.log"
    log.write_text(f"cannot start: {'x' * 3000}\n")
    assert tail(log) == f"cannot start: {'x' * 386} ..."
    assert tail(tmp_path / "none.log") == ""
