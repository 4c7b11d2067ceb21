"""`priolab probe`: a server that is already there, asked in which order it sends when nothing is in its way.

Rules:
1. Two large resources are requested on one connection and parked on the client's window, which is then opened bit by
   bit, as in the probes of docs/matrix.md: whose bytes come is the server's choice, and only order is read.
2. In every dialect both are asked for in turn: only what that changes is an answer.
3. Connections are made one after another, and no more than are announced.
"""

import argparse
import re
import socket
import ssl
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from analysis.journals import ClientEvent, read_lines
from analysis.matrix.cells import own_order, reading
from analysis.probe import probe_of
from client import dialects
from client.dialects import Dialect
from client.plan import PROBE_LEAST_BYTES, STEPS, Plan, Steps, maps_plan
from client.priorities import IMAGE, SCRIPT, First, Priorities
from experiments.errors import ScenarioError, StepFailed
from experiments.knobs import KNOBS
from experiments.processes import Process
from experiments.report import Report
from netem import units

_STEP = "probing"
_CONNECT_S = 20.0
_MOST_STEPS = 2048
_SLACK_NS = 60 * 10**9
_LOOK_S = 1.0
_MS_NS = 10**6
_HTTPS = 443
_FORMAT = 1
_NAMES = (IMAGE, SCRIPT)
"""What the two are in a plan: nothing is asked of the one, or of the other."""
_SYSTEMS = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")
_MEANING = (
    "strict: who is asked for has 98 % of the window or more; proportional: more of it than if the other is asked for;"
    " ignored: it makes no difference; contrary: less."
)


def add_to(commands: Any) -> None:
    """The command and its words; commands: what argparse's add_subparsers gave."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "probe", help="in which order a running server sends, in every dialect", allow_abbrev=False
    )
    parser.add_argument("url", help=f"https://HOST[:PORT]/PATH, of {PROBE_LEAST_BYTES // 1024} KiB at least")
    parser.add_argument("second", nargs="?", help="another of the same server (the same once more)")
    parser.add_argument("--dialect", metavar="A,B", help=f"some of those of DIALECT ({','.join(dialects.TRIED)})")
    parser.add_argument("--connect", metavar="HOST[:PORT]", help="where to connect to, whatever the URL says")
    parser.add_argument("--ca", type=Path, metavar="FILE", help="trust this authority alone (the system's)")
    parser.add_argument("--pause", metavar="TIME", help="quiet before the window is opened further (by the round trip)")
    parser.add_argument("--json", action="store_true", help="print a document instead of a table")
    parser.set_defaults(do=probe)


@dataclass(frozen=True, kw_only=True)
class _Target:
    """paths: of what is requested first and second. ca: the file with the authorities that are trusted."""

    host: str
    address: str
    port: int
    paths: tuple[str, str]
    ca: Path
    steps: Steps

    def plan(self, question: "_Question") -> Plan:
        """Image and script are what is requested first and second, unless `first` turns them round."""
        return maps_plan(
            address=self.address,
            port=self.port,
            server_name=self.host,
            priorities=question.priorities,
            dialect=question.dialect,
            first=question.first,
            paths=dict(zip(_NAMES, self.paths, strict=True)),
            reloads=0,
            window_bytes=PROBE_LEAST_BYTES,
            steps=self.steps,
            load_deadline_ns=_SLACK_NS + _MOST_STEPS * self.steps.quiet_ns,
        )


@dataclass(frozen=True, kw_only=True)
class _Question:
    """What one connection asks."""

    dialect: Dialect = dialects.PLAIN
    priorities: Priorities = Priorities.NONE
    first: First = First.IMAGE


_UNASKED = (_Question(), _Question(first=First.SCRIPT))


def probe(options: argparse.Namespace, report: Report) -> int:
    """Ask, and tell. Raises ScenarioError, StepFailed."""
    named = _dialects(options.dialect)
    target = _target(options)
    asked = {
        dialect: tuple(_Question(dialect=dialect, priorities=who) for who in (Priorities.SPDY, Priorities.SWAP))
        for dialect in named
    }
    questions = [*_UNASKED, *(question for pair in asked.values() for question in pair)]
    shares: dict[_Question, float] = {}
    beside = Report(aside=True) if options.json else report
    beside.say(
        f"{len(questions)} probes of {target.host}, one after another: {STEPS.size_bytes // 1024} KiB more of the"
        f" window after {units.format_time(target.steps.quiet_ns)} of quiet"
    )
    with (
        beside.ticking(lambda: f"{len(shares)} of {len(questions)} probes") as tick,
        tempfile.TemporaryDirectory(prefix="priolab-probe-") as room,
    ):
        for number, question in enumerate(questions):
            shares[question] = _share(question, target, Path(room) / str(number))
            tick()
    unasked, turned = (shares[question] for question in _UNASKED)
    found = {str(dialect): (shares[spdy], shares[swap]) for dialect, (spdy, swap) in asked.items()}
    if options.json:
        report.document(_document(target, (unasked, turned), found))
        return 0
    rows = [
        (dialect, str(reading(*pair)), *(f"{share:.0%}" for share in (pair[0], 1 - pair[1])))
        for dialect, pair in found.items()
    ]
    report.table(("dialect", "", "the second's part if asked for", "the first's part if asked for"), rows)
    report.say(
        f"Nothing asked: {own_order(unasked, turned)}; what is requested second has {unasked:.0%} of the window,"
        f" {1 - turned:.0%} if the two are requested the other way round."
    )
    report.say(_MEANING)
    return 0


def _document(target: _Target, unasked: tuple[float, float], found: Mapping[str, tuple[float, float]]) -> Any:
    """Shares are of the second path, all of the window being 1."""
    return {
        "format": _FORMAT,
        "host": target.host,
        "port": target.port,
        "paths": target.paths,
        "unasked": {
            "own_order": own_order(*unasked),
            "second_share": dict(zip(("requested_second", "requested_first"), unasked, strict=True)),
        },
        "dialects": {
            dialect: {
                "reading": reading(*pair),
                "second_share": dict(zip(("asked", "swapped"), pair, strict=True)),
            }
            for dialect, pair in found.items()
        },
    }


def _share(question: _Question, target: _Target, folder: Path) -> float:
    """The second's part of the window. Raises StepFailed."""
    folder.mkdir()
    plan = folder / "plan.json"
    plan.write_text(target.plan(question).to_json())
    command = (sys.executable, "-m", "client", str(plan), str(target.ca), str(folder))
    with Process(_STEP, command, folder / "output.log") as client:
        while not client.wait(_LOOK_S):
            pass
        try:
            client.check_success()
        except StepFailed as error:  # its log goes with the folder
            raise StepFailed(_STEP, _in_its_words(error.reason, target)) from None
    events = read_lines(folder / "events.jsonl", ClientEvent)
    found = probe_of(events)
    for resource, path in zip(_NAMES, target.paths, strict=True):
        size = sum(event.size_bytes or 0 for event in events if (event.kind, event.resource) == ("data", resource))
        if size < PROBE_LEAST_BYTES:
            raise StepFailed(_STEP, f"{path} has {size} bytes; a probe needs {PROBE_LEAST_BYTES} at least")
    if found is None:
        raise StepFailed(_STEP, "the server never waited for the window")
    return round(found.script_share, 4)


