"""The ten slowest tests in one or more JUnit reports: `python -m tests.costliest REPORT...`.

A test's time includes the set-up and teardown of its fixtures. If several tests share a fixture, its set-up is counted
for the first of these tests, and its teardown for the last.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.etree import ElementTree

_MOST = 10


def costliest(reports: Iterable[Path]) -> list[tuple[float, str]]:
    """Return seconds and name of the slowest tests, the slowest first. Missing reports are ignored."""
    cases = [case for report in reports if report.exists() for case in ElementTree.parse(report).iter("testcase")]
    timed = [(float(case.attrib["time"]), _name(case)) for case in cases]
    return sorted(timed, reverse=True)[:_MOST]


def table(found: Sequence[tuple[float, str]]) -> str:
    """Return a table with a line for each test."""
    return "\n".join(["The costliest tests, with set-up and teardown:", *(f"{s:7.1f} s  {name}" for s, name in found)])


def _name(case: ElementTree.Element) -> str:
    """Return the test's name as pytest's command line takes it."""
    return f"{case.attrib['classname'].replace('.', '/')}.py::{case.attrib['name']}"


if __name__ == "__main__":
    print(table(costliest(map(Path, sys.argv[1:]))))
