"""Tests of the program that runs all tests (whole.py), with small programs in place of pytest."""

import sys
from pathlib import Path

import pytest

from tools import whole

_PARTS = ("parallel", "containers", "punctual")


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Sets small programs in place of the three parts. Each appends its name to the returned file, and prints it."""
    begun = tmp_path / "begun"
    failing = tmp_path / "failing"
    failing.write_text("")

    def command(name: str, *_: str) -> list[str]:
        program = f"print({name!r}); open({str(begun)!r}, 'a').write('{name} ')"
        return [sys.executable, "-c", f"{program}; raise SystemExit({name!r} in open({str(failing)!r}).read())"]

    monkeypatch.setattr(whole, "_FOLDERS", (str(tmp_path),))
    monkeypatch.setattr(whole, "_KEPT", tmp_path)
    monkeypatch.setattr(whole, "_command", command)
    return begun


def test_all_parts_run_the_first_one_alone(begun: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The part without real clocks ends before the others begin. The output of all is shown, and they are timed."""
    assert whole._main("core") == 0
    names = begun.read_text().split()
    assert (names[0], set(names)) == ("parallel", set(_PARTS))
    said = capfd.readouterr().out
    assert all(name in said.splitlines() for name in _PARTS)
    assert "The costliest tests" in said


@pytest.mark.parametrize("part", _PARTS)
def test_a_part_that_fails_is_a_failure(begun: Path, part: str) -> None:
    """If one part fails, the exit code is 1, and the other parts run all the same."""
    (begun.parent / "failing").write_text(part)
    assert whole._main("core") == 1
    assert set(begun.read_text().split()) == set(_PARTS)


def test_an_unknown_extra(capsys: pytest.CaptureFixture[str]) -> None:
    """The tests of what is no extra are refused with the names that are allowed."""
    assert whole._main("dmeo") == 2
    assert capsys.readouterr().err.startswith("dmeo has no tests; these have: core, rest, cluster, demo, ")
