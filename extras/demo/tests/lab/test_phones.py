"""The demo's page on phones, by touch: a film and the slider of its limit are in view at once; no title is hidden."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from priolab.extras.demo.recording import EXPLORE
from priolab.extras.demo.story import steps
from priolab.extras.demo.tests.lab.stub_demo import made_up_demo
from tests.support.visits import scrub, shown, violations, visit

pytestmark = pytest.mark.usefixtures("chromium")

PHONES = ((390, 844), (360, 640), (844, 390), (667, 375))
_TOUCHED = ((320, 568), (390, 844), (844, 390), (820, 1180))
_LEAST_TOUCH_PX = 16
_MOVES = 12
_EACH_MS = 20
_LOOKS = 250
_FEWEST_FILMS = 5


_FAULTS = Path(__file__).with_name("phone_checker.js").read_text()
_LONG_PX = 60
_NOTE_CANCELS = "() => { window.cancels = 0; addEventListener('pointercancel', () => (window.cancels += 1)); }"
_WORDS = """
() => [...document.querySelectorAll("[data-said]")].flatMap((each) => {
  const text = each.querySelector(".title") ?? each.querySelector("text") ?? each;
  const { left, top, width, height, bottom } = text.getBoundingClientRect();
  const [x, y] = [left + Math.min(8, width / 2), top + height / 2];
  const within = bottom <= innerHeight && each.contains(document.elementFromPoint(x, y));
  const seen = each.checkVisibility({ visibilityProperty: true });
  return within && seen ? [[each.dataset.word, each.dataset.said, x, y]] : [];
})
"""
_COVERED = """
() => {
  const faults = [];
  const seen = (each) => each.checkVisibility({ visibilityProperty: true });
  for (const title of [...document.querySelectorAll(".name, .step-title, .arm-name, #own-said")].filter(seen)) {
    const range = document.createRange();
    range.selectNodeContents(title);
    for (const line of range.getClientRects()) {
      for (const button of [...document.querySelectorAll("button")].filter(seen)) {
        const box = button.getBoundingClientRect();
        const beside = line.right <= box.left || box.right <= line.left;
        const isApart = beside || line.bottom <= box.top || box.bottom <= line.top;
        // The page scrolls below the player.
        if (!isApart && !button.closest("#player")) faults.push(`${title.textContent} is under ${button.textContent}`);
      }
      if (line.right > innerWidth) faults.push(`${title.textContent} leaves the window`);
    }
  }
  return faults;
}
"""


@contextmanager
def _phone(browser: Browser, address: str, width: int, height: int) -> Iterator[Page]:
    offline = address.startswith("file:")
    with visit(
        browser, address, width=width, height=height, has_touch=True, is_mobile=True, offline=offline, bypass_csp=True
    ) as page:
        shown(page)
        yield page


@contextmanager
def _finger(page: Page) -> Iterator[Callable[..., None]]:
    """Yields a function that sends a touch event as a screen does: its kind, and where the finger is."""
    session = page.context.new_cdp_session(page)

    def touch(kind: str, *at: float) -> None:
        points = [{"x": at[0], "y": at[1]}] if at else []
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    yield touch
    session.detach()


def _moved(page: Page, x: float, y: float, dx: float, dy: float) -> list[str]:
    """Moves a finger from a point; returns the names of the film that is seen at each step."""
    names = []
    with _finger(page) as touch:
        touch("touchStart", x, y)
        for step in range(1, _MOVES + 1):
            touch("touchMove", x + dx * step / _MOVES, y + dy * step / _MOVES)
            page.wait_for_timeout(_EACH_MS)
            names.append(_seen(page))
        touch("touchEnd")
    return names


def _seen(page: Page) -> str:
    return page.locator(".arm-name").locator("visible=true").last.inner_text()


def _middle(page: Page, selector: str) -> tuple[float, float]:
    """Return the middle of the last of these that is in view. While the page changes its film, none may be there."""
    shown = page.locator(selector).locator("visible=true").last
    for _ in range(_LOOKS):
        if box := shown.bounding_box():
            return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.wait_for_timeout(_EACH_MS)
    raise AssertionError(f"{selector} is not in view")


def _limit(page: Page) -> None:
    """Switches to the film with a limit, as the page proposes."""
    expect(page.locator(".arm-name").locator("visible=true")).to_have_text("no limit")
    page.get_by_role("button", name="Now limit it: 128 KiB").tap()
    expect(page.locator(".arm-name").locator("visible=true")).to_have_text("limit 128 KiB")


def _slid(page: Page) -> set[str]:
    """Drags the pinned slider by touch from its middle to its right; returns the names of the films on the way.

    At each step the film and the slider are in view.
    """
    slider = page.locator("#pinned input[type=range]").locator("visible=true")
    box = slider.bounding_box()
    assert box
    assert box["height"] >= _LEAST_TOUCH_PX
    y, names = box["y"] + box["height"] / 2, set()
    with _finger(page) as touch:
        touch("touchStart", box["x"] + box["width"] / 2, y)
        for move in range(_MOVES):
            touch("touchMove", box["x"] + (0.5 + 0.45 * move / _MOVES) * box["width"], y)
            assert page.evaluate(_FAULTS) == []
            names.add(_seen(page))
        touch("touchEnd")
    return names


@pytest.mark.parametrize(("width", "height"), PHONES)
def test_film_and_slider_are_in_view(browser: Browser, axe_script: Path, width: int, height: int) -> None:
    """One film and its slider are in view while the slider moves; a switch shows the other film and its slider. The
    film without a limit comes first, and a swipe leads back to it. The accessibility checker finds nothing.
    """
    with _phone(browser, EXPLORE.as_uri() + "?explore", width, height) as page:
        _limit(page)
        for part in (0, 0.4, 1):
            scrub(page, part)
            assert page.evaluate(_FAULTS) == [], part
        assert page.evaluate(_COVERED) == []
        names = _slid(page)
        assert "limit 16 KiB" in names
        assert len(names) >= _FEWEST_FILMS
        assert "no limit" not in names
        scrub(page, 0.4)
        clock = page.locator(".clock").inner_text()
        _moved(page, *_middle(page, ".lanes"), 3 * _MOVES * _EACH_MS, 0)
        expect(page.locator(".arm-name").locator("visible=true")).to_have_text("no limit")
        expect(page.get_by_label("LOWAT, above", exact=True)).to_be_visible()
        expect(page.get_by_role("button", name="no limit")).to_have_attribute("aria-pressed", "true")
        expect(page.locator(".clock")).to_have_text(clock)
        assert page.evaluate(_FAULTS) == []
        assert page.evaluate(_COVERED) == []
        assert violations(page, axe_script) == []
        assert page.evaluate("document.getElementById('panel').getBoundingClientRect().top < innerHeight"), (
            "knobs follow"
        )


@pytest.mark.parametrize(("width", "height"), _TOUCHED)
def test_the_line_is_dragged_by_a_finger(browser: Browser, width: int, height: int) -> None:
    """A finger drags LOWAT's line from film to film. One that scrolls the page moves nothing.

    At the film's end the line can still be taken, and the film goes back and plays.
    """
    with _phone(browser, EXPLORE.as_uri() + "?explore", width, height) as page:
        if width != _TOUCHED[-1][0]:
            _limit(page)
        scrub(page, 0.2)
        page.evaluate(_NOTE_CANCELS)
        line = ".grip[data-arm='1']"
        names = _moved(page, *_middle(page, line), -_LONG_PX, 0)
        assert len(set(names)) > 1
        assert names[-1] == _seen(page) != "limit 128 KiB"
        assert page.evaluate("cancels") == 0
        _moved(page, *_middle(page, line), 0, -2 * _LONG_PX)
        assert page.evaluate("cancels") == 1
        assert names[-1] == _seen(page)
        assert page.evaluate("scrollX") == 0
        page.evaluate("scrollTo(0, 0)")
        scrub(page, 1)
        expect(page.locator(".wait-card").locator("visible=true").last).to_be_visible()
        assert _moved(page, *_middle(page, line), _LONG_PX, 0)[-1] != names[-1]
        expect(page.locator(".wait-card").locator("visible=true")).to_have_count(0)
        expect(page.locator(".play")).to_have_text("Pause")


@pytest.mark.parametrize(("width", "height"), [*PHONES, (1280, 800)])
def test_no_title_is_under_a_button(browser: Browser, width: int, height: int) -> None:
    """In every step of the story the title can be read, and the values of one's own, too."""
    with _phone(browser, EXPLORE.as_uri() + "?explore", width, height) as page:
        page.locator("#mode").tap()
        for step in steps():
            expect(page.locator(".step-title")).to_have_text(step.title)
            assert page.evaluate(_COVERED) == [], step.title
            page.keyboard.press("ArrowRight")
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        page.locator(".grip[data-arm='1']").press("ArrowRight")
        expect(page.locator("#own")).to_be_visible()
        assert page.evaluate(_COVERED) == []


