"""Tests of `priolab trace convert`: a recorded rate becomes a trace that TRACE takes."""

from pathlib import Path

import pytest

from priolab.common.trace import Trace
from priolab.experiments.cli import main

_TABLE = "time,kbit\n0,8000\n1,2000\n"


def test_a_recorded_rate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The trace is written beside the table, and the command that uses it is named."""
    table = tmp_path / "walk.csv"
    table.write_text(_TABLE)
    assert main(["trace", "convert", str(table), "--unit", "kbit"]) == 0
    file = tmp_path / "walk.trace"
    trace = Trace.parse("walk", file.read_text())
    assert trace.times_ms[-1] == 2000
    assert trace.mean_bit_s == pytest.approx(5_000_000, rel=0.01)
    assert f"TRACE={file}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--unit", "parsec"], "--unit=parsec is not allowed"),
        (["--duration", "2h"], "--duration=2h is not allowed"),
        (["{table}"], "another file than the table"),
    ],
)
def test_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], words: str) -> None:
    """An error names the value, and the table is left as it was."""
    table = tmp_path / "walk.csv"
    table.write_text(_TABLE)
    assert main(["trace", "convert", str(table), *(each.format(table=table) for each in options)]) == 2
    assert words in capsys.readouterr().err
    assert table.read_text() == _TABLE
