"""`priolab sandbox`: runs a server's command, a client's command and further ones on the lab's link.

Exit codes: the client's; 128 plus the number of the signal that ended the client; those of common/exit_codes.py if the
client has not ended by itself, or for bad input.
"""

import argparse
import json
import math
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from priolab.common.documents import check_document
from priolab.common.errors import ScenarioError, StepFailed
from priolab.common.process.streams import closed
from priolab.testbed.option_values import overridden, parsed_time_ns
from priolab.testbed.sandbox import knobs, report, seeds, session, terminal, timeline
from priolab.testbed.sandbox.expectations import EXPECT, NEVER, Expectation, Verdict
from priolab.testbed.sandbox.link_table import with_tables
from priolab.testbed.sandbox.outcome import Ending, exit_code_of
from priolab.testbed.sandbox.output_log import OutputFrame
from priolab.testbed.sandbox.packet_trace import PacketTrace
from priolab.testbed.sandbox.sandbox_file import SUFFIX, take_file
from priolab.testbed.sandbox.spec import (
    AT_ONCE,
    CLIENT,
    ENVIRONMENT,
    FAIR,
    LISTENS,
    PORTS,
    SCHEDULERS,
    SERVER,
    SandboxSpec,
    check_host,
    check_sysctl,
    is_wait,
    split,
)
from priolab.testbed.sandbox.target import Target

_STEP = "sandbox"
_EXAMPLES = """\
examples:
  priolab sandbox RATE=10mbit DELAY=20ms --server 'python3 -m http.server 80' -- curl -sO http://server/FILE
  priolab sandbox LINK=wpt-4g LOSS=2% --server 'iperf3 -s' --report -- iperf3 -c server -R
  priolab sandbox mirror.DELAY=80ms --server ./serve --host mirror ./serve --wait-port mirror:any -- ./client
"""


