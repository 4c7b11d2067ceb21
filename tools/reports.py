"""Prints the end of `make test`: `python -m tools.reports REPORT...`.

These are the slowest tests, those on real clocks for which this machine was too slow, and the failed ones.

The reports are pytest's, in JUnit's format. A test's time includes the set-up and teardown of its fixtures. If several
tests share a fixture, its set-up is counted for the first of these tests, and its teardown for the last.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree

from tests.support.punctuality import ALWAYS_LATE

_MOST = 10
_LINES = 8


def summary(reports: Iterable[Path]) -> str:
    """Return a line for each of the slowest and of the untested tests, and some for each failed one.

    Missing reports are ignored.
    """
    cases = [case for report in reports if report.exists() for case in ElementTree.parse(report).iter("testcase")]
    lines = ["The costliest tests, with set-up and teardown:"]
    lines += [f"{seconds:7.1f} s  {name}" for seconds, name in _costliest(cases)]
    if untested := [f"  {_name(case)}" for case in cases if _was_late(case)]:
        lines += [f"Not tested, because {ALWAYS_LATE}:", *untested]
    if failed := list(_failed(cases)):
        lines += ["The failed tests:", *failed]
    return "\n".join(lines)


def _costliest(cases: Iterable[ElementTree.Element]) -> list[tuple[float, str]]:
    """Return seconds and name of the slowest tests, the slowest first."""
    return sorted(((float(case.attrib["time"]), _name(case)) for case in cases), reverse=True)[:_MOST]


def _was_late(case: ElementTree.Element) -> bool:
    return any(skipped.attrib.get("message") == ALWAYS_LATE for skipped in case.iter("skipped"))


def _failed(cases: Iterable[ElementTree.Element]) -> Iterator[str]:
    """Yield the name of each failed test, and the first lines of the reason."""
    for case in cases:
        for trouble in (*case.iter("failure"), *case.iter("error")):
            yield f"  {_name(case)}"
            reason = [line for line in trouble.attrib.get("message", "").splitlines() if line.strip()]
            yield from (f"    {line}" for line in reason[:_LINES])


def _name(case: ElementTree.Element) -> str:
    """Return the test's name as pytest's command line takes it."""
    return f"{case.attrib['classname'].replace('.', '/')}.py::{case.attrib['name']}"


if __name__ == "__main__":
    print(summary(map(Path, sys.argv[1:])))