def test_a_phone_asks_for_a_film(tmp_path: Path, browser: Browser) -> None:
    """On the live page a slider that is dragged to a value without a film keeps both in view, and then shows the film.

    Turned, the phone has the slider below the film again.
    """
    with made_up_demo(tmp_path / "results") as made, _phone(browser, made.address, 390, 844) as page:
        _limit(page)
        _slid(page)
        name = page.locator(".arm-name").locator("visible=true")
        expect(name).not_to_have_text("limit 128 KiB")
        shown(page)
        expect(name).to_have_text(page.locator(".arm-choice[aria-pressed=true]").inner_text())
        assert page.evaluate(_FAULTS) == []
        page.set_viewport_size({"width": 844, "height": 390})
        page.wait_for_function(f"() => (\n{_FAULTS})().length === 0")
        page.set_viewport_size({"width": 1280, "height": 720})
        expect(page.locator("#panel [data-focus='LOWAT-1']")).to_be_visible()
        expect(page.locator(".arm")).to_have_count(2)
        for arm in page.locator(".arm").all():
            expect(arm).to_be_visible()


def test_every_word_says_what_it_is(browser: Browser) -> None:
    """A tap on any word of the film, of its figures and of its end card shows one sentence about it."""
    with _phone(browser, EXPLORE.as_uri() + "?explore", 390, 844) as page:
        said = set()
        for part in (0.06, 0.9, 1):
            scrub(page, part)
            for word, sentence, x, y in page.evaluate(_WORDS):
                page.touchscreen.tap(x, y)
                expect(page.locator(".tip")).to_have_text(sentence)
                said.add(word)
        assert said >= {"front", "kernel", "network", "client", "others", "important", "exists", "arm", "screen"}
        assert said >= {"inverted", "waited", "begins", "complete", "before", "possible", "queue", "travel", "record"}
        assert "link" in said


def test_a_tap_says_what_is_there(browser: Browser) -> None:
    """A tap on a hole, or on bytes, shows the text that a mouse would see; the next touch takes it away."""
    with _phone(browser, EXPLORE.as_uri() + "?explore", 390, 844) as page:
        _limit(page)
        scrub(page, 0.1)
        tip = page.locator(".tip")
        for shape, words in (
            (".lanes .hole", "Nothing of "),
            (".places rect.fill.others", "which can still choose the order"),
        ):
            page.locator(shape).locator("visible=true").first.tap(position={"x": 3, "y": 3}, force=True)
            expect(tip).to_contain_text(words)
            expect(tip).to_be_visible()
            assert page.evaluate("document.querySelector('.tip').getBoundingClientRect().right <= innerWidth")
        page.touchscreen.tap(5, 5)
        expect(tip).to_be_hidden()
