"""The demo's page on phones, by touch: a film and the slider of its limit are in view at once; no title is hidden."""

from collections.abc import Iterator
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
_LEAST_TOUCH_PX = 16
_MOVES = 12
_FEWEST_FILMS = 5


_FAULTS = Path(__file__).with_name("phone_checker.js").read_text()
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


def _slid(page: Page) -> set[str]:
    """Drags the pinned slider by touch from its middle to its right; returns the names of the films on the way.

    At each step the film and the slider are in view.
    """
    slider = page.locator("#pinned input[type=range]").locator("visible=true")
    box = slider.bounding_box()
    assert box
    assert box["height"] >= _LEAST_TOUCH_PX
    y, names = box["y"] + box["height"] / 2, set()
    session = page.context.new_cdp_session(page)

    def touch(kind: str, *parts: float) -> None:
        points = [{"x": box["x"] + part * box["width"], "y": y} for part in parts]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 0.5)
    for move in range(_MOVES):
        touch("touchMove", 0.5 + 0.45 * move / _MOVES)
        assert page.evaluate(_FAULTS) == []
        names.add(page.locator(".arm-name").locator("visible=true").inner_text())
    touch("touchEnd")
    session.detach()
    return names


@pytest.mark.parametrize(("width", "height"), PHONES)
def test_film_and_slider_are_in_view(browser: Browser, axe_script: Path, width: int, height: int) -> None:
    """One film and its slider are in view while the slider moves; a switch shows the other film and its slider. The
    accessibility checker finds nothing.
    """
    with _phone(browser, EXPLORE.as_uri() + "?explore", width, height) as page:
        for part in (0, 0.4, 1):
            scrub(page, part)
            assert page.evaluate(_FAULTS) == [], part
        assert page.evaluate(_COVERED) == []
        names = _slid(page)
        assert "limit 16 KiB" in names
        assert len(names) >= _FEWEST_FILMS
        assert "no limit" not in names
        page.get_by_role("button", name="no limit").tap()
        expect(page.locator(".arm-name").locator("visible=true")).to_have_text("no limit")
        expect(page.get_by_label("LOWAT, above", exact=True)).to_be_visible()
        expect(page.get_by_role("button", name="no limit")).to_have_attribute("aria-pressed", "true")
        assert page.evaluate(_FAULTS) == []
        assert page.evaluate(_COVERED) == []
        assert violations(page, axe_script) == []
        assert page.evaluate("document.getElementById('panel').getBoundingClientRect().top < innerHeight"), (
            "knobs follow"
        )


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


def test_a_tap_says_what_is_there(browser: Browser) -> None:
    """A tap on a hole, or on bytes, shows the text that a mouse would see; the next touch takes it away."""
    with _phone(browser, EXPLORE.as_uri() + "?explore", 390, 844) as page:
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
