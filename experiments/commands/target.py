"""A running server under test: its URL, its address, the certificates to trust, and the client that carries out trials.

Probes, page loads from a site, and the gate at a URL come from here. A server refuses a dialect if it ends the
connection or a stream, or answers with an error. All else that keeps a probe from its result says nothing of the
server: then the dialect is not measured.
"""

import os
import re
import socket
import ssl
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from priolab.analysis.loads.probe import Probe, probe_of, was_hurried
from priolab.client.flow_control_probe import MOST_STEPS
from priolab.client.plan import PROBE_LEAST_BYTES, STEPS, PlanKind, page_plan, steps_over
from priolab.client.transport import Deadline, TransportFailed
from priolab.common.errors import ScenarioError, StepFailed
from priolab.common.formats.events import Event
from priolab.common.formats.files import content
from priolab.common.formats.page import Page
from priolab.common.formats.plan import Plan, Protocol, Steps
from priolab.common.formats.reading import read_journal
from priolab.common.process import processes
from priolab.common.process.processes import Process
from priolab.experiments.commands.trial import Trial
from priolab.experiments.scenario.knobs import KNOBS
from priolab.experiments.scenario.stimuli import stimulus_page

STEP = "probing"
_CONNECT_S = 20.0
_MS_NS = 10**6
_LONGEST_PAUSE_NS = 10**10
_LOOK_S = 0.2
_SCHEMES = ("https", "http")
_PORTS = dict(zip(_SCHEMES, (443, 80), strict=True))
_AS_THEY_ARE = "%/:?#[]@!$&'()*+,;=~"
"""Characters of a path or a query that are not escaped (RFC 3986, 2.2 and 2.4), beside letters, digits and `-._~`."""
_SYSTEMS = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")
_MOST_CA_BYTES = 2**24
_UNKNOWN_ISSUER = re.compile(r"local issuer|self-signed|self signed")
_SLACK_NS = 60 * 10**9
_REFUSALS = re.compile(
    r"closed the connection|connection broke.*(reset by peer|Broken pipe)|sent GOAWAY|reset the stream|with status"
)


def is_refused(reason: str) -> bool:
    """True if a client failed, for this reason, because the server ended the connection or a stream, or answered so."""
    return _REFUSALS.search(reason) is not None


