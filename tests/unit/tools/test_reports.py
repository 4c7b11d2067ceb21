"""Tests of what `make test` says at its end."""

import subprocess
import sys
from pathlib import Path

from tests.support.punctuality import ALWAYS_LATE
from tests.support.selection import MISSING
from tools.reports import summary

_TESTS = """
import time, pytest
@pytest.fixture(scope="module")
def shared():
    time.sleep(0.4)
    yield
    time.sleep(0.2)
def test_alone(): pass
def test_first(shared): pass
@pytest.mark.parametrize("word", ["a b"])
def test_last(shared, word): time.sleep(0.1)
"""
_FAILING = """
import pytest
@pytest.fixture
def broken(): raise OSError("no disk")
def test_good(): pass
def test_wrong(): assert 1 == 2, "the reason\\n\\nthe details"
def test_without_set_up(broken): pass
"""
_LATE = f"""
import pytest
def test_good(): pass
def test_late(): pytest.skip({ALWAYS_LATE!r})
def test_missing(): pytest.skip("chromium{MISSING}not installed")
"""


def _report(path: Path, *seconds: float) -> Path:
    cases = [f'<testcase classname="tests.lab.test_x" name="test_{s}[a-b]" time="{s}" />' for s in seconds]
    path.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
    return path


def _reported(folder: Path, tests: str, code: int) -> list[str]:
    """Runs the tests, which must end with this exit code; returns the lines of the summary."""
    (folder / "test_small.py").write_text(tests)
    report = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", str(folder)]
    done = subprocess.run([*command, f"--rootdir={folder}"], cwd=folder, check=False, capture_output=True, timeout=60)
    assert done.returncode == code, done.stdout
    return summary([report], {"h2o": 2, "curl": 3}).splitlines()


def test_the_ten_costliest_of_both_parts(tmp_path: Path) -> None:
    """The table has the slowest tests of all reports, the slowest first. A report that does not exist is ignored."""
    parallel = _report(tmp_path / "parallel.xml", *range(1, 10))
    punctual = _report(tmp_path / "punctual.xml", 4.5, 20.25)
    _, first, *others = summary([parallel, punctual, tmp_path / "none.xml"], {}).splitlines()[:-1]
    assert first == "   20.2 s  tests/lab/test_x.py::test_20.25[a-b]"
    assert [float(line.split()[0]) for line in others] == [9, 8, 7, 6, 5, 4.5, 4, 3, 2]


def test_set_up_and_teardown_are_counted(tmp_path: Path) -> None:
    """Set-up and teardown of a shared fixture count for the first and the last test that uses the fixture."""
    _, *found, _ = _reported(tmp_path, _TESTS, code=0)
    names = [line.partition(" s  ")[2] for line in found]
    assert names == [f"test_small.py::test_{name}" for name in ("first", "last[a b]", "alone")]
    first_s, last_s, alone_s = (float(line.split()[0]) for line in found)
    assert first_s >= 0.4
    assert last_s >= 0.3 > alone_s


def test_failed_tests_are_named_with_the_reason(tmp_path: Path) -> None:
    """The summary ends with the tests that failed, also those whose fixture failed, and with what went wrong."""
    found = _reported(tmp_path, _FAILING, code=1)
    failed = found[found.index("The failed tests:") + 1 : -1]
    wrong, reason, details, *comparison, without, broken = failed
    assert wrong == "  test_small.py::test_wrong"
    assert reason == "    AssertionError: the reason"
    assert details == "      the details"
    assert "    assert 1 == 2" in comparison
    assert without == "  test_small.py::test_without_set_up"
    assert broken == '    failed on setup with "OSError: no disk"'


def test_tests_that_a_slow_machine_could_not_do_are_named(tmp_path: Path) -> None:
    """The summary names tests that were late in every trial, and no test that was skipped for another reason."""
    found = _reported(tmp_path, _LATE, code=0)
    assert found[found.index(f"Not tested, because {ALWAYS_LATE}:") + 1 : -1] == ["  test_small.py::test_late"]


def test_a_long_reason_is_cut(tmp_path: Path) -> None:
    """No more than eight lines of a reason are shown; pytest has shown all of them above."""
    tests = 'def test_long():\n    raise ValueError("\\n".join(map(str, range(30))))\n'
    found = _reported(tmp_path, tests, code=1)
    assert found[-9:-1] == ["    ValueError: 0", *(f"    {number}" for number in range(1, 8))]


def test_what_was_left_out_is_counted_at_the_end(tmp_path: Path) -> None:
    """The last line counts the tests that were not selected and those that were skipped, by what they need."""
    last = "Left out: 7 tests, for want of curl 3, h2o 2, chromium 1, other reasons 1; make test-all runs them"
    assert _reported(tmp_path, _LATE, code=0)[-1] == last
    assert summary([], {}).endswith("\nNo test was left out.")