def add_to(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `priolab sandbox` to its parser."""
    parser.formatter_class, parser.epilog = argparse.RawDescriptionHelpFormatter, _EXAMPLES
    parser.usage = (
        "%(prog)s [-h] [KNOB=VALUE ...] [OPTION ...] [--server COMMAND] -- COMMAND ...\n"
        "       %(prog)s [-h] FILE.toml [KNOB=VALUE ...] [OPTION ...]"
    )
    listed = ", ".join(f"{name} ({knobs.default(name)})" for name in knobs.ALLOWED).replace("%", "%%")
    help_of_words = f"knobs, with their defaults: {listed}; and FILE{SUFFIX}, which describes a sandbox"
    parser.add_argument("words", nargs="*", metavar="KNOB=VALUE", help=help_of_words)
    parser.add_argument("--server", metavar="COMMAND", help="the server's command, as one word; no shell runs it")
    parser.add_argument(
        "--host",
        "--place",  # its name before hosts were called so
        nargs=2,
        metavar=("NAME", "COMMAND"),
        action="append",
        default=[],
        help="a further host, and the command that runs there beside the server, '' for none; its link has knobs such"
        " as NAME.RATE=1mbit, and the server's such as server.RATE=1mbit; may be given several times",
    )
    parser.add_argument("--ipv6", action="store_true", help="give the hosts addresses of IPv6, too")
    parser.add_argument(
        "--wait-port",
        metavar="[HOST:]PORT",
        action="append",
        default=[],
        help=f"start the client when the server listens at this port; {LISTENS}: at any; {AT_ONCE}: at once; with a"
        f" HOST, also when its program listens; may be given several times (default: {LISTENS})",
    )
    parser.add_argument(
        "--set",
        metavar="HOST.NAME=VALUE",
        action="append",
        default=[],
        help="set a sysctl of a host, such as client.net.ipv4.tcp_sack=0; may be given several times",
    )
    parser.add_argument(
        "--env",
        metavar="NAME[=VALUE]",
        action="append",
        default=[],
        help="a variable of the programs' environment, beside PATH, HOME, LANG and TZ; may be given several times",
    )
    parser.add_argument("--scratch", action="store_true", help="throw away what is written into the current folder")
    parser.add_argument(
        "--read",
        metavar="PATH",
        action="append",
        default=[],
        help="show the programs of this machine's files only the system's folders, the current folder and PATH; may be"
        " given several times (default: / for all)",
    )
    parser.add_argument(
        "--scheduler",
        choices=SCHEDULERS,
        help="fifo: programs run in the order in which they were woken; default: the kernel's scheduler, for programs"
        " whose threads wait for each other by spinning (default: fifo)",
    )
    parser.add_argument("--memory", metavar="SIZE", help="the guest's memory, such as 2g")
    limit = f"{knobs.LIMIT_S:g}s"
    parser.add_argument("--limit", metavar="TIME", help=f"the client's longest time (default: {limit})")
    parser.add_argument(
        "--wall-limit",
        metavar="TIME",
        help=f"the longest time on this machine's clock (default: {knobs.WALL_LIMIT_S:g}s; no limit with a terminal)",
    )
    parser.add_argument(
        "--at",
        nargs=2,
        metavar=("TIME", "EVENT"),
        action="append",
        default=[],
        help="what happens at this time after the client's start: phone.LOSS=100%%, 'partition client server', 'heal',"
        " 'kill server', ...; may be given several times",
    )
    for option, what in ((EXPECT, "'client prints done' or 'client exits 3'"), (NEVER, "'server prints panic'")):
        parser.add_argument(
            option,
            metavar="WORDS",
            action="append",
            default=[],
            help=f"fail unless this holds, such as {what}; may be given several times"
            if option == EXPECT
            else f"fail if this happens, such as {what}; may be given several times",
        )
    seeds.add_options(parser)
    parser.add_argument("--server-output", type=Path, metavar="FILE", help="write the server's output to this file")
    parser.add_argument("--both", action="store_true", help="print the output of all, each line with its host")
    parser.add_argument("--report", action="store_true", help="print what was counted, on standard error")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was counted as JSON")
    parser.add_argument("--capture", type=Path, metavar="FILE", help="write the packets of all hosts as pcapng")
    parser.add_argument(
        "--timeline",
        type=Path,
        metavar="FILE",
        help="draw the packets of all hosts: .svg, or .png with vl-convert-python",
    )
    parser.add_argument(
        "--between", metavar="BEGIN..END", help="draw the packets that were sent in this time, such as 1.5s..2s"
    )
    parser.add_argument("--samples", type=Path, metavar="FILE", help="write the state of all TCP sockets over time")
    parser.add_argument("--interval", metavar="TIME", default="10ms", help="the time between samples (default: 10ms)")
    parser.set_defaults(do=sandbox, command=(), from_make=False, knobs=knobs.ALLOWED)


class Screen(Protocol):
    """Writes a line about a failure for people."""

    def complain(self, text: str) -> None:
        """Writes the line."""


def sandbox(options: argparse.Namespace, shown: Screen) -> int:
    """Carries it out; returns the exit code. Raises LabError."""
    seeds.check_options(options)
    for note in overridden(options.words):
        _aside(f"note: {note}")
    request = request_of(options)
    expectations = _expectations(options, request.spec.numbers)
    if options.seeds is not None:
        return seeds.search(options, request, expectations, shown.complain)
    verdict = Verdict(expectations)
    for path in (options.capture, options.samples):
        if path is not None:
            check_document(path, _STEP)
    begin_s, end_s = _between(options.between, options.timeline)
    if options.timeline is not None:
        timeline.check_file("--timeline", options.timeline)
    traces: list[PacketTrace] = []
    where, note_of_choice = session.usable(request)
    if note_of_choice:
        _aside(f"note: {note_of_choice}")
    for note in report.rates_in_bytes(dict(_named(options.words))):
        _aside(note)
    output = _Output(both=options.both, marked=bool(options.host))
    with ExitStack() as stack:
        servers, counts, drawn = (
            None if path is None else stack.enter_context(Target(path, _STEP))
            for path in (options.server_output, options.json, options.timeline)
        )
        if drawn:
            request = replace(request, traced=traces.append)
        room = stack.enter_context(session.room())

        def hear(frames: Iterable[OutputFrame]) -> None:
            told = [*frames]
            output.hear(told)
            verdict.hear(told)

        outcome = session.carry_out(request, where, room, hear)
        output.end()
        if servers:
            servers.write(b"".join(output.servers))
        if counts:
            counts.write(json.dumps(report.document(request.spec, outcome), indent=2).encode() + b"\n")
        if drawn and traces:
            drawn.write(traces[0].timeline(begin_s=begin_s, end_s=end_s).content(options.timeline))
    if options.report and outcome.ending is Ending.ENDED:
        for line in report.lines(request.spec, outcome):
            _aside(line)
    for hint in outcome.hints:
        _aside(f"hint: {hint}")
    if outcome.reason is not None:
        shown.complain(outcome.reason)
    code = exit_code_of(outcome)
    if outcome.ending is not Ending.ENDED:
        return code
    for lack in verdict.lacks(code):
        shown.complain(lack)
    return verdict.code(code)


def _expectations(options: argparse.Namespace, hosts: Collection[str]) -> list[Expectation]:
    given = ((EXPECT, options.expect), (NEVER, options.never))
    return [Expectation.parse(option, words, hosts) for option, each in given for words in each]


def _named(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    for word in words:
        name, _, value = word.partition("=")
        yield name, value


def request_of(options: argparse.Namespace) -> session.RunRequest:
    """Returns what the options ask for. Reads a file among the words, and standard input. Raises ScenarioError."""
    of_file = take_file(options)
    options.command = [*(options.command or split(of_file, CLIENT))]
    given, links = knobs.parsed(options.words)
    if not options.command:
        raise ScenarioError("COMMAND", "", "the client's command after `--`, such as -- curl http://server/")
    sampled = options.samples is not None
    hosts = _hosts(options.host)
    for name, of_link in links.items():
        knobs.check_link(name, of_link, [SERVER, *hosts])
    waits = dict(_wait(word, hosts) for word in options.wait_port)
    is_steered = terminal.is_here() and not options.both and options.seeds is None
    size = terminal.window() if is_steered else None
    usual = ENVIRONMENT if size is None else {**ENVIRONMENT, "TERM": os.environ.get("TERM", "dumb")}
    limit = f"{knobs.LIMIT_S:g}s" if options.limit is None else options.limit
    spec = SandboxSpec(
        knobs=knobs.of_way(given),
        seed=knobs.seed(given),
        client=split(options.command, "COMMAND"),
        server=None if options.server is None else _server(options.server),
        environment=session.environment_of(options.env, usual),
        folder=str(Path.cwd()),
        limit_ns=parsed_time_ns("--limit", limit, "1ms", "1000000s"),
        sysctls=tuple(_sysctl(word, hosts) for word in options.set),
        wait=waits.pop(SERVER, LISTENS),
        scratch=options.scratch,
        fair=options.scheduler == FAIR,
        interval_ns=parsed_time_ns("--interval", options.interval, "1us", "3600s") if sampled else None,
        hosts=hosts,
        links={name: knobs.of_way(of_link) for name, of_link in links.items()},
        waits=waits,
        ipv6=options.ipv6,
        terminal=size,
        visible=session.visible(options.read),
    ).scheduled(with_tables(options.at), knobs.of_way({}))
    spec = spec if options.seeds is not None else seeds.with_faults(spec, options.faults)
    return session.RunRequest(
        spec=spec,
        fabric=given.get(knobs.FABRIC, knobs.default(knobs.FABRIC)),
        stdin=_stdin(),
        memory_mib=knobs.memory_mib(options.memory),
        wall_limit_s=_wall_limit_s(options.wall_limit, math.inf if size else knobs.WALL_LIMIT_S),
        capture=options.capture,
        samples=options.samples,
    )


def _server(command: str) -> tuple[str, ...]:
    words = split(command, "--server")
    if not words:
        raise ScenarioError("--server", command, "a command")
    return words


def _hosts(given: Iterable[Sequence[str]]) -> dict[str, tuple[str, ...]]:
    hosts: dict[str, tuple[str, ...]] = {}
    for name, command in given:
        check_host("--host", name, hosts)
        hosts[name] = split(command, "--host")
    return hosts


def _sysctl(word: str, hosts: Iterable[str]) -> tuple[str, str, str]:
    name, equals, value = word.partition("=")
    host, _, sysctl = name.partition(".")
    check_sysctl("--set", word, host, sysctl if equals else "", hosts)
    return host, sysctl, value


def _wait(word: str, hosts: Iterable[str]) -> tuple[str, str]:
    host, colon, text = word.rpartition(":")
    if (not colon or host in (SERVER, *hosts)) and is_wait(text):
        return host or SERVER, text
    raise ScenarioError("--wait-port", word, f"{PORTS}, after the name of a further host and a colon if it is its")


def _between(text: str | None, timeline: Path | None) -> tuple[float | None, float | None]:
    """Returns the first and the last second of a timeline; None for those of the packets."""
    if text is None:
        return None, None
    begin, dots, end = text.partition("..")
    if not dots or timeline is None:
        raise ScenarioError("--between", text, "BEGIN..END, such as 1.5s..2s, beside --timeline FILE")
    begin_ns, end_ns = (parsed_time_ns("--between", each, "0s", "1000000s") for each in (begin, end))
    if begin_ns >= end_ns:
        raise ScenarioError("--between", text, "a BEGIN before its END")
    return begin_ns / 10**9, end_ns / 10**9


def _wall_limit_s(text: str | None, default_s: float) -> float:
    return default_s if text is None else parsed_time_ns("--wall-limit", text, "1s", "86400s") / 10**9


def _stdin() -> bytes:
    """Returns this process's standard input, whole; nothing if it is a terminal."""
    return b"" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read()


def _aside(line: str) -> None:
    _write("err", f"{line}\n".encode())


class _Output:
    """Passes on what the programs write. servers: what the others than the client have written."""

    def __init__(self, *, both: bool, marked: bool) -> None:
        """both: True to pass on what all write. marked: True if there are further hosts beside the server."""
        self._both = both
        self._marked = marked
        self._line: dict[tuple[str, str], bytes] = {}
        self.servers: list[bytes] = []

    def hear(self, frames: Iterable[OutputFrame]) -> None:
        """Passes on frames."""
        for frame in frames:
            if self._both or (self._marked and frame.place != CLIENT):
                *lines, self._line[frame.place, frame.stream] = (
                    self._line.get((frame.place, frame.stream), b"") + frame.data
                ).split(b"\n")
                for line in lines:
                    self._mark(frame.place, frame.stream, line)
            elif frame.place == CLIENT:
                _write(frame.stream, frame.data)
            if frame.place == SERVER and not self._marked:
                self.servers.append(frame.data)

    def end(self) -> None:
        """Passes on lines without an end."""
        for (host, stream), rest in self._line.items():
            if rest:
                self._mark(host, stream, rest)
        self._line.clear()

    def _mark(self, host: str, stream: str, line: bytes) -> None:
        marked = b"%s| %s\n" % (host.encode(), line)
        if self._both:
            _write(stream, marked)
        if self._marked and host != CLIENT:
            self.servers.append(marked)


def _write(stream: str, data: bytes) -> None:
    """Writes to standard output or standard error. Raises StepFailed if the former is closed."""
    target = sys.stdout if stream == "out" else sys.stderr
    if stream == "out" and "stdout" in closed:
        raise StepFailed(_STEP, "standard output is closed; `>/dev/null` drops what the client writes")
    target.buffer.write(data)
    target.buffer.flush()
