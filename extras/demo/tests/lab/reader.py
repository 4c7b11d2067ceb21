"""A reader of the explanation in Chromium, who scrolls, taps and drags, by mouse or by finger."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from priolab.extras.demo.recording import EXPLORE
from priolab.extras.demo.tests.explained import table
from tests.support.visits import visit

PHONE_PX = 900
"""Narrower windows have a touch screen."""
DRAWN_MS = 60
BUILT = "() => document.querySelector('#explanation.built') !== null"

ENDS = """
([selector, part]) => {
  const each = document.querySelector(selector);
  const grip = each.getBoundingClientRect();
  const track = each.matches("input") ? grip : each.parentElement.getBoundingClientRect();
  const thumb = each.matches("input")
    ? track.left + 13 + ((each.value - each.min) / (each.max - each.min)) * (track.width - 26)
    : grip.left + grip.width / 2;
  const y = grip.top + grip.height / 2;
  return [[thumb, y], [track.left + part * track.width, y]];
}
"""
"""From where to where an element is dragged: what can be dragged, and the part of the width of what it moves on."""

_STEPS = 8
_CHECKER = Path(__file__).with_name("explanation_checker.js").read_text()
_RANGE = """
(each) => {
  const { top, bottom } = document.querySelector(each).getBoundingClientRect();
  return [top, bottom];
}
"""


@contextmanager
def reader(browser: Browser, width: int, height: int, query: str = "", **how: Any) -> Iterator[Page]:
    """Yields the built page. No visit may have errors, or ask for anything."""
    touch: dict[str, Any] = {"has_touch": True, "is_mobile": True} if width < PHONE_PX else {}
    with visit(
        browser,
        EXPLORE.as_uri() + query,
        width=width,
        height=height,
        offline=True,
        bypass_csp=True,
        locale="en-GB",
        **touch,
        **how,
    ) as page:
        page.wait_for_function(BUILT)
        yield page


def faults(page: Page) -> list[str]:
    """Returns what belongs to another film than the one in view, or is too wide."""
    found: list[str] = page.evaluate(_CHECKER, table())
    return found


def scroll_to(page: Page, section: str) -> None:
    """Scrolls by the wheel or by the finger until the section's title is near the top of the window."""
    for _ in range(60):
        top: float = page.evaluate("(id) => document.getElementById(id).getBoundingClientRect().top", section)
        if abs(top) < 40:
            break
        page.mouse.wheel(0, top)
        page.wait_for_timeout(DRAWN_MS)
        if page.evaluate("scrollY + innerHeight >= document.documentElement.scrollHeight - 2") and top > 0:
            break


def act(page: Page, selector: str) -> None:
    """Taps or clicks an element."""
    there = page.locator(selector)
    if _has_touch(page):
        there.tap()
    else:
        there.click()


def point(page: Page, x: float, y: float) -> None:
    """Taps or clicks anywhere."""
    if _has_touch(page):
        page.touchscreen.tap(x, y)
    else:
        page.mouse.click(x, y)


def drag(page: Page, selector: str, part: float, *, lost: bool = False) -> None:
    """Drags an element to a part of the width of what it moves on. lost: the browser takes the finger away."""
    top, bottom = page.evaluate(_RANGE, selector)
    height = page.evaluate("innerHeight")
    if top < 0 or bottom > height:
        page.mouse.wheel(0, top if top < 0 else bottom - height + 20)
        page.wait_for_timeout(DRAWN_MS)
    from_, to = page.evaluate(ENDS, [selector, part])
    swipe(page, from_, to, lost=lost)


def swipe(page: Page, from_: Sequence[float], to: Sequence[float], *, lost: bool = False) -> None:
    """Moves a pressed mouse, or a finger, from one point of the window to another."""
    points = [[from_[axis] + (to[axis] - from_[axis]) * step / _STEPS for axis in (0, 1)] for step in range(_STEPS + 1)]
    if not _has_touch(page):
        page.mouse.move(*from_)
        page.mouse.down()
        for x, y in points:
            page.mouse.move(x, y)
        page.mouse.up()
        return
    session = page.context.new_cdp_session(page)
    for number, (x, y) in enumerate(points):
        kind = "touchMove" if number else "touchStart"
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
    session.send("Input.dispatchTouchEvent", {"type": "touchCancel" if lost else "touchEnd", "touchPoints": []})
    session.detach()


def _has_touch(page: Page) -> bool:
    return bool(page.evaluate("'ontouchstart' in window"))
