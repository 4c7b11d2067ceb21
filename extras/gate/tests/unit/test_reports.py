"""Tests of the gate's reports: JSON, JUnit XML and Markdown."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from priolab.extras.gate.checks import Check
from priolab.extras.gate.faults import Fault
from priolab.extras.gate.findings import Finding, Result
from priolab.extras.gate.reports import document, junit, lines, summary, verdict

FINDINGS = (
    Finding(check=Check(kind="urgency"), passed=True, reason="strict"),
    Finding(
        check=Check(kind="reset"),
        passed=False,
        reason="ignored: <b>|x",
        faults=(Fault.LOST_BY_RESET,),
        frames=("DATA `1`",),
        ledger="the script waited",
        folders=("results/a",),
    ),
    Finding(check=Check(kind="connections"), passed=False, error=True, reason="it ended: \x1b[31m"),
    Finding(check=Check(kind="late"), passed=None, reason="needs a link"),
)
RESULT = Result(target="./<front>", title="mine", findings=FINDINGS, took_s=7.25)


def test_junit() -> None:
    """Counts and kinds agree; the failure has the fault as its type and the frames as its text."""
    root = ET.fromstring(junit(RESULT))
    suite = root[0]
    for element in (root, suite):
        counts = {name: int(element.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
        assert counts == {"tests": 4, "failures": 1, "errors": 1, "skipped": 1}
    assert [[child.tag for child in case] for case in suite] == [["system-out"], ["failure"], ["error"], ["skipped"]]
    failure = suite[1][0]
    assert failure.attrib["type"] == "loses the priority after a RST_STREAM"
    assert failure.text == "DATA `1`\nledger: the script waited\nall frames: results/a/client/events.jsonl"
    assert suite[2][0].attrib["message"] == "it ended: ?[31m"


def test_junit_has_times_and_causes() -> None:
    """A case has the time of its trials. A failure that follows from another check's has this check as its type."""
    passed, failed, *others = RESULT.findings
    found = (replace(passed, took_s=1.25), replace(failed, faults=(), follows="urgency", took_s=2.0), *others)
    suite = ET.fromstring(junit(replace(RESULT, findings=found)))[0]
    assert [case.attrib["time"] for case in suite] == ["1.250", "2.000", "0.000", "0.000"]
    assert suite[1][0].attrib["type"] == "follows from urgency"


def test_markdown() -> None:
    """The texts of the server cannot break the table or add HTML."""
    made = summary(RESULT)
    rows = [line for line in made.splitlines() if line.startswith("| ")]
    assert [row.count("|") for row in rows] == [4] * 6
    assert "&lt;b>&#124;x" in made
    assert "<front>" not in made
    assert made.count("```") == 2


def test_one_reason_for_several_checks() -> None:
    """A server that does not start is told once; the paths of the logs differ, and JUnit has every reason."""
    reasons = {"urgency": "it ended (log: a/b): line 1", "reset": "it ended (log: c/d): line 1", "late": "it ended"}
    found = tuple(
        Finding(check=check, passed=False, error=True, reason=reasons[check.kind], frames=("HEADERS",))
        for check in (Check(kind="urgency"), Check(kind="reset"), Check(kind="late"))
    )
    result = replace(RESULT, findings=found)
    assert list(lines(result))[:-1] == [
        "FAIL         urgency, header: it ended (log: a/b): line 1",
        "    HEADERS",
        "FAIL         reset, header: no result, for the reason of the check urgency, header",
        "FAIL         late, header: it ended",
        "    HEADERS",
    ]
    messages = [each.attrib["message"] for each in ET.fromstring(junit(result)).iter("error")]
    assert messages == list(reasons.values())


def test_the_last_line() -> None:
    """The last line has the result, the number of checks, and the faults."""
    said = verdict(RESULT)
    assert list(lines(RESULT))[-1] == said
    expected = "FAIL: ./<front>: 1 of 3 checks hold; 1 not checked; loses the priority after a RST_STREAM (7 s)"
    assert said == expected


def test_a_document_for_each_result(tmp_path: Path) -> None:
    """A result that passes has no failures in its XML."""
    passed = Result(target="nginx", title="mine", findings=FINDINGS[:1], took_s=1.0)
    file = tmp_path / "junit.xml"
    file.write_bytes(junit(passed))
    assert ET.parse(file).getroot().attrib["failures"] == "0"
    assert verdict(passed).startswith("pass: nginx: 1 of 1 checks hold")


def test_no_check_could_be_made() -> None:
    """Nothing was checked: the last line says why the gate fails."""
    nothing = Result(target="nginx", title="mine", findings=FINDINGS[3:], took_s=1.0)
    assert verdict(nothing) == "FAIL: nginx: no check could be made; 1 not checked (1 s)"


@pytest.mark.parametrize("passed", [True, False])
def test_passed(passed: bool) -> None:  # noqa: FBT001
    """A single failed check fails the gate."""
    findings = (FINDINGS[0], Finding(check=Check(kind="reset"), passed=passed, reason=""))
    assert Result(target="x", title="y", findings=findings, took_s=1.0).passed is passed


def test_json() -> None:
    """The document has each check with its result, its faults and their meanings."""
    made = json.loads(json.dumps(document(RESULT)))
    assert (made["target"], made["passed"], made["faults"]) == ("./<front>", False, [Fault.LOST_BY_RESET])
    assert [each["passed"] for each in made["checks"]] == [True, False, False, None]
    assert made["checks"][1]["faults"] == [{"name": Fault.LOST_BY_RESET, "meaning": Fault.LOST_BY_RESET.meaning}]
    assert not document(replace(RESULT, findings=FINDINGS[:1], ended_early=True))["passed"]