class Refused(StepFailed):
    """The server ended the connection or a stream, or answered with an error."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """A running server.

    host: the URL's host name. authority: the URL's HOST[:PORT]. address, port: where to connect. path, second: the
    paths of a probe's resources. ca: the file of trusted certificates. tls: False for HTTP/2 without TLS. steps: how
    the client opens its window in a probe. limit_ns: the time limit of page loads.
    """

    host: str
    authority: str
    address: str
    port: int
    path: str
    second: str
    ca: Path
    tls: bool = True
    protocol: Protocol = Protocol.HTTP2
    steps: Steps = STEPS
    limit_ns: int = _SLACK_NS

    @property
    def scheme(self) -> str:
        """The scheme of the server's URLs."""
        return _SCHEMES[not self.tls]

    @classmethod
    def at(cls, where: str, url: str, connect: str | None, ca: Path | None) -> "Site":
        """Returns the server at a URL, to which nobody has connected yet. Raises ScenarioError.

        where: the name of the argument that has the URL, for the error. connect: HOST[:PORT] to connect to instead.
        """
        host, port, path = parsed_url(where, url)
        tls = urlsplit(url).scheme == _SCHEMES[0]
        if ca is not None and not tls:
            raise ScenarioError("--ca", str(ca), f"no value with {url}, which has no certificate")
        address, other = (host, None) if connect is None else parsed_address(connect)
        return cls(
            host=host,
            authority=urlsplit(url).netloc,
            address=address,
            port=other or port,
            path=path,
            second=path,
            ca=authorities(ca) if tls else Path(os.devnull),
            tls=tls,
        )

    def reached(self, deadline: Deadline) -> tuple["Site", int]:
        """Connects; returns the server at the address that answers, with fitting steps, and the round trip in ns.

        Raises StepFailed, and TransportFailed at the deadline.
        """
        address, round_trip_ns = reached(self.address, self.port, deadline)
        return replace(self, address=address, steps=steps_to(round_trip_ns)), round_trip_ns

    def plan(self, trial: Trial, page: Page | None = None) -> Plan:
        """Returns the client's plan for a trial. page: for page loads; probes request the site's paths."""
        probes = trial.plan is PlanKind.PROBE
        window = KNOBS["WINDOW"]
        return page_plan(
            page or self.page(trial),
            protocol=self.protocol,
            address=self.address,
            port=self.port,
            server_name=self.host,
            authority=self.authority,
            priorities=trial.priorities,
            dialect=trial.dialect,
            first=trial.first,
            reloads=trial.loads - 1,
            window_bytes=PROBE_LEAST_BYTES if probes else window.parse(window.default),
            steps=self.steps if probes else None,
            load_deadline_ns=_SLACK_NS + 2 * MOST_STEPS * self.steps.quiet_ns if probes else self.limit_ns,
            disturbance=trial.disturbance,
            tls=self.tls,
        )

    def page(self, trial: Trial) -> Page:
        """Returns the page of a probe, which requests the site's paths."""
        return stimulus_page(trial.page, (self.path, self.second))

    def probe_in(self, trial: Trial, events: Sequence[Event], remedy: str = "") -> Probe:
        """Returns the result of a probe. events: the client's. Raises StepFailed.

        remedy: what to do if the pauses were too short, which raises Hurried.
        """
        page = self.page(trial)
        for resource in page.resources:
            own = [event for event in events if event.resource == resource.name]
            size = sum(event.size_bytes or 0 for event in own if event.kind == "data")
            if size < PROBE_LEAST_BYTES and any(event.kind == "ended" for event in own):
                raise StepFailed(STEP, f"{resource.path} has {size} bytes; a probe needs at least {PROBE_LEAST_BYTES}")
        found = probe_of(events, page)
        if found is None:
            raise StepFailed(STEP, "the server sent nothing when the window was opened")
        if self.protocol is Protocol.HTTP2 and was_hurried(found, events, STEPS.size_bytes):
            raise Hurried(STEP, f"{_HURRIED}{remedy}")
        return found


class Hurried(StepFailed):
    """The client's pauses were too short: the order of the bytes does not show what the server chose."""


_HURRIED = (
    "bytes were still on their way when the client opened its window further, as over a slow link, so their order does"
    " not show what the server chose"
)


def run_client(plan: Plan, ca: Path, folder: Path, deadline: Deadline, over: threading.Event) -> list[Event]:
    """Runs the client with a plan, and returns its events. The client's files are written to `folder`.

    ca: the file of trusted certificates. over: an event that is set when the command ends. Raises StepFailed with the
    client's reason (Refused if the server is its cause), and TransportFailed at the deadline or when `over` is set.
    """
    file = folder / "plan.json"
    file.write_text(plan.to_json())
    command = (*processes.module("priolab.client"), str(file), str(ca), str(folder))
    with Process(STEP, command, folder / "output.log") as client:
        while not client.wait(min(_LOOK_S, deadline.remaining_s())):
            if over.is_set():
                raise TransportFailed("the command has ended")
        try:
            client.check_success()
        except StepFailed as error:  # the log is removed with the folder
            reason = _in_its_words(error.reason, plan)
            raise (Refused if is_refused(reason) else StepFailed)(STEP, reason) from None
    return read_journal(folder / "events.jsonl", Event)


