"""The results of a suite's commands: read from summaries and logs, and shown in one table. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

INVERTED_LATER_THAN_S = 5.5
KEPT_BEFORE_S = 3.2
_SUSPICIOUS = re.compile(r"warn|deprecat|\berror", re.IGNORECASE)
_HARMLESS = re.compile(
    r"update-alternatives: warning: (skip creation|forcing reinstallation)"
    r"|dpkg-preconfigure: unable|debconf: |perl: warning: "
    r"|\d+ (passed|skipped|deselected).* in "  # pytest's last line
)
_AS_ROOT = re.compile(r"^setup: these packages are missing; run as root: (.+)$", re.MULTILINE)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_PYTEST = re.compile(r"\d+ (?:failed|passed|skipped|deselected|error).* in [\d.]+s(?: \([\d:]+\))?")
_COUNTS = ("Left out: ", "No test was left out")


@dataclass(frozen=True, kw_only=True)
class CommandResult:
    """A command as one user. trouble: the reasons why its result is not good. warnings: lines of its log to read.

    details: further lines about the result.
    """

    suite: str
    user: str
    what: str
    minutes: float
    result: str
    trouble: Sequence[str]
    warnings: Sequence[str]
    details: Sequence[str] = ()


def suspicious(log: str) -> list[str]:
    """Return the log's lines with a warning or error, each once."""
    lines = [line.strip() for line in log.splitlines() if _SUSPICIOUS.search(line) and not _HARMLESS.search(line)]
    return list(dict.fromkeys(lines))


def roots_command(log: str) -> str | None:
    """Return what the set-up told an ordinary user that root has to run; None if it did not."""
    found = _AS_ROOT.findall(log)
    return str(found[0]) if found else None


def of_experiment(code: int, summary: Mapping[str, Any] | None) -> tuple[str, list[str]]:
    """Return the result in words, and its problems. summary: the output of `priolab show --json`."""
    if summary is None:
        return "-", [f"exit code {code}, and there is no result"]
    arms = {arm["name"]: arm for arm in summary["arms"]}
    trouble = [] if code == 0 else [f"exit code {code}"]
    told = []
    for name, verdict, (least_s, most_s) in (
        ("control", "inverted", (INVERTED_LATER_THAN_S, inf)),
        ("lowat-131072", "kept", (0.0, KEPT_BEFORE_S)),
    ):
        arm = arms.get(name)
        if arm is None or arm["status"] != "ok":
            trouble.append(f"{name}: {arm['reason'] if arm else 'not there'}")
            continue
        at_s = arm["script"]["first_byte_ms"] / 1000
        told.append(f"{name} {at_s:.2f} s {arm['verdict']}")
        if arm["verdict"] != verdict or not least_s < at_s < most_s:
            trouble.append(told[-1])
    return ", ".join(told) or "-", trouble


def of_editions(
    code: int, summary: Mapping[str, Any] | None, fronts: Mapping[str, Mapping[str, Any]]
) -> tuple[list[str], list[str]]:
    """Return a line for each arm with its result, version and digest, and the problems.

    fronts: by arm, the entry `front` of run.json. An arm is good if it is ok and its entry has a version, and the
    digests of packages or of a wheel.
    """
    if summary is None:
        return [], [f"exit code {code}, and there is no result"]
    trouble = [] if code == 0 else [f"exit code {code}"]
    lines = []
    for arm in summary["arms"]:
        name = arm["name"]
        if arm["status"] != "ok":
            trouble.append(f"{name}: {arm['reason']}")
            continue
        front = fronts.get(name, {})
        source = _source(front)
        lines.append(
            f"{name}: {arm['script']['first_byte_ms'] / 1000:.3f} s {arm['verdict']};"
            f" {front.get('version', '-')}; {source or '-'}"
        )
        if "version" not in front or source is None:
            trouble.append(f"{name}: its run.json lacks the version or the digest")
    return lines, trouble


def _source(front: Mapping[str, Any]) -> str | None:
    """Return where a front's program comes from, with its digest; None if run.json does not tell."""
    if "wheel" in front and _DIGEST.fullmatch(front["wheel"]["sha256"]):
        return f"{front['wheel']['requirement']} {front['wheel']['sha256'][:12]}"
    packages = front.get("root", {}).get("packages", ())
    if packages and all(_DIGEST.fullmatch(package["sha256"]) and package["version"] for package in packages):
        return f"{len(packages)} packages of {front['root']['suite']} {front['root']['digest']}"
    return None


def of_tests(code: int, log: str) -> tuple[str, list[str]]:
    """Return the last lines of pytest's processes and the last of all, and the problems that the log shows."""
    lines = [line.strip("= ") for line in log.splitlines()]
    ends = [line for line in lines if _PYTEST.fullmatch(line)]
    last = "; ".join([*ends, *(line for line in lines[-3:] if line.startswith(_COUNTS))])
    trouble = [] if code == 0 and " passed" in last else [f"exit code {code}: {last or 'no tests'}"]
    failed = [line for line in log.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return last or "-", trouble + failed


def table(results: Sequence[CommandResult]) -> str:
    """Return a table with a row for each result, then the problems and warnings."""
    head = ("suite", "user", "what", "minutes", "warnings", "good", "result")
    rows = [
        (
            each.suite,
            each.user,
            each.what,
            f"{each.minutes:.1f}",
            str(len(each.warnings)),
            "no" if each.trouble else "yes",
            each.result,
        )
        for each in results
    ]
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in (head, *rows)
    ]
    for each in results:
        who = f"{each.suite}, {each.user}, {each.what}"
        lines += [f"{who}: {line}" for line in (*each.details, *each.trouble)]
        lines += [f"{who}: warning: {line}" for line in each.warnings]
    return "\n".join(lines)
