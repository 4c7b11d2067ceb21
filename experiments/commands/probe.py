"""`priolab probe`: tests in which order a running server sends two resources. No testbed is needed.

Rules:
1. The client requests two large resources on one connection. The client's flow-control window is closed at first. Then
   the client opens the window bit by bit, as in the probes of docs/measured/matrix.md. The server chooses which
   resource to send. Only the order of the bytes is evaluated.
2. Every dialect gets two probes. In one probe the client marks the first resource as more urgent, in the other probe
   the second resource. The difference between the two probes shows how the server follows the dialect. A dialect that
   sends weights gets two more, with weights that differ much (experiments/scenario/stimuli.py).
3. All connections go to one address, eight at a time. Each connection is closed as soon as the order is known. The
   command prints the number of probes before it begins them. A further connection, made before the probes, measures the
   round trip. It uses TCP, also with --http3: a server that speaks HTTP/3 speaks HTTP/2 on the same port.
4. If the server closes a connection before the order is known, the answer for the connection's dialect is `refused`.
5. The whole command has one deadline: 30 s. If the round trip is so long that the probes need more time, the deadline
   is 1.5 times the time needed, five minutes at most. At the deadline, the command shows the answers that it has, names
   the missing answers, and fails.
6. A client's journals are removed once they have been read, and when the command ends, even by kill -9.
"""

import argparse
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from priolab.analysis.judgement.order import Reply
from priolab.analysis.loads.probe import Probe, probe_of
from priolab.client import dialects
from priolab.client.dialects import Dialect
from priolab.client.flow_control_probe import MOST_STEPS
from priolab.client.plan import PROBE_LEAST_BYTES, STEPS, page_plan
from priolab.client.priorities import Priorities
from priolab.client.transport import Deadline, TransportFailed
from priolab.common.errors import ScenarioError, StepFailed, TimedOut
from priolab.common.formats.page import Page
from priolab.common.formats.plan import NAMES, Plan, Protocol, Steps
from priolab.common.process.scratch import scratch_folder
from priolab.experiments.commands import site_load
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.probe_answers import Answer, document, show
from priolab.experiments.commands.target import (
    STEP,
    authorities,
    check_unhurried,
    parsed_address,
    parsed_url,
    reached,
    run_client,
    steps_to,
)
from priolab.experiments.scenario.knobs import KNOBS
from priolab.experiments.scenario.stimuli import Stimulus, asked_by, stimuli_of, stimulus_page
from priolab.netem import units
from priolab.testbed import parsed_time_ns

_SLACK_NS = 60 * 10**9
_AUTO = "auto"
_LEAST_DEADLINE_NS = 30 * 10**9
_MOST_AUTO_NS = 300 * 10**9
_AT_ONCE = 8
_MORE_TIME = "--deadline gives more time"
_NAMES = ("first", "second")
"""The names of the two resources in the client's plan and journals."""


