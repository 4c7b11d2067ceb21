"""A running server as the target of `priolab probe`: its URL, its address, and the certificates to trust."""

import re
import socket
import ssl
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from priolab.analysis.loads.probe import Probe, was_hurried
from priolab.client.plan import STEPS, steps_over
from priolab.client.transport import Deadline, TransportFailed
from priolab.common.errors import ScenarioError, StepFailed
from priolab.common.formats.events import Event
from priolab.common.formats.files import content
from priolab.common.formats.plan import Plan, Steps
from priolab.common.formats.reading import read_journal
from priolab.common.process import processes
from priolab.common.process.processes import Process

STEP = "probing"
_CONNECT_S = 20.0
_MS_NS = 10**6
_LONGEST_PAUSE_NS = 10**10
_LOOK_S = 0.2
_HTTPS = 443
_AS_THEY_ARE = "%/:?#[]@!$&'()*+,;=~"
"""Characters of a path or a query that are not escaped (RFC 3986, 2.2 and 2.4), beside letters, digits and `-._~`."""
_SYSTEMS = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")
_MOST_CA_BYTES = 2**24
_UNKNOWN_ISSUER = re.compile(r"local issuer|self-signed|self signed")


def run_client(plan: Plan, ca: Path, folder: Path, deadline: Deadline, over: threading.Event) -> list[Event]:
    """Runs the client with a plan, and returns its events. The client's files are written to `folder`.

    ca: the file of trusted certificates. over: an event that is set when the command ends. Raises StepFailed with the
    client's reason, and TransportFailed at the deadline or when `over` is set.
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
            raise StepFailed(STEP, _in_its_words(error.reason, plan)) from None
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


def check_unhurried(probe: Probe, remedy: str = "") -> None:
    """Checks that the bytes of a probe over HTTP/2 came within its pauses. Raises StepFailed, with the remedy."""
    if was_hurried(probe, STEPS.size_bytes):
        raise StepFailed(STEP, f"bytes came later than the pauses of the probe, as over a slow link{remedy}")


def parsed_url(where: str, text: str) -> tuple[str, int, str]:
    """Splits a URL into host, port, and path with query. Raises ScenarioError.

    where: the name of the argument that has the URL, for the error.
    """
    wrong = ScenarioError(where, text, "https://HOST[:PORT]/PATH")
    try:
        parts = urlsplit(text)
        port = parts.port or _HTTPS
    except ValueError:
        raise wrong from None
    if parts.scheme != "https" or parts.hostname is None or parts.username is not None:
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
    if host is None or parts.netloc != text:
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
