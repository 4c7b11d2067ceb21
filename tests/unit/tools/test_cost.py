"""Tests of the comparison of what the tests cost."""

from pathlib import Path

import pytest

from tools.campaigns.cost import Outcome, assertions_in, functions_in, main, outcome_of

_COLLECTED = """
tests/unit/test_a.py::test_one
tests/unit/test_a.py::test_two[b::c-1]
tests/unit/test_a.py::test_two[b::c-2]
tests/lab/test_d.py::TestClass::test_three[x[0]]

4 tests collected in 0.10s
"""
_CODE = '''
def test_one(late):
    """assert nothing here"""
    assert 1 == 1 and late, "a reason"
    with pytest.raises(ValueError, match="x"):
        int("x")
    for warned in pytest.warns(UserWarning, go), raises():
        assert warned
'''
_REPORT = """<testsuites><testsuite>
<testcase classname="tests.a" name="test_good" time="1" />
<testcase classname="tests.a" name="test_wrong" time="1"><failure message="no" /></testcase>
<testcase classname="tests.a" name="test_broken" time="1"><error message="no" /></testcase>
<testcase classname="tests.a" name="test_absent" time="0"><skipped message="no gcc" /></testcase>
<testcase classname="tests.a" name="test_good[2]" time="1"><system-out>said</system-out></testcase>
</testsuite></testsuites>"""


def test_functions_are_named_without_their_cases() -> None:
    """A function with several cases is counted once, and lines of another kind are ignored."""
    assert functions_in(_COLLECTED) == {
        "tests/unit/test_a.py::test_one",
        "tests/unit/test_a.py::test_two",
        "tests/lab/test_d.py::TestClass::test_three",
    }


def test_assertions_are_counted_in_the_code() -> None:
    """Assertions are assert statements and uses of pytest.raises and pytest.warns, but no words in texts."""
    assert assertions_in(_CODE) == 4


def test_a_report_tells_what_became_of_the_cases(tmp_path: Path) -> None:
    """A case whose fixture failed has failed, too."""
    report = tmp_path / "report.xml"
    report.write_text(_REPORT)
    assert outcome_of(report, 2.5) == Outcome(passed=2, skipped=1, failed=2, processor_s=2.5)


def test_a_folder_that_is_no_checkout_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is carried out, one line says what is allowed."""
    with pytest.raises(SystemExit) as ended:
        main(str(tmp_path))
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        f"AGAINST={tmp_path} is not allowed; allowed: a checkout of the lab after `make setup-test`\n"
    )
