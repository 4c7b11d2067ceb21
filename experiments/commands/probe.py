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
4. If the server ends a connection or a stream before the order is known, or answers with an error, the answer for the
   connection's dialect is `refused`. If the order is unknown for another reason, the dialect is `not measured`.
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
from dataclasses import replace
from math import ceil
from pathlib import Path
from urllib.parse import urlsplit

from priolab.analysis.judgement.order import NOT_MEASURED
from priolab.analysis.loads.probe import Probe
from priolab.client import dialects
from priolab.client.dialects import Dialect
from priolab.client.flow_control_probe import MOST_STEPS
from priolab.client.plan import PROBE_LEAST_BYTES, STEPS
from priolab.client.priorities import Priorities
from priolab.client.transport import Deadline, TransportFailed
from priolab.common.errors import ScenarioError, StepFailed, TimedOut
from priolab.common.formats.plan import NAMES, Protocol
from priolab.common.process.scratch import scratch_folder
from priolab.experiments.commands import site_load
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.probe_answers import Answer, document, show
from priolab.experiments.commands.target import STEP, Hurried, Refused, Site, parsed_url, run_client
from priolab.experiments.commands.trial import Trial
from priolab.experiments.scenario.knobs import KNOBS
from priolab.experiments.scenario.stimuli import stimuli_of
from priolab.netem import units
from priolab.testbed import parsed_time_ns

_AUTO = "auto"
_LEAST_DEADLINE_NS = 30 * 10**9
_MOST_AUTO_NS = 300 * 10**9
_AT_ONCE = 8
_MORE_TIME = "--deadline gives more time"


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


_UNASKED = (Trial(priorities=Priorities.NONE), Trial(priorities=Priorities.NONE, first="second"))
"""The probes without priorities: the first resource is requested first, and the second one is."""


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
        site, round_trip_ns = _site(options, protocol, Deadline(began_ns + limit_ns, "a probe"))
    except TransportFailed:
        where = options.connect or urlsplit(options.url).netloc
        raise TimedOut(STEP, f"reaching {where}", limit_ns / 10**9, _MORE_TIME) from None
    trials = [*_UNASKED, *(each for dialect in named for pair in _asked(dialect, protocol) for each in pair)]
    if not given:
        honest_ns = ceil(len(trials) / _AT_ONCE) * MOST_STEPS * (site.steps.quiet_ns + round_trip_ns)
        limit_ns = max(limit_ns, min(honest_ns * 3 // 2 // 10**9 * 10**9, _MOST_AUTO_NS))
    beside = Report(aside=True) if options.json else report
    beside.say(
        f"{len(trials)} probes of {site.host} ({site.address}) over {NAMES[protocol]}, {_AT_ONCE} at a time:"
        f" the client opens its window by {STEPS.size_bytes // 1024} KiB whenever the server has sent nothing for"
        f" {units.format_time(site.steps.quiet_ns)}; time limit of all probes together: {limit_ns / 10**9:g} s"
    )
    answers = {str(dialect): Answer() for dialect in named}
    with _seeing(trials, site, Deadline(began_ns + limit_ns, "a probe"), beside) as seen:
        unasked = _own_order(seen)
        for dialect in named:
            with suppress(TransportFailed):
                answers[str(dialect)] = _answer(dialect, seen, protocol)
    missing = [] if unasked else ["the server's own order"]
    missing += [dialect for dialect, answer in answers.items() if answer.is_missing]
    if options.json:
        report.document(document(site, unasked, answers))
    else:
        show(report, unasked, answers)
    if missing:
        what = f"{len(trials)} probes"
        raise TimedOut(STEP, what, limit_ns / 10**9, f"{NOT_MEASURED}: {', '.join(missing)}; {_MORE_TIME}")
    if isinstance(unasked, str) and not any(answer.replies or answer.refusal for answer in answers.values()):
        raise StepFailed(STEP, unasked)
    return 0


@contextmanager
def _seeing(
    trials: Sequence[Trial], site: Site, deadline: Deadline, report: Report
) -> Iterator[Callable[[Trial], Probe]]:
    """Begins all probes. Yields a function that waits for a probe, and returns its result.

    The function raises StepFailed, and TransportFailed at the deadline.
    """
    done, over = 0, threading.Event()
    with (
        report.ticking(lambda: f"{done} of {len(trials)} probes") as tick,
        scratch_folder("priolab-probe-") as scratch,
        ThreadPoolExecutor(_AT_ONCE) as threads,
    ):

        def ask(trial: Trial) -> Probe:
            with tempfile.TemporaryDirectory(dir=scratch) as folder:
                return _probe(trial, site, Path(folder), deadline, over)

        asked = {trial: threads.submit(ask, trial) for trial in trials}

        def seen(trial: Trial) -> Probe:
            nonlocal done
            found = asked[trial].result()
            done = sum(each.done() for each in asked.values())
            tick()
            return found

        try:
            yield seen
        finally:
            over.set()
            threads.shutdown(cancel_futures=True)


def _asked(dialect: Dialect, protocol: Protocol) -> list[tuple[Trial, Trial]]:
    """Returns pairs of probes, one for each stimulus of the dialect.

    The first probe of a pair marks the second resource as more urgent, the other one the first resource.
    """
    return [Trial(dialect=dialect, page=page).pair for page in stimuli_of(dialect, protocol)]


def _own_order(seen: Callable[[Trial], Probe]) -> tuple[float, float] | str | None:
    """Returns the shares without priorities, or why they are not measured; None at the deadline. Raises StepFailed."""
    try:
        one, other = (seen(trial).important_share for trial in _UNASKED)
    except Hurried as error:
        return error.reason
    except TransportFailed:
        return None
    return one, other


def _answer(dialect: Dialect, seen: Callable[[Trial], Probe], protocol: Protocol = Protocol.HTTP2) -> Answer:
    try:
        replies = [asked.reply(seen(asked), seen(swapped), protocol) for asked, swapped in _asked(dialect, protocol)]
    except Refused as error:
        return Answer(refusal=error.reason)
    except StepFailed as error:
        return Answer(obstacle=error.reason)
    return Answer(replies=tuple(replies))


def _probe(trial: Trial, site: Site, folder: Path, deadline: Deadline, over: threading.Event) -> Probe:
    """Carries out one probe. Raises StepFailed, and TransportFailed at the deadline or when `over` is set.

    folder: for the client's files. over: an event that is set when the command ends.
    """
    events = run_client(site.plan(trial), site.ca, folder, deadline, over)
    return site.probe_in(trial, events, "; --pause gives longer pauses")


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


def _site(options: argparse.Namespace, protocol: Protocol, deadline: Deadline) -> tuple[Site, int]:
    """Returns the server that the options describe, and the round trip in ns, measured by making a connection.

    Raises ScenarioError, StepFailed, and TransportFailed at the deadline.
    """
    site = replace(Site.at("url", options.url, options.connect, options.ca), protocol=protocol)
    if protocol is Protocol.HTTP3 and not site.tls:
        raise ScenarioError("url", options.url, "https:// with --http3")
    if options.second:
        host, port, path = parsed_url("second", options.second)
        if (host, port) != parsed_url("url", options.url)[:2]:
            raise ScenarioError("second", options.second, "a URL of the same server and port")
        site = replace(site, second=path)
    given_pause_ns = parsed_time_ns("--pause", options.pause, "1ms", "10s") if options.pause else None
    site, round_trip_ns = site.reached(deadline)
    if given_pause_ns:
        site = replace(site, steps=replace(site.steps, quiet_ns=given_pause_ns))
    return site, round_trip_ns
