"""Drives Firefox over WebDriver BiDi: loads a page and records the page's state after each load.

Rules:
1. The browser has a fresh profile and home folder in a scratch folder. The caller removes the scratch folder.
2. profile.py says what the browser may reach, and whom it trusts.
3. The browser decides everything else: flow-control windows, priorities, how many connections to open, and when.
4. Loads are reloads of one page, on the connection that the browser chooses, without a cache.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from priolab.client.browsers.load_starts import Beginnings
from priolab.client.browsers.page_state import LINGER_S, SEEN, Shown, may_sandbox, shown
from priolab.client.browsers.program import awaited, running
from priolab.client.firefox import profile
from priolab.client.firefox.bidi import BidiError, Event, Session, session
from priolab.client.load_scheduler import LoadFailed
from priolab.common.formats.plan import Plan

_LISTENS = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
_START_S = 120.0
_END_S = 20.0
_REQUEST = "network.beforeRequestSent"
_LOG = "browser.log"

SWITCHES = ("--headless", "--no-remote", "--remote-debugging-port=0")
"""The browser's command line, without the folder of the profile."""

UNSANDBOXED: Mapping[str, str] = {
    f"MOZ_DISABLE_{kind}_SANDBOX": "1" for kind in ("CONTENT", "GMP", "GPU", "RDD", "SOCKET_PROCESS", "UTILITY")
}
"""The environment variables that turn the sandboxes of the browser's processes off."""


def browse(
    plan: Plan, certificate: Path, program: Path, key_log: Path, scratch: Path, began: Callable[[int, int], None]
) -> tuple[str, list[Shown]]:
    """Carries out all loads; returns the browser's name and version, and the state of the page after each load.

    program: the browser's executable file. key_log: the file for the TLS secrets. scratch: the folder for the profile.
    began: called at the start of each load with its number and the time (CLOCK_MONOTONIC in nanoseconds).
    Raises LoadFailed, also if the browser cannot be started.
    """
    beginnings = Beginnings(plan, began)

    def hear(method: str, event: Event) -> None:
        if method == _REQUEST and event.get("navigation"):
            beginnings.requested(time.monotonic_ns())

    try:
        with _started(plan, certificate, program, key_log, scratch) as address, session(address, hear) as opened:
            pages = _load_all(plan, opened, beginnings)
            time.sleep(LINGER_S)
            opened.command("browser.close", _END_S)
            return opened.product, pages
    except BidiError as error:
        raise LoadFailed(f"the browser: {error}") from error


@contextmanager
def _started(plan: Plan, certificate: Path, program: Path, key_log: Path, scratch: Path) -> Iterator[str]:
    """Starts the browser; yields the address of its WebSocket. Ends the browser. Raises LoadFailed."""
    folder = scratch / "profile"
    folder.mkdir()
    profile.write(plan, certificate, folder)
    environment = {
        **os.environ,
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        "XDG_CACHE_HOME": str(scratch),
        "XDG_CONFIG_HOME": str(scratch),
        "SSLKEYLOGFILE": str(key_log),
        "MOZ_CRASHREPORTER_DISABLE": "1",
        "MOZ_DISABLE_SAFE_MODE_KEY": "1",
        **({} if may_sandbox() else UNSANDBOXED),
    }
    command = [str(program), *SWITCHES, "--profile", str(folder)]
    with (scratch / _LOG).open("wb") as log, running(command, environment, log) as process:
        yield address_of(process, scratch / _LOG)
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            raise LoadFailed(f"the browser did not end within {_END_S:g} s") from None


def address_of(process: subprocess.Popen[bytes], log: Path) -> str:
    """Returns the address of the browser's WebSocket, once the browser has named it. Raises LoadFailed.

    log: the file with the browser's output.
    """
    try:
        return awaited(lambda: _LISTENS.search(log.read_text(errors="replace")), process, "the browser", _START_S)[1]
    except LoadFailed as error:
        said = log.read_text(errors="replace")
        print(said, file=sys.stderr)
        last = next(reversed(said.strip().splitlines()), "it said nothing")
        raise LoadFailed(f"{error}: {last}") from None


def _load_all(plan: Plan, opened: Session, beginnings: Beginnings) -> list[Shown]:
    timeout_s = plan.load_deadline_ns / 10**9
    context = opened.command("browsingContext.getTree", _START_S, maxDepth=0)["contexts"][0]["context"]
    opened.command("network.setCacheBehavior", _START_S, cacheBehavior="bypass")
    opened.command("session.subscribe", _START_S, events=[_REQUEST])
    pages = []
    for number in range(1, plan.loads + 1):
        beginnings.expect(number)
        try:
            if number == 1:
                url = f"https://{plan.authority}{plan.requests[0].path}"
                opened.command("browsingContext.navigate", timeout_s, context=context, url=url, wait="complete")
            else:
                opened.command("browsingContext.reload", timeout_s, context=context, wait="complete")
            said = opened.command(
                "script.callFunction",
                timeout_s,
                functionDeclaration=f"async () => JSON.stringify(await ({SEEN})())",
                awaitPromise=True,
                target={"context": context},
            )
        except BidiError as error:
            raise LoadFailed(f"load {number} of {plan.loads}: {error}") from error
        if said["type"] != "success":
            raise LoadFailed(f"load {number} of {plan.loads}: {said['exceptionDetails']['text']}")
        pages.append(shown(number, json.loads(said["result"]["value"])))
    return pages
