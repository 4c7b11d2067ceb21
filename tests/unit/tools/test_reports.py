"""Tests of what `make test` says at its end."""

import subprocess
import sys
from pathlib import Path

from tests.support.punctuality import ALWAYS_LATE
from tests.support.selection import MISSING
from tools.reports import summary

_TESTS = f"""
import pytest
@pytest.fixture
def broken(): raise OSError("no disk")
def test_good(): pass
def test_wrong(): assert 1 == 2, "the reason\\n\\nthe details"
def test_without_set_up(broken): pass
def test_late(): pytest.skip({ALWAYS_LATE!r})
def test_missing(): pytest.skip("chromium{MISSING}not installed")
"""


def _report(path: Path, *seconds: float) -> Path:
    cases = [f'<testcase classname="tests.lab.test_x" name="test_{s}[a-b]" time="{s}" />' for s in seconds]
    path.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
    return path


def test_the_ten_costliest_of_both_parts(tmp_path: Path) -> None:
    """The table has the slowest tests of all reports, the slowest first. A report that does not exist is ignored."""
    parallel = _report(tmp_path / "parallel.xml", *range(1, 10))
    punctual = _report(tmp_path / "punctual.xml", 4.5, 20.25)
    _, first, *others = summary([parallel, punctual, tmp_path / "none.xml"], {}).splitlines()[:-1]
    assert first == "   20.2 s  tests/lab/test_x.py::test_20.25[a-b]"
    assert [float(line.split()[0]) for line in others] == [9, 8, 7, 6, 5, 4.5, 4, 3, 2]


def test_what_failed_and_what_was_not_tested(tmp_path: Path) -> None:
    """The summary names failed tests with the reason, also of a fixture, and tests that were late in every trial.

    The last line counts the tests that were not selected and those that were skipped, by what they need.
    """
    (tmp_path / "test_small.py").write_text(_TESTS)
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", str(tmp_path)]
    done = subprocess.run([*command, f"--rootdir={tmp_path}"], cwd=tmp_path, check=False, capture_output=True)
    assert done.returncode == 1, done.stdout
    *found, last = summary([report], {"h2o": 2, "curl": 3}).splitlines()
    late, failed = (found.index(f"{head}:") for head in (f"Not tested, because {ALWAYS_LATE}", "The failed tests"))
    assert found[late + 1] == "  test_small.py::test_late"
    wrong = found.index("  test_small.py::test_wrong")
    assert wrong > failed
    assert found[wrong + 1 : wrong + 3] == ["    AssertionError: the reason", "      the details"]
    broken = found.index("  test_small.py::test_without_set_up")
    assert found[broken + 1] == '    failed on setup with "OSError: no disk"'
    assert last == "Left out: 7 tests, for want of curl 3, h2o 2, chromium 1, other reasons 1; make test-all runs them"
    assert summary([], {}).endswith("\nNo test was left out.")
