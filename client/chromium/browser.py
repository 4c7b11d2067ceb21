"""Drives Chromium by Playwright over the DevTools protocol: loads a page and records the page's state after each load.

Rules:
1. The browser has a fresh profile and home folder in a scratch folder. The net log goes there, too. The caller removes
   the scratch folder.
2. Only the server's name resolves, and it resolves to the plan's address. Certificate errors are ignored for the
   front's key alone. No proxy is used, whatever the environment says. Only the page and its resources are requested.
3. The browser and its driver decide everything else: flow-control windows, priorities, how many
   connections to open, and when.
4. Loads are reloads of one page, on the connection that the browser chooses, without a cache.
"""

import base64
import hashlib
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from playwright.sync_api import CDPSession, Error, Page, sync_playwright

from priolab.client.browsers.load_starts import Beginnings
from priolab.client.browsers.page_state import LINGER_S, SEEN, Shown, may_sandbox, shown
from priolab.client.load_scheduler import LoadFailed
from priolab.common.formats.plan import Plan

NETLOG = "netlog.json"
_FATAL = ":FATAL:"
KNOWN_TO_WORK = 156
"""The first version of Chromium that is known to work; the page of 150, in Debian 12 as released, crashes."""


def trusted_key(certificate: Path) -> str:
    """Returns the digest of a certificate's public key as Chromium's option needs it. certificate: a PEM file."""
    key = x509.load_pem_x509_certificate(certificate.read_bytes()).public_key()
    info = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(hashlib.sha256(info).digest()).decode()


def arguments(plan: Plan, certificate: Path, scratch: Path) -> list[str]:
    """Returns the arguments for Chromium that Playwright does not give itself. scratch: the folder for the net log."""
    return [
        f"--host-resolver-rules=MAP {plan.server_name} {plan.address}:{plan.port}, MAP * ~NOTFOUND",
        f"--ignore-certificate-errors-spki-list={trusted_key(certificate)}",
        f"--log-net-log={scratch / NETLOG}",
        "--net-log-capture-mode=Everything",
        "--disable-gpu",
        "--disable-quic",
        "--no-proxy-server",
    ]


def browse(
    plan: Plan, certificate: Path, program: Path, key_log: Path, scratch: Path, began: Callable[[int, int], None]
) -> list[Shown]:
    """Carries out all loads; returns the state of the page after each load.

    program: the browser's executable file. key_log: the file for the TLS secrets. scratch: the folder for profile and
    net log; it becomes the working directory.
    began: called at the start of each load with its number and the time (CLOCK_MONOTONIC in nanoseconds).
    Raises LoadFailed, also if the browser cannot be started.
    """
    # The browser creates a socket in the folder, and a socket's path may have 107 bytes at most. So the folder gets a
    # short name.
    os.chdir(scratch)
    folder = f"/proc/{os.getpid()}/cwd"
    environment: dict[str, str | float | bool] = {
        **os.environ,
        "HOME": folder,
        "TMPDIR": folder,
        "SSLKEYLOGFILE": str(key_log),
    }
    os.environ["TMPDIR"] = folder  # the driver makes the profile in this folder
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=program,
                args=arguments(plan, certificate, scratch),
                env=environment,
                chromium_sandbox=may_sandbox(),
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
            )
            page = browser.new_page()
            pages = _load_all(plan, page, Beginnings(plan, began))
            time.sleep(LINGER_S)
            browser.close()  # completes the net log
            return pages
    except Error as error:
        print(error.message, file=sys.stderr)
        raise LoadFailed(f"the browser: {with_remedy(_reason(error.message))}") from error


def _reason(message: str) -> str:
    """Returns the reason for an error of Playwright: the text that Chromium wrote after `:FATAL:` when it ended.

    Without such a text the reason is the first line of the error message.
    """
    lines = message.splitlines()
    return next((line.partition(_FATAL)[2] for line in lines if _FATAL in line), lines[0])


def with_remedy(reason: str) -> str:
    """Returns the reason for an error; if the page has crashed, with the versions of Chromium that do not."""
    if "crashed" not in reason.lower():
        return reason
    return f"{reason}; Chromium is known to work from version {KNOWN_TO_WORK}, which Debian's security archive has"


def _load_all(plan: Plan, page: Page, beginnings: Beginnings) -> list[Shown]:
    _listen(page.context.new_cdp_session(page), beginnings)
    pages = []
    for number in range(1, plan.loads + 1):
        beginnings.expect(number)
        timeout_ms = plan.load_deadline_ns / 10**6
        try:
            if number == 1:
                page.goto(f"https://{plan.authority}{plan.requests[0].path}", timeout=timeout_ms)
            else:
                page.reload(timeout=timeout_ms)
        except Error as error:
            raise LoadFailed(f"load {number} of {plan.loads}: {with_remedy(error.message.splitlines()[0])}") from error
        pages.append(shown(number, page.evaluate(SEEN)))
    return pages


def _listen(devtools: CDPSession, beginnings: Beginnings) -> None:
    """Reports the browser's requests of documents, and turns its cache off."""

    def hear(event: Mapping[str, Any]) -> None:
        """Handles DevTools' requestWillBeSent, whose timestamp is CLOCK_MONOTONIC in seconds, with microseconds."""
        if event.get("type") == "Document":
            beginnings.requested(round(event["timestamp"] * 10**6) * 1000)

    devtools.on("Network.requestWillBeSent", hear)
    devtools.send("Network.enable")
    devtools.send("Network.setCacheDisabled", {"cacheDisabled": True})
