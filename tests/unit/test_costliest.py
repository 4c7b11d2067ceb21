"""Tests of the table at the end of `make test`."""

import subprocess
import sys
from pathlib import Path

from tests.costliest import costliest, table

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


def _report(path: Path, *seconds: float) -> Path:
    cases = [f'<testcase classname="tests.lab.test_x" name="test_{s}[a-b]" time="{s}" />' for s in seconds]
    path.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
    return path


def test_the_ten_costliest_of_both_parts(tmp_path: Path) -> None:
    """The table has the slowest tests of all reports, the slowest first. A report that does not exist is ignored."""
    parallel = _report(tmp_path / "parallel.xml", *range(1, 10))
    punctual = _report(tmp_path / "punctual.xml", 4.5, 20.25)
    found = costliest([parallel, punctual, tmp_path / "none.xml"])
    assert [seconds for seconds, _ in found] == [20.25, 9, 8, 7, 6, 5, 4.5, 4, 3, 2]
    assert table(found).splitlines()[1] == "   20.2 s  tests/lab/test_x.py::test_20.25[a-b]"


def test_set_up_and_teardown_are_counted(tmp_path: Path) -> None:
    """Set-up and teardown of a shared fixture count for the first and the last test that uses the fixture."""
    (tmp_path / "test_slow.py").write_text(_TESTS)
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", str(tmp_path)]
    subprocess.run([*command, f"--rootdir={tmp_path}"], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    found = costliest([report])
    assert [name.rpartition("::")[2] for _, name in found] == ["test_first", "test_last[a b]", "test_alone"]
    first_s, last_s, alone_s = (seconds for seconds, _ in found)
    assert first_s >= 0.4
    assert last_s >= 0.3 > alone_s
    assert found[1][1] == "test_slow.py::test_last[a b]"
