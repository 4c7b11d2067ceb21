"""Whatever a reader of the explanation does, its figures, titles, sentences and numbers are of one film."""

import math
import os
import random
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from priolab.extras.demo.recording import EXPLORE
from priolab.extras.demo.tests.explained import ALL_SIZES, LANGUAGES, SECTIONS
from priolab.extras.demo.tests.lab.reader import BUILT, act, drag, faults, point, reader, scroll_to, swipe

pytestmark = pytest.mark.usefixtures("chromium")

_WINDOWS = ((390, 844), (1366, 768))
_SEQUENCES = math.ceil(int(os.environ.get("PRIOLAB_SEQUENCES", "4")) / len(_WINDOWS))
"""`make sequences` has more."""
_INPUTS = 5
_FILMS = SECTIONS[:-1]
_ON_THE_WAY = ALL_SIZES[:-1] * 3 + ALL_SIZES[-1:]
"""The sizes to which the window is turned; to draw the largest takes longest."""
_CLOSE_DOORS = (
    "document.addEventListener('click', (event) => event.target.closest('a') && event.preventDefault(), true)"
)
"""Keeps a tap anywhere from leaving the page: `_door` does that."""


def _slide(page: Page, chance: random.Random) -> None:
    section = chance.choice(_FILMS)
    scroll_to(page, section)
    drag(page, f"#{section} .time", chance.random())


def _line(page: Page, chance: random.Random) -> None:
    scroll_to(page, "line")
    drag(page, ".grip-of-line", chance.choice((chance.random(), chance.random() ** 4)), lost=chance.random() < 0.3)


def _bet(page: Page, chance: random.Random) -> None:
    scroll_to(page, "bet")
    drag(page, ".bet-slider", chance.random())


def _keys_of_line(page: Page, chance: random.Random) -> None:
    page.locator(".grip-of-line").press(chance.choice(("ArrowLeft", "ArrowRight", "Home", "End")))


def _step(page: Page, chance: random.Random) -> None:
    act(page, f".steps-of-line button >> nth={chance.randrange(2)}")


def _choice(page: Page, chance: random.Random) -> None:
    act(page, f"[data-choice={chance.choice(('price', 'fast', 'equal', 'queue'))}]")


def _speak(page: Page, chance: random.Random) -> None:
    act(page, f".languages [lang={chance.choice(LANGUAGES)}]")


def _play(page: Page, chance: random.Random) -> None:
    act(page, f"#{chance.choice(_FILMS)} .play-film")


def _next(page: Page, chance: random.Random) -> None:
    act(page, f"#{chance.choice(_FILMS)} .onward button >> nth={chance.randrange(2)}")


def _word(page: Page, chance: random.Random) -> None:
    words = page.locator("#explanation .word:visible")
    words.nth(chance.randrange(words.count())).focus()
    page.keyboard.press("Enter")


def _key(page: Page, chance: random.Random) -> None:
    page.keyboard.press(chance.choice(("Tab", "Escape", "PageDown", "PageUp", "ArrowRight", "ArrowDown", " ", "t")))


def _anywhere(page: Page, chance: random.Random) -> list[int]:
    size = page.viewport_size
    assert size
    return [chance.randrange(size["width"]), chance.randrange(size["height"])]


def _tap(page: Page, chance: random.Random) -> None:
    point(page, *_anywhere(page, chance))


def _swipe(page: Page, chance: random.Random) -> None:
    """Moves the finger over the window, from anywhere to anywhere; the browser may take it away."""
    swipe(page, _anywhere(page, chance), _anywhere(page, chance), lost=chance.random() < 0.3)


def _turn(page: Page, chance: random.Random) -> None:
    width, height = chance.choice(_ON_THE_WAY)
    page.set_viewport_size(ViewportSize(width=width, height=height))


def _reload(page: Page, _: random.Random) -> None:
    page.reload()
    _begin(page)


def _door(page: Page, chance: random.Random) -> None:
    """Goes through a door to the films, and comes back."""
    page.goto(f"{EXPLORE.as_uri()}{chance.choice(('?explore', '?step=1'))}")
    expect(page.locator(".arm-name")).to_have_count(2)
    page.go_back()
    _begin(page)


def _begin(page: Page) -> None:
    page.wait_for_function(BUILT)
    page.evaluate(_CLOSE_DOORS)


_DO: tuple[Callable[[Page, random.Random], None], ...] = (
    *(_slide, _slide, _line, _line, _keys_of_line, _step, _bet, _choice, _choice, _speak, _play, _play, _next, _word),
    *(_key, _tap, _tap, _tap, _swipe, _swipe, _swipe, _turn, _reload, _door),
)


@pytest.mark.parametrize(("width", "height"), _WINDOWS)
def test_no_film_of_another_text_in_random_sequences(browser: Browser, width: int, height: int) -> None:
    """In random sequences of drags, taps, swipes and keys, of languages, sizes, reloads and doors, by finger or by
    mouse, after each input figure, title, sentence and numbers are of one film, and the page is as wide as its window.
    """
    chance = random.Random(width)
    with reader(browser, width, height) as page:
        _begin(page)
        for number in range(_SEQUENCES):
            done = []
            for _ in range(_INPUTS):
                act_ = chance.choice(_DO)
                done.append(act_.__name__)
                act_(page, chance)
                assert faults(page) == [], (number, done)
