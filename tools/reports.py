"""Prints the end of `make test`: `python -m tools.reports REPORT...`.

These are the slowest tests, those on real clocks for which this machine was too slow, the failed ones, and how many
were left out.

The reports are pytest's, in JUnit's format. A test's time includes the set-up and teardown of its fixtures. If several
tests share a fixture, its set-up is counted for the first of these tests, and its teardown for the last.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree

from tests.support.punctuality import ALWAYS_LATE
from tests.support.selection import MISSING

_MOST = 10
_LINES = 8


def summary(reports: Iterable[Path], unselected: Mapping[str, int]) -> str:
    """Return a line for each of the slowest and of the untested tests, some for each failed one, and one at the end.

    reports: pytest's; missing ones are ignored. unselected: how many tests were not selected, by what they need.
    """
    cases = [case for report in reports if report.exists() for case in ElementTree.parse(report).iter("testcase")]
    lines = ["The costliest tests, with set-up and teardown:"]
    lines += [f"{seconds:7.1f} s  {name}" for seconds, name in _costliest(cases)]
    if untested := [f"  {_name(case)}" for case in cases if _was_late(case)]:
        lines += [f"Not tested, because {ALWAYS_LATE}:", *untested]
    if failed := list(_failed(cases)):
        lines += ["The failed tests:", *failed]
    lines.append(_left_out(cases, Counter(unselected)))
    return "\n".join(lines)


def _costliest(cases: Iterable[ElementTree.Element]) -> list[tuple[float, str]]:
    """Return seconds and name of the slowest tests, the slowest first."""
    return sorted(((float(case.attrib["time"]), _name(case)) for case in cases), reverse=True)[:_MOST]


def _was_late(case: ElementTree.Element) -> bool:
    return any(skipped.attrib.get("message") == ALWAYS_LATE for skipped in case.iter("skipped"))


def _left_out(cases: Iterable[ElementTree.Element], unselected: Counter[str]) -> str:
    """Return a line with the number of tests that were left out, by what they need."""
    skipped = [each.attrib.get("message", "") for case in cases for each in case.iter("skipped")]
    wanting = Counter(unselected)
    wanting.update(reason.partition(MISSING)[0] for reason in skipped if MISSING in reason)
    others = sum(MISSING not in reason for reason in skipped)
    parts = [f"{name} {number}" for name, number in sorted(wanting.items(), key=lambda each: (-each[1], each[0]))]
    parts += [f"other reasons {others}"] if others else []
    if not parts:
        return "No test was left out."
    total = wanting.total() + others
    remedy = "; make test-all runs them" if unselected else ""
    return f"Left out: {total} test{'s' if total > 1 else ''}, for want of {', '.join(parts)}{remedy}"


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
    print(summary(map(Path, sys.argv[1:]), {}))