def _in_its_words(reason: str, plan: Plan) -> str:
    """Returns the reason why the client failed, with the resources' paths and, for an unknown issuer, with a remedy."""
    paths = {request.name: request.path for request in plan.requests}
    names = "|".join(map(re.escape, paths))
    reason = re.sub(r"^load 1 of 1: ", "", reason).partition("; unfinished: ")[0]
    reason += "; --ca FILE names certificates to trust" if _UNKNOWN_ISSUER.search(reason) else ""
    return re.sub(rf"(answered|stream of) ({names})(?=[ :])", lambda said: f"{said[1]} {paths[said[2]]}", reason)


def addresses(host: str, port: int, deadline: Deadline) -> Sequence[Any]:
    """Returns the result of getaddrinfo(3), called in a thread: the call cannot be interrupted at the deadline.

    Raises OSError, UnicodeError, and TransportFailed at the deadline.
    """
    found: Future[Sequence[Any]] = Future()

    def look_up() -> None:
        try:
            found.set_result(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            found.set_exception(error)

    threading.Thread(target=look_up, daemon=True).start()
    wait([found], deadline.remaining_s())
    deadline.remaining_s()
    return found.result()


def reached(host: str, port: int, deadline: Deadline) -> tuple[str, int]:
    """Connects; returns the first address that answers, and the time of the TCP handshake in ns.

    Raises StepFailed, and TransportFailed at the deadline.
    """
    trouble: Exception = OSError("it has no address")
    try:
        found = addresses(host, port, deadline)
    except (OSError, UnicodeError) as error:
        found, trouble = [], error
    for family, kind, _, _, address in found:
        began_ns = time.monotonic_ns()
        try:
            with socket.socket(family, kind) as connection:
                connection.settimeout(min(_CONNECT_S, deadline.remaining_s()))
                connection.connect(address)
        except OSError as error:
            trouble = error
        else:
            return str(address[0]), time.monotonic_ns() - began_ns
    deadline.remaining_s()
    raise StepFailed(STEP, f"cannot connect to {host}:{port}: {trouble}") from trouble


def steps_to(round_trip_ns: int) -> Steps:
    """Returns the steps of a probe of a server at this round trip, as measured by `reached`: pauses in whole ms."""
    silence_ns = 2 * (round_trip_ns // _MS_NS) * _MS_NS
    return steps_over(min(silence_ns, _LONGEST_PAUSE_NS - STEPS.quiet_ns), leave=True)


def parsed_url(where: str, text: str) -> tuple[str, int, str]:
    """Splits a URL into host, port, and path with query. Raises ScenarioError.

    where: the name of the argument that has the URL, for the error.
    """
    wrong = ScenarioError(where, text, "https://HOST[:PORT]/PATH, or http:// for HTTP/2 without TLS")
    try:
        parts = urlsplit(text)
        port = _PORTS.get(parts.scheme) if parts.port is None else parts.port
    except ValueError:
        raise wrong from None
    if not port or parts.scheme not in _PORTS or parts.hostname is None or parts.username is not None:
        raise wrong
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return parts.hostname, port, quote(path, safe=_AS_THEY_ARE)


def parsed_address(text: str) -> tuple[str, int | None]:
    """Splits HOST[:PORT]; the port is None if it is not given. Raises ScenarioError."""
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if host is None or port == 0 or parts.netloc != text:
        raise ScenarioError("--connect", text, "HOST[:PORT]")
    return host, port


def authorities(given: Path | None) -> Path:
    """Returns the file of trusted certificates: the given one, or the system's. Raises ScenarioError."""
    if given is not None:
        try:
            content(given, _MOST_CA_BYTES)  # a FIFO would never end
            ssl.create_default_context(cafile=str(given))
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            reason = error.strerror if isinstance(error, OSError) else error
            raise ScenarioError("--ca", str(given), f"a file of certificates in PEM ({reason})") from error
        return given
    for file in (ssl.get_default_verify_paths().cafile, *_SYSTEMS):
        if file and Path(file).is_file():
            return Path(file)
    raise ScenarioError("--ca", "", "a file of certificates; this system has none in the usual places")
