"""Drives WebKitGTK over WebDriver: loads a page and records the page's state after each load.

Rules:
1. The browser is MiniBrowser, which comes with WebKitGTK. It has fresh folders in a scratch folder. The caller removes
   the scratch folder.
2. The browser draws on a display of GTK's broadwayd, to which nobody is connected. No X server is needed.
3. names.py says whom the browser may reach. It accepts the front's certificate.
4. The browser decides everything else: flow-control windows, priorities, how many connections to open, and when.
5. Loads are reloads of one page, on the connection that the browser chooses. Nothing is cached: the front forbids it.
"""

import json
import os
import shutil
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from priolab.client.browsers import command
from priolab.client.browsers.capture import Capture
from priolab.client.browsers.load_starts import Beginnings
from priolab.client.browsers.page_state import LINGER_S, SEEN, Shown, shown
from priolab.client.browsers.program import awaited, running
from priolab.client.load_scheduler import LoadFailed
from priolab.client.webkit.names import resolve_only
from priolab.client.webkit.webdriver import Session, WebDriverError, ask, session
from priolab.common.formats.plan import Plan

PRODUCT = "WebKitGTK"
SWITCHES = ("--automation",)
"""The browser's command line, as its driver gives it."""

_DISPLAY_PROGRAM = "broadwayd"
_DISPLAY = ":0"
_SOCKET = "broadway1.socket"  # as broadwayd names the display's; it is an abstract socket (unix(7))
_SOCKETS = Path("/proc/net/unix")
_START_S = 60.0
_QUESTION_S = 5.0

_SCRIPT = f"const done = arguments[arguments.length - 1]; ({SEEN})().then((seen) => done(JSON.stringify(seen)));"


def _environment(folder: str, key_log: Path) -> Mapping[str, str]:
    """Returns the environment of the browser. folder: the path of the scratch folder."""
    asked = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    places = ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR")
    return {
        **asked,
        **dict.fromkeys(places, folder),
        "GDK_BACKEND": "broadway",
        "BROADWAY_DISPLAY": _DISPLAY,
        "SSLKEYLOGFILE": str(key_log),
        # no services of a desktop
        "DBUS_SESSION_BUS_ADDRESS": "disabled:",
        "GIO_USE_PROXY_RESOLVER": "dummy",
        "GIO_USE_VFS": "local",
        "GSETTINGS_BACKEND": "memory",
        "NO_AT_BRIDGE": "1",
        # no plug-ins for films
        "GST_PLUGIN_SYSTEM_PATH_1_0": f"{folder}/none",
    }


def browse(
    plan: Plan, certificate: Path, program: Path, key_log: Path, scratch: Path, capture: Capture
) -> tuple[str, list[Shown]]:
    """Carries out all loads; returns the browser's name and version, and the state of the page after each load.

    program: the executable file of WebKitWebDriver. key_log: the file for the TLS secrets. scratch: the folder for the
    browser's files; it becomes the working directory. capture: the packets, which tell when a load begins.
    Raises LoadFailed, also if the browser cannot be started.
    """
    display = shutil.which(_DISPLAY_PROGRAM)
    if display is None:
        raise LoadFailed(f"{_DISPLAY_PROGRAM} is not installed")
    resolve_only(plan.server_name, plan.address, scratch)
    # Sockets are made in the folder, and a socket's path may have 107 bytes at most. So the folder gets a short name.
    os.chdir(scratch)
    folder = f"/proc/{os.getpid()}/cwd"
    environment = _environment(folder, key_log)
    options = {"certificates": [{"host": plan.server_name, "certificateFile": str(certificate)}]}
    with ExitStack() as stack:
        try:
            shows = stack.enter_context(running([display, "--unixsocket=web", _DISPLAY], environment, sys.stderr))
            awaited(lambda: f"@{folder}/{_SOCKET}".encode() in _SOCKETS.read_bytes(), shows, _DISPLAY_PROGRAM, _START_S)
            port = _free_port()
            driver = [str(program), "--host=127.0.0.1", f"--port={port}"]
            drives = stack.enter_context(running(driver, environment, sys.stderr))
            awaited(lambda: _is_ready(port), drives, program.name, _START_S)
            opened = stack.enter_context(session(port, {"webkitgtk:browserOptions": options}))
            pages = _load_all(plan, opened, capture)
            time.sleep(LINGER_S)
        except WebDriverError as error:
            raise LoadFailed(f"the browser: {error}") from error
    return f"{PRODUCT} {opened.capabilities['browserVersion']}", pages


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _is_ready(port: int) -> bool:
    try:
        return bool(ask(port, "GET", "/status", _QUESTION_S)["ready"])
    except WebDriverError:
        return False


def _load_all(plan: Plan, opened: Session, capture: Capture) -> list[Shown]:
    beginnings = Beginnings(plan, command.began)
    timeout_s = plan.load_deadline_ns / 10**9
    opened.set_timeout(timeout_s)
    pages = []
    for number in range(1, plan.loads + 1):
        beginnings.expect(number)
        capture.await_request(beginnings.requested)
        try:
            if number == 1:
                opened.command("url", timeout_s, url=f"https://{plan.authority}{plan.requests[0].path}")
            else:
                opened.command("refresh", timeout_s)
            said = opened.command("execute/async", timeout_s, script=_SCRIPT, args=[])
        except WebDriverError as error:
            raise LoadFailed(f"load {number} of {plan.loads}: {error}") from error
        pages.append(shown(number, json.loads(said)))
    return pages
