"""Whatever a reader of the explanation does, its figures, titles, sentences and numbers are of one film."""

import os
import random
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, ViewportSize

from priolab.extras.demo.tests.explained import ALL_SIZES, LANGUAGES, SECTIONS
from priolab.extras.demo.tests.lab.reader import BUILT, act, drag, faults, point, reader, scroll_to, swipe

pytestmark = pytest.mark.usefixtures("chromium")

_SEQUENCES = int(os.environ.get("PRIOLAB_SEQUENCES", "6"))
"""`make sequences` has more."""
_INPUTS = 12
_FILMS = SECTIONS[:-1]
_IS_DOOR = "([x, y]) => Boolean(document.elementFromPoint(x, y)?.closest('a'))"


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
    """Taps anywhere. Whoever comes to a door comes back."""
    x, y = _anywhere(page, chance)
    if not page.evaluate(_IS_DOOR, [x, y]):
        point(page, x, y)
        return
    with page.expect_navigation():
        point(page, x, y)
    page.go_back()
    page.wait_for_function(BUILT)


def _swipe(page: Page, chance: random.Random) -> None:
    """Moves the finger over the window, from anywhere to anywhere; the browser may take it away."""
    swipe(page, _anywhere(page, chance), _anywhere(page, chance), lost=chance.random() < 0.3)


def _turn(page: Page, chance: random.Random) -> None:
    width, height = chance.choice(ALL_SIZES)
    page.set_viewport_size(ViewportSize(width=width, height=height))


def _reload(page: Page, _: random.Random) -> None:
    page.reload()
    page.wait_for_function(BUILT)


_DO: tuple[Callable[[Page, random.Random], None], ...] = (
    *(_slide, _slide, _line, _line, _keys_of_line, _step, _bet, _choice, _choice, _speak, _play, _play, _next, _word),
    *(_key, _tap, _tap, _swipe, _swipe, _turn, _reload),
)


@pytest.mark.parametrize("seed", range(_SEQUENCES))
def test_no_input_shows_another_film(browser: Browser, seed: int) -> None:
    """After each of many random inputs, figure, title, sentence and numbers are of one film, and the page is no wider
    than its window.
    """
    chance = random.Random(seed)
    with reader(browser, *chance.choice(ALL_SIZES)) as page:
        done = []
        for _ in range(_INPUTS):
            act_ = chance.choice(_DO)
            done.append(act_.__name__)
            act_(page, chance)
            assert faults(page) == [], done
