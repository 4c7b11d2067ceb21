"""The reports of a gate: lines for a terminal, JSON, JUnit XML, and a summary in Markdown. Pure."""

from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree as ET

from priolab.analysis.reports.markdown import Table
from priolab.common.plural import counted
from priolab.experiments.commands.printable import ended
from priolab.extras.gate.findings import Finding, Result
from priolab.extras.gate.seen import LOG

_WORDS = {True: "pass", False: "FAIL", None: "not checked"}


def verdict(result: Result) -> str:
    """Returns the gate's result in one line."""
    made = [each for each in result.findings if each.passed is not None]
    good = sum(bool(each.passed) for each in made)
    left = len(result.findings) - len(made)
    faults = f"; {', '.join(result.faults)}" if result.faults else ""
    beside = f"; {left} not checked" if left else ""
    word = "pass" if result.passed else "FAIL"
    hold = f"{good} of {len(made)} checks hold" if made else "no check could be made"
    if made and all(each.error for each in made):
        hold = f"{counted(len(made), 'check')} without a result"
    return f"{word}: {result.target}: {hold}{beside}{faults} ({result.took_s:.0f} s)"


def lines(result: Result) -> Iterator[str]:
    """Yields the lines for a terminal: each check with its result; for a failed check also frames and ledger.

    If several checks have no result for one reason, such as a server that does not start, only the first one gives it.
    """
    told: dict[str, str] = {}
    for each in result.findings:
        first = told.setdefault(LOG.sub("", each.reason), each.check.name) if each.error else each.check.name
        again = first != each.check.name
        text = f"no result, for the reason of the check {first}" if again else each.text
        yield f"{_WORDS[each.passed]:11}  {each.check.name}: {text}"
        if each.passed is False and not again:
            yield from (f"    {line}" for line in _proof(each))
    yield verdict(result)


def _proof(finding: Finding) -> Iterator[str]:
    yield from finding.frames
    if finding.ledger:
        yield f"ledger: {finding.ledger}"
    for folder in finding.folders:
        yield f"all frames: {folder}/client/events.jsonl"


def document(result: Result) -> dict[str, Any]:
    """Returns the result as a JSON document."""
    return {
        "format": 1,
        "target": result.target,
        "title": result.title,
        "passed": result.passed,
        "ended_early": result.ended_early,
        "took_s": round(result.took_s, 3),
        "faults": result.faults,
        "checks": [
            {
                "kind": each.check.kind,
                "dialect": each.check.dialect,
                "passed": each.passed,
                "error": each.error,
                "faults": [{"name": fault, "meaning": fault.meaning} for fault in each.faults],
                "reason": each.reason,
                "follows": each.follows,
                "frames": each.frames,
                "ledger": each.ledger,
                "folders": each.folders,
                "took_s": round(each.took_s, 3),
            }
            for each in result.findings
        ],
    }


def junit(result: Result) -> bytes:
    """Returns the result as JUnit XML: a test suite with a test case per check."""
    checks = result.findings
    counts = {
        "tests": len(checks),
        "failures": sum(each.passed is False and not each.error for each in checks),
        "errors": sum(each.error for each in checks),
        "skipped": sum(each.passed is None for each in checks),
    }
    texts = {name: str(count) for name, count in counts.items()}
    root = ET.Element("testsuites", {**texts, "time": f"{result.took_s:.3f}"})
    suite = ET.SubElement(
        root, "testsuite", {"name": f"priolab gate {result.target}", **texts, "time": f"{result.took_s:.3f}"}
    )
    for each in checks:
        case = ET.SubElement(
            suite, "testcase", {"classname": "priolab.gate", "name": each.check.name, "time": f"{each.took_s:.3f}"}
        )
        proof = "\n".join(_proof(each))
        if each.passed is None:
            ET.SubElement(case, "skipped", {"message": _plain(each.text)})
        elif each.error:
            ET.SubElement(case, "error", {"message": _plain(each.text), "type": "no result"}).text = _plain(proof)
        elif not each.passed:
            kind = f"follows from {each.follows}" if each.follows else ", ".join(each.faults) or "expectation"
            failure = ET.SubElement(case, "failure", {"message": _plain(each.text), "type": kind})
            failure.text = _plain(proof)
        else:
            ET.SubElement(case, "system-out").text = _plain(each.text)
    ET.indent(root)
    made: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return made + b"\n"


def _plain(text: str) -> str:
    """Replaces characters that XML cannot have, such as control characters, by question marks."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text)


def summary(result: Result) -> str:
    """Returns the result in Markdown: a table of the checks, and the frames of the failed ones."""
    parts = [f"## priolab gate: {_cell(verdict(result))}", "", f"Expectations: {_cell(ended(result.title))}", ""]
    rows = [(_cell(each.check.name), _WORDS[each.passed], _cell(each.text)) for each in result.findings]
    parts.append(Table(head=("check", "result", "what was seen"), rows=tuple(rows)).markdown())
    for each in result.findings:
        if each.passed is False and (proof := list(_proof(each))):
            parts += ["", f"<details><summary>{_cell(each.check.name)}: the frames</summary>", "", "```"]
            parts += [line.replace("`", "'") for line in proof]
            parts += ["```", "", "</details>"]
    return "\n".join(parts) + "\n"


def _cell(text: str) -> str:
    """Returns a text that cannot end a line of a table, or begin a tag of HTML."""
    for letter, escaped in (("&", "&amp;"), ("<", "&lt;"), ("\n", " ")):
        text = text.replace(letter, escaped)
    return text
