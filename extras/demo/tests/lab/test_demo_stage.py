"""The demo as people in a room see it: screens, filmstrip, order of bytes, chapter marks, the end card, large type.

The tests read the drawing of the slides, which is that of the live page, and compare it with the films in the slides.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from priolab.extras.demo.story import StoryStep, steps
from priolab.extras.demo.tests.demonstration import Demo, demonstration
from priolab.extras.demo.tests.lab.exported import Exported
from tests.support.lab import make_lab
from tests.support.visits import layout_faults, scrub, shown, visit

pytestmark = pytest.mark.usefixtures("guest", "chromium")

SIZES = [(1280, 720), (1920, 1080), (800, 600), (390, 844)]
ONE_COLUMN = 900
CURE, AUTO, TURNS = ("none", "131072"), ("131072", "auto"), ("nginx", "haproxy")
"""The values of the steps that the tests open."""
_LEAST_PX = 10.5

Film = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Talk:
    """An exported story, and a demo whose results folder has its arms."""

    index: Path
    demo: Demo

    def arms(self, step: StoryStep) -> list[Mapping[str, Any]]:
        """Returns the documents of a step's arms."""
        found = re.search(
            r'<script type="application/json" id="told">(.*?)</script>', self.index.read_text(), re.DOTALL
        )
        assert found
        told = json.loads(found[1])
        slide = next(each for each in told["slides"] if each["title"] == step.title)
        return [told["arms"][key] for key in slide["shown"]]

    def films(self, step: StoryStep) -> list[Film]:
        """Returns the films of a step's arms."""
        return [arm["film"] for arm in self.arms(step)]


