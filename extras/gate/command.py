"""`priolab gate`: says whether a server keeps the order, and names its faults.

Exit codes: 0 every check holds; 1 a check does not hold, or has no result; 2 bad input.
"""

import argparse
import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from priolab.common.documents import check_document, write_document
from priolab.common.errors import ScenarioError, StepFailed, TimedOut
from priolab.common.exit_codes import exit_code
from priolab.common.plural import counted
from priolab.common.process.interruption import Interrupted, limited
from priolab.experiments.commands.console import Report
from priolab.experiments.execution.cli_request import check_only
from priolab.extras.gate import reports, runs
from priolab.extras.gate.checks import DEFAULT, Expectations, read_expectations
from priolab.extras.gate.findings import Result
from priolab.extras.gate.judging import judged
from priolab.extras.gate.seen import Seen
from priolab.proxy.server import catalogue as servers
from priolab.testbed import parsed_time_ns

KNOBS_ALLOWED = (
    *("SERVER", "PROGRAM", "CONFIG", "NATIVE", "BUFFERING", "RECORD", "SNDBUF", "CC"),
    *("SEED", "FABRIC", "SHAPER", "REUSE", "RESULTS", "DEADLINE"),
)
"""The knobs that a user may set. The checks set all others."""

_STEP = "gate"
_SUMMARY = "GITHUB_STEP_SUMMARY"
_URLS = ("https://", "http://")
_IN_URLS = "://"


def add_to(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `priolab gate` to its parser."""
    parser.add_argument(
        "words",
        nargs="*",
        metavar="SERVER, URL or KNOB=VALUE",
        help="a server as for the knob SERVER, or a running server's https://HOST[:PORT]/PATH (http:// without"
        " TLS), a resource of at least"
        f" 256 KiB; without a URL the knobs {', '.join(KNOBS_ALLOWED)}",
    )
    parser.add_argument("--program", metavar="PATH", help="a build of the server, as for the knob PROGRAM")
    parser.add_argument(
        "--expect", type=Path, metavar="FILE", default=DEFAULT, help="expectations (default: those of RFC 9218)"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON, and all else on standard error")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write the result as JUnit XML")
    parser.add_argument(
        "--summary",
        type=Path,
        metavar="FILE",
        help=f"append the result as Markdown to this file (default: the file that {_SUMMARY} names, if it is set)",
    )
    parser.add_argument("--limit", metavar="TIME", default="60s", help="time limit of the whole command (default: 60s)")
    parser.add_argument("--connect", metavar="HOST[:PORT]", help="with a URL: the address to connect to")
    parser.add_argument("--ca", type=Path, metavar="FILE", help="with a URL: trust only these certificates")
    parser.set_defaults(do=gate, from_make=False, knobs=KNOBS_ALLOWED, offers={"words": servers})


def gate(options: argparse.Namespace, report: Report) -> int:
    """Carries out the checks, and shows and writes the result; returns the exit code. Raises LabError."""
    expected = read_expectations(options.expect)
    target, words = split(options.words, options.program)
    if options.summary is None and os.environ.get(_SUMMARY):
        options.summary = Path(os.environ[_SUMMARY])
    for path in (options.junit, options.summary):
        if path is not None:
            check_document(path, _STEP)
    limit_s = parsed_time_ns("--limit", options.limit, "1s", "3600s") / 10**9
    beside = Report(aside=True) if options.json else report
    kept: dict[tuple[str, str], Seen] = {}
    began_s = time.monotonic()
    ended: Interrupted | TimedOut | None = None
    unmade = None
    try:
        with limited(limit_s):
            _carry_out(target, expected, words, options, beside, kept)
    except Interrupted as interruption:
        ended, unmade = interruption, f"interrupted by {interruption.name}"
        if interruption.number == signal.SIGALRM:
            ended = TimedOut(_STEP, f"the checks of {target}", limit_s, "--limit gives more time")
            unmade = "the time was over"
        options.kept = lambda: "the report has the checks that were finished"
    except runs.NotStarted:
        unmade = "the server was not ready"
    findings = judged(expected.check, kept, unmade=unmade)
    found = Result(
        target=target,
        title=expected.title,
        findings=findings,
        took_s=time.monotonic() - began_s,
        ended_early=ended is not None,
    )
    if options.json:
        report.document(reports.document(found))
    else:
        for line in reports.lines(found):
            report.say(line)
    _write(found, options, beside)
    if ended is not None:
        raise ended
    return exit_code(ok=found.passed)


def _carry_out(
    target: str,
    expected: Expectations,
    words: Mapping[str, str],
    options: argparse.Namespace,
    report: Report,
    kept: dict[tuple[str, str], Seen],
) -> None:
    """Carries out the trials. kept: gets their observations. Raises LabError, FolderError."""
    if target.startswith(_URLS):
        for name, value in words.items():
            raise ScenarioError(name, value, "no knob with a URL: the server runs already")
        runs.at_url(target, options.connect, options.ca, expected.check, report.say, kept)
        return
    for option in ("connect", "ca"):
        if (given := getattr(options, option)) is not None:
            raise ScenarioError(f"--{option}", str(given), "no value without a URL")
    request = runs.request_of(expected.check, words)
    report.say(f"{counted(len(expected.check), 'check')} of {target}, {counted(len(request.arms), 'run')}")
    with report.progress(request, steps=False) as shown:
        runs.carry_out(request, expected.check, shown, kept)


def split(words: Sequence[str], program: str | None) -> tuple[str, dict[str, str]]:
    """Returns the target, and the knobs. Raises ScenarioError.

    The target is a URL, or a name of the server for people: its program if there is one, otherwise SERVER.
    """
    knobs: dict[str, str] = {}
    targets = []
    for word in words:
        name, equals, value = word.partition("=")
        if equals and _IN_URLS not in name:
            knobs[name] = value
        else:
            targets.append(word)
    if program is not None:
        knobs["PROGRAM"] = program
    check_only(knobs, KNOBS_ALLOWED, f"the knobs of `priolab gate`: {', '.join(KNOBS_ALLOWED)}")
    if len(targets) > 1 or (targets and "SERVER" in knobs):
        given = [*targets, *([knobs["SERVER"]] if "SERVER" in knobs else [])]
        raise ScenarioError("SERVER", " ".join(given)[:200], "one server")
    if targets and targets[0].startswith(_URLS):
        return targets[0], knobs
    if targets and _IN_URLS in targets[0]:
        raise ScenarioError("URL", targets[0], f"{_URLS[0]}HOST[:PORT]/PATH, or {_URLS[1]} for HTTP/2 without TLS")
    if targets:
        knobs["SERVER"] = targets[0]
    if not (knobs.get("SERVER") or knobs.get("PROGRAM")):
        raise ScenarioError("SERVER", "", "a server, --program PATH, or a URL such as https://localhost/large")
    for name in ("SERVER", "PROGRAM", "CONFIG"):
        if "," in knobs.get(name, ""):
            raise ScenarioError(name, knobs[name], "one value with `priolab gate`")
    return knobs.get("PROGRAM") or knobs["SERVER"], knobs


def _write(found: Result, options: argparse.Namespace, report: Report) -> None:
    if options.junit:
        write_document(options.junit, reports.junit(found), _STEP)
        report.say(f"wrote {options.junit}", whole=True)
    if options.summary:
        try:
            with options.summary.open("a") as file:  # other steps of a job write into the same file
                file.write(reports.summary(found))
        except OSError as error:
            raise StepFailed(_STEP, f"{options.summary} cannot be written: {error.strerror}") from error
