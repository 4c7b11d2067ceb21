"""Tests of the program that runs all tests (whole.py), with small programs in place of pytest."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.selection import noted
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


def test_the_tests_are_compiled_once(begun: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests are compiled before the parts begin, even if the environment forbids it; a second time they are not."""
    test = begun.parent / "test_small.py"
    test.write_text("def test_good(): pass\n")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert whole._main("core") == 0
    (compiled,) = begun.parent.glob("__pycache__/test_small.*.pyc")
    before = compiled.stat().st_mtime_ns
    test.touch()
    assert whole._main("core") == 0
    assert compiled.stat().st_mtime_ns == before


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


def test_what_passed_elsewhere_is_not_run_again(begun: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Notes of this commit replace those of an earlier run. Those of another commit, or after a change, do not."""
    said = {"rev-parse": "abc\n", "status": ""}

    def run(command: Sequence[str], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 0, said[command[1]], "")

    notes, there = begun.parent / "passed", begun.parent / "there"
    (there / "abc").mkdir(parents=True)
    (there / "abc/trixie-root-0").write_text("tests/a.py::b\ntests/a.py::c")
    monkeypatch.setattr(whole.subprocess, "run", run)
    for commit, changes, passed in (
        ("abc", "", {"tests/a.py::b", "tests/a.py::c"}),
        ("abd", "", ()),
        ("abc", " M x", ()),
    ):
        said |= {"rev-parse": f"{commit}\n", "status": changes}
        notes.mkdir(exist_ok=True)
        (notes / "17").write_text("tests/old.py::d")
        whole._take_over(there)
        assert noted(notes) == set(passed)
