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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from playwright.sync_api import CDPSession, Error, Page, sync_playwright

from client.loads import LoadFailed
from common.formats.plan import Plan

NETLOG = "netlog.json"
_LINGER_S = 0.25
"""Time for which the connection stays open after the last load, so that the front's sampler sees even a short load."""

_PATIENCE_MS = 1000
"""The longest wait for the browser's report that it has painted the largest picture."""

_SEEN = """async () => {
  const images = Array.from(document.images), output = document.getElementById("script");
  let decoded = true;
  for (const image of images) try { await image.decode(); } catch { decoded = false; }
  const fetched = await (window.fetched ?? []);
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const painted = images.length && await new Promise((done) => {
    new PerformanceObserver((list) => {
      const found = list.getEntries().find((entry) => images.some((image) => entry.url === image.currentSrc));
      if (found) done(found.renderTime);
    }).observe({ type: "largest-contentful-paint", buffered: true });
    setTimeout(() => done(null), PATIENCE_MS);
  });
  const styles = Array.from(document.querySelectorAll("link[rel=stylesheet]"));
  const scripts = Array.from(document.scripts).filter((script) => script.src);
  return { complete: decoded && images.every((image) => image.complete && image.naturalWidth),
           width: images[0]?.naturalWidth ?? null, height: images[0]?.naturalHeight ?? null,
           painted_ms: painted || null, script: output?.textContent ?? null,
           ran: scripts.every((script) => script.dataset.ran), styled: styles.every((style) => style.sheet),
           fetched: fetched.every((size) => size) };
}""".replace("PATIENCE_MS", str(_PATIENCE_MS))
_FATAL = ":FATAL:"


@dataclass(frozen=True, kw_only=True)
class Shown:
    """The state of a page after its load, read by a script inside the page.

    image_complete: True if all pictures are rendered. image_width, image_height: the size of the first picture; None
    without pictures. image_painted_ms: the time from the start of the navigation until the largest picture was painted;
    None if the browser did not report it. script_output: the text that the last script wrote into the page.
    scripts_ran: True if all scripts ran. styled: True if all style sheets apply. fetched: True if all that the page
    fetched by script was received.
    """

    load: int
    image_complete: bool
    image_width: int | None
    image_height: int | None
    image_painted_ms: float | None
    script_output: str | None
    scripts_ran: bool
    styled: bool
    fetched: bool

    @property
    def trouble(self) -> str | None:
        """The first thing that is missing from the page, as a message; None if the page is complete."""
        for is_there, what in (
            (self.image_complete, "the page did not render the picture"),
            (self.scripts_ran, "the script did not run"),
            (self.styled, "a style sheet does not apply"),
            (self.fetched, "the page did not receive all resources that its script fetched"),
        ):
            if not is_there:
                return f"load {self.load}: {what}"
        return None


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
            shown = _load_all(plan, page, began)
            time.sleep(_LINGER_S)
            browser.close()  # completes the net log
            return shown
    except Error as error:
        print(error.message, file=sys.stderr)
        raise LoadFailed(f"the browser: {_reason(error.message)}") from error


def may_sandbox() -> bool:
    """Returns True if Chromium's sandbox can be on: the sandbox refuses root and processes with capabilities."""
    status = Path("/proc/self/status").read_text()
    effective = next(line for line in status.splitlines() if line.startswith("CapEff:"))
    return os.geteuid() != 0 and not int(effective.split()[1], 16)


def _reason(message: str) -> str:
    """Returns the reason for an error of Playwright: the text that Chromium wrote after `:FATAL:` when it ended.

    Without such a text the reason is the first line of the error message.
    """
    lines = message.splitlines()
    return next((line.partition(_FATAL)[2] for line in lines if _FATAL in line), lines[0])


def _load_all(plan: Plan, page: Page, began: Callable[[int, int], None]) -> list[Shown]:
    loads = _Loads(page.context.new_cdp_session(page), began)
    shown = []
    for number in range(1, plan.loads + 1):
        print(f"@ load {number} of {plan.loads}", flush=True)
        loads.number = number
        timeout_ms = plan.load_deadline_ns / 10**6
        try:
            if number == 1:
                page.goto(f"https://{plan.authority}{plan.requests[0].path}", timeout=timeout_ms)
            else:
                page.reload(timeout=timeout_ms)
        except Error as error:
            raise LoadFailed(f"load {number} of {plan.loads}: {error.message.splitlines()[0]}") from error
        shown.append(_seen(number, page.evaluate(_SEEN)))
    return shown


class _Loads:
    """A listener that reports the beginning of each load.

    number: the number of the load that is going on or begins next.
    """

    def __init__(self, devtools: CDPSession, began: Callable[[int, int], None]) -> None:
        self.number = 0
        self._told = 0
        self._began = began
        devtools.on("Network.requestWillBeSent", self._hear)
        devtools.send("Network.enable")
        devtools.send("Network.setCacheDisabled", {"cacheDisabled": True})

    def _hear(self, event: Mapping[str, Any]) -> None:
        """Handles DevTools' requestWillBeSent, whose timestamp is CLOCK_MONOTONIC in seconds, with microseconds."""
        if event.get("type") == "Document" and self._told < self.number:
            self._told = self.number
            self._began(self.number, round(event["timestamp"] * 10**6) * 1000)


def _seen(number: int, found: Mapping[str, Any]) -> Shown:
    return Shown(
        load=number,
        image_complete=bool(found["complete"]),
        image_width=found["width"],
        image_height=found["height"],
        image_painted_ms=found["painted_ms"],
        script_output=found["script"],
        scripts_ran=found["ran"],
        styled=found["styled"],
        fetched=found["fetched"],
    )
