"""The ten costliest tests of one or more reports in JUnit's format: `python -m tests.costliest REPORT...`.

A test's time includes the set-up and teardown of its fixtures. A fixture that several tests share is counted with the
first of them.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.etree import ElementTree

_MOST = 10


def costliest(reports: Iterable[Path]) -> list[tuple[float, str]]:
    """Seconds and name of each, the costliest first. Reports that were not written are passed over."""
    cases = [case for report in reports if report.exists() for case in ElementTree.parse(report).iter("testcase")]
    timed = [(float(case.attrib["time"]), _name(case)) for case in cases]
    return sorted(timed, reverse=True)[:_MOST]


def table(found: Sequence[tuple[float, str]]) -> str:
    """A line for each."""
    return "\n".join(["The costliest tests, with set-up and teardown:", *(f"{s:7.1f} s  {name}" for s, name in found)])


def _name(case: ElementTree.Element) -> str:
    """As pytest takes it on its command line."""
    return f"{case.attrib['classname'].replace('.', '/')}.py::{case.attrib['name']}"


if __name__ == "__main__":
    print(table(costliest(map(Path, sys.argv[1:]))))
