"""Measures how long a user waits for the demo's film in a browser.

After `make demo`, after a change of a knob, and while the line of LOWAT is dragged over recorded films.
"""

import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from priolab.common.errors import StepFailed
from priolab.common.home import ROOT
from priolab.common.process.processes import die_with_parent
from priolab.common.process.scratch import scratch_folder
from priolab.common.process.search_path import find
from priolab.extras.demo.recording import EXPLORE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_NEW = (3, 5, 6)
"""Positions of the LOWAT slider that differ from the positions with which the page begins."""
_ROUNDS = 3
_PATIENCE_MS = 120_000
_END_S = 60.0
_DRAGS = 8
_MOVES = 60
"""Moves of the pointer in each drag, over the whole box of a kernel."""

_MOVE = """
([stop, patienceMs]) => new Promise((done, fail) => {
  const slider = document.querySelector('input[type="range"][data-arm="1"]');
  const begun = performance.now();
  setTimeout(() => fail(new Error("no new result")), patienceMs);
  new MutationObserver((_, observer) => {
    observer.disconnect();
    requestAnimationFrame(() => done(performance.now() - begun));
  }).observe(document.body, { attributeFilter: ["data-experiment"] });
  slider.value = String(stop);
  slider.dispatchEvent(new Event("change"));
})
"""
_ANSWERS = """
() => {
  window.answersMs = [];
  let moved = 0;
  addEventListener("pointermove", (event) => (moved = event.timeStamp), { capture: true });
  const painted = new MessageChannel();
  painted.port1.onmessage = ({ data }) => window.answersMs.push(performance.now() - data);
  new MutationObserver(() => {
    const begun = moved;
    requestAnimationFrame(() => painted.port2.postMessage(begun));
  }).observe(document.body, { attributeFilter: ["data-experiment"] });
}
"""
"""Collects the milliseconds from a move of the pointer to the end of the frame that shows another film."""


def main() -> None:
    """Prints how long a user waits, in seconds: median and range.

    The third and the fourth line are the waits for arms that have been run before. The last line is in milliseconds:
    median and 95th percentile.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("the demo is not measured: `make setup-test` installs what is missing")
        return
    program = find("chromium")
    if program is None:
        print("the demo is not measured: chromium is not installed")
        return
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with (
        scratch_folder("priolab-bench-") as results,
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=program, args=sandbox) as browser,
    ):
        _set_up()
        first = [_begin(browser, f"{results}/{number}", lambda _: None) for number in range(_ROUNDS)]
        _tell("from `make demo` to the animation", first)
        knob: list[float] = []
        _begin(browser, f"{results}/0", lambda page: knob.extend(_moved(page, stop) for stop in _NEW))
        _tell("from a new LOWAT to its animation", knob)
        again: list[float] = []
        whole = [_begin(browser, f"{results}/0", lambda page: again.extend(_moved(page, stop) for stop in _NEW))]
        _tell("from a new LOWAT to a finished arm", again)
        _tell("from `make demo` to finished arms", whole)
        answers = dragged(browser)
        median, late = statistics.median(answers), statistics.quantiles(answers, n=20)[-1]
        print(f"{'from a move of the line to its film':<36} {median:>5.0f} ms {f'95 %: {late:.0f} ms':>13}")


def _set_up() -> None:
    """Runs the set-up with which `make demo` begins."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    subprocess.run(["make", "setup-demo"], cwd=ROOT, env=environment, check=True)


def _tell(name: str, seconds: list[float]) -> None:
    spread = f"{min(seconds):.2f} - {max(seconds):.2f}"
    print(f"{name:<36} {statistics.median(seconds):>8.2f} {spread:>13}", flush=True)


def _moved(page: "Page", stop: int) -> float:
    milliseconds: float = page.evaluate(_MOVE, [stop, _PATIENCE_MS])
    return milliseconds / 1000


def _begin(browser: "Browser", results: str, then: Callable[["Page"], None]) -> float:
    """Starts the demo, waits until both arms play, and calls `then` with the page.

    Returns the seconds from the start until both arms play.
    """
    started = time.monotonic()
    with _made(results) as address, browser.new_page() as page:
        page.goto(address.replace("/#", "/?explore#"))
        page.locator("body[data-experiment]").wait_for(timeout=_PATIENCE_MS)
        waited_s = time.monotonic() - started
        then(page)
    return waited_s


def dragged(browser: "Browser", drags: int = _DRAGS) -> list[float]:
    """Drags the line of LOWAT over the recorded films; returns the milliseconds until each new film is shown."""
    with browser.new_page(viewport={"width": 1280, "height": 800}) as page:
        page.goto(EXPLORE.as_uri() + "?explore")
        page.locator(".grip[data-arm='1']").wait_for(timeout=_PATIENCE_MS)
        page.locator(".scrub").fill("500")
        page.evaluate(_ANSWERS)
        for drag in range(drags):
            line = page.locator(".grip[data-arm='1'] .handle").bounding_box()
            box = page.locator(".box.socket").nth(1).bounding_box()
            assert line is not None
            assert box is not None
            y = box["y"] + box["height"] / 2
            page.mouse.move(line["x"] + line["width"] / 2, y)
            page.mouse.down()
            for move in range(_MOVES + 1):
                part = move / _MOVES if drag % 2 else 1 - move / _MOVES
                page.mouse.move(box["x"] + part * box["width"], y)
            page.mouse.up()
        answers: list[float] = page.evaluate("answersMs")
    return answers


@contextmanager
def _made(results: str) -> Iterator[str]:
    """Starts the demo as `make demo` does, but on any free port; yields the demo's address."""
    _set_up()
    command = [sys.executable, "-m", "priolab.experiments", "demo", "--port", "0", "--no-browser"]
    process = subprocess.Popen(
        [*command, "FABRIC=virtual", f"RESULTS={results}"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=die_with_parent,
    )
    try:
        assert process.stdout is not None
        told = next((found for line in process.stdout if (found := re.match(r"open (\S+)", line))), None)
        if told is None:
            raise StepFailed("the demo", f"it ended without an address: {process.communicate()[1]}")
        yield told[1]
    finally:
        process.terminate()
        process.communicate(timeout=_END_S)


if __name__ == "__main__":
    main()