@pytest.fixture(scope="module")
def talk(exported: Exported, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    """Starts a demo with the arms of the exported story."""
    lab = make_lab(tmp_path_factory.mktemp("stage"))
    lab.results.mkdir()
    exported.copy_arms(lab.results)
    with demonstration(lab, "FABRIC=virtual") as begun:
        yield Talk(index=exported.slides / "index.html", demo=begun)


def _step(values: tuple[str, str]) -> StoryStep:
    return next(step for step in steps() if step.values == values and "RATE" not in step.knobs)


@contextmanager
def _opened(browser: Browser, talk: Talk, step: StoryStep, **how: Any) -> Iterator[Page]:
    """Yields the slides at a step."""
    with visit(browser, talk.index.as_uri(), offline=True, **how) as page:
        for _ in range(len(steps())):
            if page.locator(".step-title").inner_text() == step.title:
                break
            page.keyboard.press("ArrowRight")
        expect(page.locator(".step-title")).to_have_text(step.title)
        yield page


def _long(films: Sequence[Film]) -> float:
    return max(float(film["duration_ms"]) for film in films)


def _asked(film: Film, stream: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = next(each for each in film["resources"] if each["stream"] == stream)
    return found


def _ready_ms(film: Film) -> float:
    return float(_asked(film, "important")["last_byte_ms"])


def _readable(film: Film, name: str, t_ms: float) -> float:
    """Returns the part of a resource that the client can read."""
    arrivals = film["arrivals"]
    seen = bisect_right(arrivals["t_ms"], t_ms)
    end = arrivals["end"][seen - 1] if seen else 0
    delivery = next(each for each in film["deliveries"] if each["name"] == name)
    index = bisect_right(delivery["end"], end)
    return delivery["total"][index - 1] / delivery["size_bytes"] if index else 0.0


def _at(page: Page, films: Sequence[Film], t_ms: float) -> float:
    """Moves the film close to an instant, and returns the instant at which it is."""
    part = min(1.0, round(1000 * t_ms / _long(films)) / 1000)
    scrub(page, part)
    return part * _long(films)


def _clock_ms(page: Page) -> float:
    return 1000 * float(page.locator(".clock").inner_text().removesuffix(" s"))


def _geometry(page: Page, selector: str) -> list[Mapping[str, float]]:
    """Returns position and size of all elements, as their attributes say."""
    found: list[Mapping[str, float]] = page.locator(selector).evaluate_all(
        "all => all.map((each) => Object.fromEntries(['x', 'width', 'height'].map((n) => [n, +each.getAttribute(n)])))"
    )
    return found


def test_a_screen_shows_what_can_be_read(talk: Talk, browser: Browser) -> None:
    """The image is as long as the client can read it; the page is ready when the script is complete, and not before."""
    step = _step(CURE)
    films = talk.films(step)
    with _opened(browser, talk, step) as page:
        for part in (0.0, 0.05, 0.2, 0.5, 0.6, 0.8, 1.0):
            now_ms = _at(page, films, part * _long(films))
            drawn = page.locator(".phone [data-part]").evaluate_all("all => all.map((each) => +each.dataset.part)")
            assert drawn == pytest.approx([_readable(film, "image", now_ms) for film in films])
            ready = [now_ms >= _ready_ms(film) for film in films]
            texts = page.locator(".phone-caption").all_inner_texts()
            assert [text == "✓ the map works" for text in texts] == ready
            pins = page.locator(".phone .pin").evaluate_all(
                "all => all.map((each) => each.checkVisibility({ visibilityProperty: true }))"
            )
            assert pins == ready


def test_the_filmstrip_has_nothing_of_the_future(talk: Talk, browser: Browser) -> None:
    """The strip shows the screens so far, and at its end how much sooner a page was ready."""
    step = _step(CURE)
    films = talk.films(step)
    early_ms, late_ms = sorted(_ready_ms(film) for film in films)
    with _opened(browser, talk, step) as page:
        for part in (0.0, 0.3, 0.7, 0.9):
            now_ms = _at(page, films, part * _long(films))
            seen = page.locator(".frames .screen:not(.unseen)").evaluate_all(
                "all => all.map((each) => +each.dataset.at)"
            )
            assert len(seen) >= 2
            assert max(seen) <= now_ms
            later = page.locator(".frames .screen.unseen")
            assert later.locator(".pin").evaluate_all(
                "all => all.every((each) => !each.checkVisibility({ visibilityProperty: true }))"
            )
        _at(page, films, (early_ms + late_ms) / 2)
        expect(page.locator(".gap-words")).to_contain_text("so far")
        _at(page, films, early_ms - 50)
        expect(page.locator(".gap-time")).to_have_text("")
        scrub(page, 1)
        expect(page.locator(".gap-time")).to_have_text(f"{(late_ms - early_ms) / 1000:.1f} s earlier")
        expect(page.locator(".gap-words")).to_have_text(f"the map works with {step.names[1]}")


def test_the_line_of_lowat_moves_with_the_tuner(talk: Talk, browser: Browser, tmp_path: Path) -> None:
    """LOWAT's line is where the socket's option is. Here the tuner is given a third of the film for each value."""
    step = _step(AUTO)
    films = talk.films(step)
    values = (16384, 49152, 98304)
    limits = {"t_ms": [part / 3 * _long(films) for part in range(3)], "bytes": values}
    index = tmp_path / "index.html"
    tuned = json.dumps(films[1]["limits"], separators=(",", ":"))
    text = talk.index.read_text()
    assert text.count(tuned) == 1
    index.write_text(text.replace(tuned, json.dumps(limits)))
    drawn, lines = [], []
    with _opened(browser, replace(talk, index=index), step) as page:
        for part in (0.1, 0.5, 0.8):
            scrub(page, part)
            drawn += [page.locator("line.lowat").evaluate_all("all => all.map((each) => each.dataset.bytes)")]
            lines += [float(page.locator("line.lowat").nth(1).get_attribute("x1") or 0)]
    assert drawn == [["131072", str(value)] for value in values]
    steps_px = [one - other for one, other in pairwise(lines)]
    assert steps_px[1] / steps_px[0] == pytest.approx(1.5)


def test_a_key_goes_from_mark_to_mark(talk: Talk, browser: Browser) -> None:
    """A key jumps to the instants at which scripts were requested, existed, began, were complete; another goes back.

    The slower film's script is complete when the film ends.
    """
    step = _step(CURE)
    films = talk.films(step)
    asked = [_asked(film, "important") for film in films]
    with _opened(browser, talk, step) as page:
        expect(page.locator(".play")).to_have_text("Play")
        assert _clock_ms(page) == 0
        times, texts = [], []
        for _ in range(20):
            page.keyboard.press("n")
            times.append(_clock_ms(page))
            texts.append(page.locator(".chapter").inner_text())
            if texts[-1] == "end":
                break
        assert texts[:2] == ["script requested", "script exists"]
        assert texts[2:-1] == ["script begins, below", "script begins, above", "script complete, below"]
        wanted = [asked[0]["sent_ms"], asked[0]["available_ms"], asked[1]["first_byte_ms"]]
        wanted += [asked[0]["first_byte_ms"], asked[1]["last_byte_ms"], _long(films)]
        assert times == pytest.approx(wanted, abs=6)
        page.keyboard.press("N")
        assert _clock_ms(page) == times[-2]


def test_results_appear_at_their_instants(talk: Talk, browser: Browser) -> None:
    """A time is shown once it has been reached, and the verdict at the end of the arm's load."""
    step = _step(CURE)
    films = talk.films(step)
    visible = "all => all.map((each) => each.checkVisibility({ visibilityProperty: true }))"
    with _opened(browser, talk, step) as page:
        instants = {
            '[data-figure="first_byte_ms"]': [_asked(film, "important")["first_byte_ms"] for film in films],
            '[data-figure="important_last_byte_ms"]': [_ready_ms(film) for film in films],
            ".verdict": [film["duration_ms"] for film in films],
        }
        for part in (0.0, 0.1, 0.4, 0.6, 0.8, 0.99, 1.0):
            now_ms = _at(page, films, part * _long(films))
            for selector, times in instants.items():
                seen = page.locator(selector).evaluate_all(visible)
                assert seen == [now_ms >= at_ms for at_ms in times], (selector, part)


def test_the_end_card_compares_the_waits(talk: Talk, browser: Browser) -> None:
    """At the end, and only then, each arm has a ledger bar as long as its wait, and the shorter has the difference."""
    step = _step(CURE)
    waits = [arm["arm"]["ledger"]["wait_ms"] for arm in talk.arms(step)]
    with _opened(browser, talk, step) as page:
        scrub(page, 0.99)
        expect(page.locator(".wait-card").first).to_be_hidden()
        scrub(page, 1)
        expect(page.locator(".wait-card").first).to_be_visible()
        expect(page.locator(".places").first).to_be_hidden()
        lengths = [
            sum(part["width"] for part in _geometry(page, f".arm:nth-of-type({number}) .wait-card .part"))
            for number in (1, 2)
        ]
        assert lengths[1] / lengths[0] == pytest.approx(waits[1] / waits[0], abs=0.01)
        expect(page.locator(".less-name")).to_have_text(f"{(waits[0] - waits[1]) / 1000:.2f} s less")


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_every_window_shows_the_page(talk: Talk, browser: Browser, width: int, height: int) -> None:
    """In no window is text cut off, too small, or over other text; a small window has one column and scrolls."""
    with visit(browser, talk.demo.address, width=width, height=height) as page:
        shown(page)
        page.keyboard.press("Space")
        panel, arms = page.locator("#panel").bounding_box(), page.locator("#stages").bounding_box()
        assert panel
        assert arms
        assert (panel["y"] >= arms["y"] + arms["height"]) == (width < ONE_COLUMN)
        for part in (0.0, 0.06, 0.4, 0.75, 1.0):
            scrub(page, part)
            expect(page.locator("#player")).to_be_in_viewport()
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        parts = (0.0, 0.06, 0.4, 0.75, 1.0)
        assert layout_faults(page, smallest_px=_LEAST_PX, scrolls=width < ONE_COLUMN, parts=parts) == []