def _in_its_words(reason: str, target: _Target) -> str:
    """A plan's names are image and script; those who asked know paths."""
    paths = dict(zip(_NAMES, target.paths, strict=True))
    reason = re.sub(rf"\b({'|'.join(_NAMES)})\b", lambda name: paths[name[0]], reason)
    return reason.removeprefix("load 1 of 1: ")


def _dialects(text: str | None) -> list[Dialect]:
    """In the order in which they were asked for. Raises ScenarioError."""
    try:
        return [dialects.parse(word.strip()) for word in (text.split(",") if text is not None else dialects.TRIED)]
    except ValueError:
        raise ScenarioError(
            "--dialect", str(text), f"{KNOBS['DIALECT'].allowed}; several with commas between"
        ) from None


def _target(options: argparse.Namespace) -> _Target:
    """What the words mean; a connection is made, for the round trip. Raises ScenarioError, StepFailed."""
    one = _url("url", options.url)
    two = _url("second", options.second) if options.second else one
    if one[:2] != two[:2]:
        raise ScenarioError("second", options.second, "a URL of the same server and port")
    host, port, path = one
    address, its_port = _address(options.connect) if options.connect else (host, None)
    ca = _authorities(options.ca)
    began_ns = time.monotonic_ns()
    try:
        socket.create_connection((address, its_port or port), timeout=_CONNECT_S).close()
    except OSError as error:
        raise StepFailed(_STEP, f"cannot connect to {address}:{its_port or port}: {error}") from error
    round_trip_ns = time.monotonic_ns() - began_ns
    pause_ns = _pause_ns(options.pause) if options.pause else STEPS.quiet_ns + 2 * (round_trip_ns // _MS_NS) * _MS_NS
    return _Target(
        host=host,
        address=address,
        port=its_port or port,
        paths=(path, two[2]),
        ca=ca,
        steps=Steps(size_bytes=STEPS.size_bytes, quiet_ns=pause_ns),
    )


def _url(where: str, text: str) -> tuple[str, int, str]:
    """Host, port, and the path with its query. Raises ScenarioError."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port or _HTTPS
    except ValueError:
        parts, host, port = SplitResult("", "", "", "", ""), None, 0
    if parts.scheme != "https" or host is None or parts.username is not None:
        raise ScenarioError(where, text, "https://HOST[:PORT]/PATH")
    return host, port, (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _address(text: str) -> tuple[str, int | None]:
    """Raises ScenarioError."""
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if host is None or parts.netloc != text:
        raise ScenarioError("--connect", text, "HOST[:PORT]")
    return host, port


def _pause_ns(text: str) -> int:
    try:
        pause_ns = units.parse_time_ns(text)
    except ValueError:
        pause_ns = 0
    if not _MS_NS <= pause_ns <= 10**10:
        raise ScenarioError("--pause", text, "a time from 1ms to 10s")
    return pause_ns


def _authorities(given: Path | None) -> Path:
    """A file of certificates. Raises ScenarioError."""
    if given is not None:
        try:
            ssl.create_default_context(cafile=str(given))
        except OSError as error:  # ssl.SSLError is one
            raise ScenarioError("--ca", str(given), f"a file of certificates in PEM ({error.strerror})") from error
        return given
    for file in (ssl.get_default_verify_paths().cafile, *_SYSTEMS):
        if file and Path(file).is_file():
            return Path(file)
    raise ScenarioError("--ca", "", "a file of certificates; none of this system's was found")
