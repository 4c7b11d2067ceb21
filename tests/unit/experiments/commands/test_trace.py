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
        (["--time-unit", "h"], "--time-unit=h is not allowed; allowed: s, ms, us, ns"),
        (["--columns", "time"], "--columns=time is not allowed; allowed: two names or numbers"),
        (["--columns", "time,lat"], "it has no column 'lat'; it has 1 to 2: time, kbit"),
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


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "latin-1"])
def test_encodings(tmp_path: Path, capsys: pytest.CaptureFixture[str], encoding: str) -> None:
    """A mark or another encoding changes nothing; the first row counts without a heading, too."""
    table = tmp_path / "walk.csv"
    table.write_bytes("Uhrzeit \u00e4;rate\n0;5,5\n1;6,5\n".encode(encoding))
    assert main(["trace", "convert", str(table)]) == 0
    assert "990 opportunities in 2,000 ms" in capsys.readouterr().out
    table.write_bytes("0;5,5\n1;6,5\n".encode(encoding))
    assert main(["trace", "convert", str(table)]) == 0
    out = capsys.readouterr().out
    assert "note: taken: column 1 as the time in s, column 2 as the rate in Mbit/s\n" in out
    assert "990 opportunities in 2,000 ms" in out


def test_a_wrong_unit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A rate that is too large for a trace says so beside the error, though the user told the unit."""
    table = tmp_path / "walk.csv"
    table.write_text("0,50000000\n1,60000000\n20,0\n")
    assert main(["trace", "convert", str(table), "--unit", "kbit"]) == 2
    error = capsys.readouterr().err
    assert "rates around 60 Gbit/s are unlikely" in error
    assert "its file would have more than 64 MiB after" in error
    assert error.count("\n") == 1
