"""The demo's page runs the stops of its LOWAT slider beforehand; the runs are made up (stub_demo.py)."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from priolab.extras.demo.choices import LOWATS
from priolab.extras.demo.plain_names import plain
from priolab.extras.demo.tests.lab.stub_demo import MadeUp, made_up_demo
from tests.support.visits import leave_story, shown, visit
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("chromium")

_SETTLE_MS = 20_000
_LONGER_THAN_A_PAUSE_MS = 700


def test_the_stops_are_run_beforehand(tmp_path: Path, browser: Browser) -> None:
    """While the page is open all stops of the slider are run; the curve shows them; then the slider answers at once."""
    with made_up_demo(tmp_path / "results", ahead=True) as made, visit(browser, made.address) as page:
        shown(page)
        expect(page.locator(".curve-name")).to_have_text("script begins (12 of 12 run)", timeout=_SETTLE_MS)
        assert len(made.begun) == len(LOWATS)
        expect(page.locator(".curve")).to_have_attribute(
            "aria-label", re.compile("no limit .* s, limit 1,024 KiB .* s")
        )
        assert page.locator(".curve-line").count() == len(LOWATS) - 1
        expect(page.locator(".curve-dot.marked")).to_have_count(2)
        made.end()  # from now on nobody answers
        for stop in (6, 7, 8):
            at_once = page.evaluate(
                """(stop) => {
                    const slider = document.querySelector('[data-focus="LOWAT-1"]');
                    slider.value = String(stop);
                    slider.dispatchEvent(new Event("input", { bubbles: true }));
                    const stale = document.querySelector("#stages.stale") !== null;
                    return [document.querySelectorAll(".arm-name")[1].textContent, stale];
                }""",
                stop,
            )
            assert at_once == [plain("LOWAT", LOWATS[stop]), False]
        expect(page).to_have_url(re.compile(f"below={LOWATS[8]}"))


def test_a_visitor_comes_first(tmp_path: Path, browser: Browser) -> None:
    """A changed knob interrupts the run of a stop; afterwards the stops of the new knobs are run."""
    with made_up_demo(tmp_path / "results", ahead=True) as made, visit(browser, made.address) as page:
        shown(page)
        made.hold.clear()
        until(lambda: any(job.is_background for job in _unfinished(made)), "a stop is run")
        page.get_by_label("RATE", exact=True).select_option("64kbps")
        until(lambda: len(made.unfinished()) == 2, "the visitor's arms are run")
        until(lambda: not any(job.is_background for job in _running(made)), "the stop is not")
        made.hold.set()
        expect(page.locator(".curve-name")).to_have_text("script begins (12 of 12 run)", timeout=_SETTLE_MS)
        ahead = [words for words in made.begun if "RATE=64kbps" in words]
        assert {word for words in ahead for word in words if word.startswith("LOWAT=")} == {
            f"LOWAT={value}" for value in LOWATS
        }


def test_nothing_is_run_during_a_talk(tmp_path: Path, browser: Browser) -> None:
    """In the mode Present no stop is run, because no slider is shown; the mode Explore runs the stops of its knobs."""
    with made_up_demo(tmp_path / "results", ahead=True) as made, visit(browser, made.address) as page:
        shown(page)
        page.keyboard.press("p")
        page.keyboard.press("End")
        expect(page.locator(".closing")).to_have_count(1)
        until(lambda: not made.unfinished() and not _unfinished(made), "nothing is run")
        begun = len(made.begun)
        page.wait_for_timeout(_LONGER_THAN_A_PAUSE_MS)
        assert len(made.begun) == begun
        leave_story(page)
        until(lambda: len(made.begun) > begun, "a stop is run")


def _unfinished(made: MadeUp) -> list[Any]:
    assert made.queue
    return made.queue._waiting_or_running


def _running(made: MadeUp) -> list[Any]:
    assert made.queue
    return made.queue._running