def add_to(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `priolab probe` to its parser."""
    parser.add_argument(
        "url",
        help=f"https://HOST[:PORT]/PATH, a resource of at least {PROBE_LEAST_BYTES // 1024} KiB; or the server",
    )
    parser.add_argument("second", nargs="?", help="another URL of the same server (default: the first URL)")
    parser.add_argument(
        "--dialect",
        metavar="A,B",
        help=f"dialects, named as for the knob DIALECT (default: {','.join(dialects.TRIED)};"
        f" with --http3: {','.join(dialects.TRIED_OVER_HTTP3)})",
    )
    parser.add_argument("--http3", action="store_true", help="probe over HTTP/3 instead of HTTP/2")
    parser.add_argument("--connect", metavar="HOST[:PORT]", help="address to connect to, instead of the URL's host")
    parser.add_argument("--ca", type=Path, metavar="FILE", help="trust only these certificates (default: the system's)")
    parser.add_argument(
        "--pause",
        metavar="TIME",
        help="the client opens the window further when the server has sent nothing for this time"
        " (default: computed from the round trip)",
    )
    parser.add_argument(
        "--deadline",
        metavar="TIME",
        default=_AUTO,
        help="time limit of the command, for all probes together (default: 30s, more if the round trip is long)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    site_load.add_to(parser)
    parser.set_defaults(do=probe)


@dataclass(frozen=True, kw_only=True)
class _Target:
    """The server to probe.

    protocol: HTTP/2 or HTTP/3. host: the URL's host name. authority: the URL's HOST[:PORT]. address, port: where to
    connect. paths: the paths of the first and second resource. ca: the file of trusted certificates. steps: how the
    client opens its window.
    """

    protocol: Protocol
    host: str
    authority: str
    address: str
    port: int
    paths: tuple[str, str]
    ca: Path
    steps: Steps

    def page(self, stimulus: Stimulus) -> Page:
        """Returns the page of a stimulus, which requests the paths."""
        return stimulus_page(stimulus, self.paths)

    def plan(self, question: "_Question") -> Plan:
        """Returns the client's plan for a probe. question: the signals of the probe."""
        return page_plan(
            self.page(question.stimulus),
            protocol=self.protocol,
            address=self.address,
            port=self.port,
            server_name=self.host,
            authority=self.authority,
            priorities=question.priorities,
            dialect=question.dialect,
            first=question.first,
            reloads=0,
            window_bytes=PROBE_LEAST_BYTES,
            steps=self.steps,
            load_deadline_ns=_SLACK_NS + 2 * MOST_STEPS * self.steps.quiet_ns,
        )

    def document(self) -> dict[str, Any]:
        """The server as JSON."""
        return {
            "protocol": self.protocol,
            "host": self.host,
            "address": self.address,
            "port": self.port,
            "paths": self.paths,
        }


@dataclass(frozen=True, kw_only=True)
class _Question:
    """The signals of one probe, which ask the server to send one of the two resources first.

    stimulus: the two resources' priorities. priorities: which resource is marked as more urgent. first: the resource
    requested first; None for the page's order.
    """

    dialect: Dialect = dialects.PLAIN
    stimulus: Stimulus = Stimulus.USUAL
    priorities: Priorities = Priorities.NONE
    first: str | None = None


_UNASKED = (_Question(), _Question(first=_NAMES[1]))


def probe(options: argparse.Namespace, report: Report) -> int:
    """Probes the server and shows the answers, or loads a page from it. Raises ScenarioError, StepFailed."""
    if options.load is not None:
        if options.http3:
            raise ScenarioError("--http3", "given", "no --http3 with --load, which loads the page over HTTP/2")
        return site_load.load_site(options, report)
    if options.yes:
        raise ScenarioError("--yes", "given", "no --yes without --load: a probe always connects")
    site_load.check_absent(options)
    began_ns = time.monotonic_ns()
    given = options.deadline != _AUTO
    limit_ns = parsed_time_ns("--deadline", options.deadline, "100ms", "86400s") if given else _LEAST_DEADLINE_NS
    protocol = Protocol.HTTP3 if options.http3 else Protocol.HTTP2
    named = _dialects(options.dialect, protocol)
    try:
        target, round_trip_ns = _target(options, protocol, Deadline(began_ns + limit_ns, "a probe"))
    except TransportFailed:
        where = options.connect or urlsplit(options.url).netloc
        raise TimedOut(STEP, f"reaching {where}", limit_ns / 10**9, _MORE_TIME) from None
    questions = [*_UNASKED, *(each for dialect in named for pair in _asked(dialect, protocol) for each in pair)]
    if not given:
        honest_ns = ceil(len(questions) / _AT_ONCE) * MOST_STEPS * (target.steps.quiet_ns + round_trip_ns)
        limit_ns = max(limit_ns, min(honest_ns * 3 // 2 // 10**9 * 10**9, _MOST_AUTO_NS))
    beside = Report(aside=True) if options.json else report
    beside.say(
        f"{len(questions)} probes of {target.host} ({target.address}) over {NAMES[protocol]}, {_AT_ONCE} at a time:"
        f" the client opens its window by {STEPS.size_bytes // 1024} KiB whenever the server has sent nothing for"
        f" {units.format_time(target.steps.quiet_ns)}; time limit of all probes together: {limit_ns / 10**9:g} s"
    )
    unasked: tuple[float, float] | None = None
    answers = {str(dialect): Answer() for dialect in named}
    with _seeing(questions, target, Deadline(began_ns + limit_ns, "a probe"), beside) as seen:
        with suppress(TransportFailed):  # the deadline has come
            one, other = (seen(question).important_share for question in _UNASKED)
            unasked = one, other
        for dialect in named:
            with suppress(TransportFailed):
                answers[str(dialect)] = _answer(dialect, seen, protocol)
    missing = [] if unasked else ["the server's own order"]
    missing += [dialect for dialect, answer in answers.items() if not answer.is_seen]
    if options.json:
        report.document(document(target.document(), unasked, answers))
    else:
        show(report, unasked, answers)
    if missing:
        what = f"{len(questions)} probes"
        raise TimedOut(STEP, what, limit_ns / 10**9, f"answers not seen: {', '.join(missing)}; {_MORE_TIME}")
    return 0


@contextmanager
def _seeing(
    questions: Sequence[_Question], target: _Target, deadline: Deadline, report: Report
) -> Iterator[Callable[[_Question], Probe]]:
    """Begins all probes. Yields a function that waits for the probe of a question, and returns its result.

    The function raises StepFailed, and TransportFailed at the deadline.
    """
    done, over = 0, threading.Event()
    with (
        report.ticking(lambda: f"{done} of {len(questions)} probes") as tick,
        scratch_folder("priolab-probe-") as scratch,
        ThreadPoolExecutor(_AT_ONCE) as threads,
    ):

        def ask(question: _Question) -> Probe:
            with tempfile.TemporaryDirectory(dir=scratch) as folder:
                return _probe(question, target, Path(folder), deadline, over)

        asked = {question: threads.submit(ask, question) for question in questions}

        def seen(question: _Question) -> Probe:
            nonlocal done
            found = asked[question].result()
            done = sum(each.done() for each in asked.values())
            tick()
            return found

        try:
            yield seen
        finally:
            over.set()
            threads.shutdown(cancel_futures=True)


def _asked(dialect: Dialect, protocol: Protocol) -> list[tuple[_Question, _Question]]:
    """Returns pairs of probes, one for each stimulus of the dialect.

    The first probe of a pair marks the second resource as more urgent, the other one the first resource.
    """

    def question(stimulus: Stimulus, priorities: Priorities) -> _Question:
        return _Question(dialect=dialect, stimulus=stimulus, priorities=priorities)

    stimuli = stimuli_of(dialect, protocol)
    return [(question(each, Priorities.SPDY), question(each, Priorities.SWAP)) for each in stimuli]


def _answer(dialect: Dialect, seen: Callable[[_Question], Probe], protocol: Protocol = Protocol.HTTP2) -> Answer:
    try:
        replies = [
            Reply.of(asked_by(asked.stimulus, dialect, protocol), seen(asked), seen(swapped))
            for asked, swapped in _asked(dialect, protocol)
        ]
    except StepFailed as error:
        return Answer(refusal=error.reason)
    return Answer(replies=tuple(replies))


def _probe(question: _Question, target: _Target, folder: Path, deadline: Deadline, over: threading.Event) -> Probe:
    """Carries out one probe. Raises StepFailed, and TransportFailed at the deadline or when `over` is set.

    folder: for the client's files. over: an event that is set when the command ends.
    """
    events = run_client(target.plan(question), target.ca, folder, deadline, over)
    for resource, path in zip(_NAMES, target.paths, strict=True):
        own = [event for event in events if event.resource == resource]
        size = sum(event.size_bytes or 0 for event in own if event.kind == "data")
        if size < PROBE_LEAST_BYTES and any(event.kind == "ended" for event in own):
            raise StepFailed(STEP, f"{path} has {size} bytes; a probe needs at least {PROBE_LEAST_BYTES}")
    found = probe_of(events, target.page(question.stimulus))
    if found is None:
        raise StepFailed(STEP, "the server sent nothing when the window was opened")
    if target.protocol is Protocol.HTTP2:
        check_unhurried(found, "; --pause gives longer pauses")
    return found


def _dialects(text: str | None, protocol: Protocol) -> list[Dialect]:
    """Returns the dialects of the text, each once, in the given order. Raises ScenarioError.

    text: None for the default of the protocol.
    """
    usual = dialects.TRIED if protocol is Protocol.HTTP2 else dialects.TRIED_OVER_HTTP3
    words = usual if text is None else text.split(",")
    try:
        named = list(dict.fromkeys(dialects.parse(word.strip()) for word in words))
    except ValueError:
        raise ScenarioError(
            "--dialect", str(text), f"{KNOBS['DIALECT'].allowed}; several with commas between"
        ) from None
    if protocol is Protocol.HTTP3 and any(dialect not in dialects.OVER_HTTP3 for dialect in named):
        raise ScenarioError("--dialect", str(text), f"{', '.join(map(str, dialects.OVER_HTTP3))} with --http3")
    return named


def _target(options: argparse.Namespace, protocol: Protocol, deadline: Deadline) -> tuple[_Target, int]:
    """Returns the target that the options describe, and the round trip in ns, measured by making a connection.

    Raises ScenarioError, StepFailed, and TransportFailed at the deadline.
    """
    one = parsed_url("url", options.url)
    two = parsed_url("second", options.second) if options.second else one
    if one[:2] != two[:2]:
        raise ScenarioError("second", options.second, "a URL of the same server and port")
    host, port, path = one
    to_host, to_port = parsed_address(options.connect) if options.connect else (host, None)
    ca = authorities(options.ca)
    given_pause_ns = parsed_time_ns("--pause", options.pause, "1ms", "10s") if options.pause else None
    address, round_trip_ns = reached(to_host, to_port or port, deadline)
    steps = steps_to(round_trip_ns)
    target = _Target(
        protocol=protocol,
        host=host,
        authority=urlsplit(options.url).netloc,
        address=address,
        port=to_port or port,
        paths=(path, two[2]),
        ca=ca,
        steps=replace(steps, quiet_ns=given_pause_ns) if given_pause_ns else steps,
    )
    return target, round_trip_ns
