"""The explanation, as a reader uses it: scrolled, tapped and dragged, at many sizes, by mouse, finger and keys."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from priolab.extras.demo.recorded import in_tree
from priolab.extras.demo.recording import EXPLORE
from priolab.extras.demo.tests.explained import (
    ALL_SIZES,
    CHOICES,
    SECTIONS,
    SPEED,
    THOROUGH,
    facts,
    recording,
    strings,
    table,
    tell_speed,
)
from priolab.extras.demo.tests.lab.reader import BUILT, DRAWN_MS, PHONE_PX, act, drag, faults, reader, scroll_to
from priolab.extras.demo.tests.lab.stub_demo import made_up_demo
from tests.support.visits import violations, visit

pytestmark = pytest.mark.usefixtures("chromium")

_SIZES = ALL_SIZES if THOROUGH else ((320, 640),)
"""Without `make sequences` Firefox has another size."""
_FILMS = SECTIONS[:-1]
_LEAST_PX, _FILM_PX, _MOST_LETTERS = 16, 160, 70

_LOOKS = """
([least, most]) => {
  const faults = [];
  const walker = document.createTreeWalker(document.getElementById("explanation"), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const { parentElement: parent } = node;
    if (!node.textContent.trim() || !parent.checkVisibility() || parent.closest("svg, .play-icon")) continue;
    const { fontSize } = getComputedStyle(parent);
    if (parseFloat(fontSize) < least) faults.push(`${fontSize}: ${node.textContent}`);
  }
  for (const told of document.querySelectorAll(".told")) {
    const letters = document.createTreeWalker(told, NodeFilter.SHOW_TEXT);
    const lines = {};
    for (let node = letters.nextNode(); node; node = letters.nextNode()) {
      const range = document.createRange();
      for (let at = 0; at < node.length; at += 1) {
        range.setStart(node, at);
        range.setEnd(node, at + 1);
        const line = Math.round(range.getBoundingClientRect().bottom / 8);
        lines[line] = (lines[line] ?? "") + node.data[at];
      }
    }
    const long = Object.values(lines).filter((line) => line.trim().length > most);
    faults.push(...long.map((line) => `long line: ${line}`));
  }
  return faults;
}
"""
_IN_VIEW = """
(id) => {
  const [run, row] = ["run-of-bytes", "film-row"].map((name) =>
    document.querySelector(`#${id} .${name}`).getBoundingClientRect());
  const height = row.bottom - run.top;
  const seen = Math.min(row.bottom, innerHeight) - Math.max(run.top, 0);
  return [seen / Math.min(height, innerHeight), height, row.width];
}
"""


@pytest.mark.parametrize(("width", "height"), _SIZES)
def test_a_reader_gets_through(browser: Browser, axe_script: Path, width: int, height: int) -> None:
    """By scrolling, tapping and dragging alone a reader sees each section with its film in view, bets, plays, and drags
    the line. All numbers are those of the film in view; the accessibility checker finds nothing.
    """
    with reader(browser, width, height) as page:
        expect(page.locator("h1:visible")).to_have_text(strings()["en"]["sections"]["start"]["title"])
        if THOROUGH:
            tell_speed("Chromium", width, height, page.evaluate(SPEED.read_text()))
            page.evaluate("scrollTo(0, 0)")
        assert page.evaluate(_LOOKS, [_LEAST_PX, _MOST_LETTERS]) == []
        assert violations(page, axe_script) == []
        clocks = page.locator(".film-clock").all_text_contents()
        page.wait_for_timeout(3 * DRAWN_MS)
        assert page.locator(".film-clock").all_text_contents() == clocks, "nothing plays unasked"
        for section in _FILMS:
            scroll_to(page, section)
            part, film_height, film_width = page.evaluate(_IN_VIEW, section)
            assert film_height >= _FILM_PX
            assert part > (0.9 if section != "start" or width > PHONE_PX else 0.3), section
            assert width < PHONE_PX or film_width > width * 0.5
            if section != "bet":
                drag(page, f"#{section} .time", 0.7)
                clock = page.locator(f"#{section} .film-clock").text_content()
                assert clock not in clocks, section
            if section == "bet":
                drag(page, "#bet .bet-slider", 0.25)
                expect(page.locator("#bet .answer")).to_contain_text("Your bet")
            if section == "happened":
                expect(page.locator("#happened .answer")).to_contain_text("too early")
            if section == "line":
                drag(page, ".grip-of-line", 0.012)
                expect(page.locator("#line .answer")).to_contain_text("You moved one line. The map works 4.8 s sooner")
            if section == "cost":
                for choice in ("fast", "equal", "queue", "price"):
                    act(page, f"[data-choice={choice}]")
                    assert faults(page) == [], choice
            assert faults(page) == [], section
            act(page, f"#{section} .station.of-server .word, #{section} .station-head .word >> nth=0")
            expect(page.locator(".tip")).to_have_text(strings()["en"]["words"]["server"])
            if THOROUGH or section == "cost":
                assert violations(page, axe_script) == [], section
        act(page, "#start .play-film")
        expect(page.locator("#start .play-words")).to_have_text("Pause")
        act(page, "#start .play-film")
        scroll_to(page, "yours")
        expect(page.locator("#yours")).to_contain_text("sysctl -w net.ipv4.tcp_notsent_lowat=131072")
        doors = page.locator(".doors a").evaluate_all("(all) => all.map((each) => each.getAttribute('href'))")
        assert doors == ["?explore", "?step=1"]


def test_numbers_are_those_of_the_recordings(browser: Browser) -> None:
    """The sentence of the line, and the large results, say what was recorded with each value of the slider."""
    without = facts(recording(CHOICES["none"]), "en")
    with reader(browser, 1366, 768) as page:
        grip = page.locator(".grip-of-line")
        grip.focus()
        for run in table()["stops"]:
            expect(page.locator("#line .film")).to_have_attribute("data-film", run)
            arm = next(arm for arm in in_tree().arms if arm["run"] == run)
            right = facts(arm, "en")
            expect(page.locator("#line .result.of-works dd")).to_have_text(right["works"])
            answer = page.locator("#line .answer-first")
            if right["works"] == without["works"]:
                expect(answer).to_contain_text(right["works"] if "none" in run else "no sooner")
            else:
                said = f"The map works {right['gain']} sooner: after {right['works']} instead of {without['works']}."
                expect(answer).to_have_text(f"You moved one line. {said}")
            assert faults(page) == [], run
            grip.press("ArrowLeft")


def test_a_link_shows_the_same(browser: Browser) -> None:
    """The address has language, line, bet, choice, section and time; opened again, the page shows the same."""
    query = "?lang=de&line=65536&bet=2000&when=queue&at=line&t=3000"
    with reader(browser, 1366, 768, query) as page:
        expect(page.locator("#line .film-clock")).to_have_text("3,00 s")
        expect(page.locator("#happened .answer")).to_contain_text("2,0 s: 4,7 s zu früh")
        expect(page.locator("[data-choice=queue]")).to_have_attribute("aria-pressed", "true")
        assert page.evaluate("document.getElementById('line').getBoundingClientRect().top") < 200
        assert faults(page) == []
        page.locator(".grip-of-line").press("ArrowLeft")
        page.wait_for_function("() => location.search.includes('line=32768')")
        page.reload()
        page.wait_for_function(BUILT)
        run = recording({"LOWAT": "32768"})["run"]
        expect(page.locator("#line .film")).to_have_attribute("data-film", run)
        expect(page.locator("#line .film-clock")).to_have_text("3,00 s")


def test_an_address_without_a_film_leads_to_the_nearest(browser: Browser) -> None:
    """A value that was not recorded shows the nearest one, and says so until the line is moved."""
    with reader(browser, 1366, 768, "?line=100000&at=line&lang=xx") as page:
        expect(page.locator("#line .film")).to_have_attribute("data-film", recording({"LOWAT": "131072"})["run"])
        expect(page.locator("#line .answer")).to_contain_text("no recording of “100000”")
        page.locator(".grip-of-line").press("ArrowLeft")
        expect(page.locator("#line .answer")).not_to_contain_text("100000")


def test_the_language_is_the_browsers(browser: Browser) -> None:
    """The page speaks the language of the browser, if there is a file for it."""
    with visit(browser, EXPLORE.as_uri(), offline=True, locale="ja-JP") as page:
        expect(page.locator("h1:visible")).to_have_text(strings()["ja"]["sections"]["start"]["title"])
        assert page.evaluate("document.documentElement.lang") == "ja"


def test_without_scripts_there_is_a_summary(browser: Browser) -> None:
    """With scripts off the page shows the question, a picture and the summary, and no endless waiting."""
    with visit(browser, EXPLORE.as_uri(), offline=True, java_script_enabled=False) as page:
        expect(page.locator("#explanation")).to_contain_text("You asked for the script first")
        expect(page.locator("#explanation svg")).to_be_visible()
        expect(page.locator("#summary p").last).to_contain_text("TCP_NOTSENT_LOWAT")
        expect(page.locator("#stages")).to_be_hidden()


@pytest.mark.parametrize("query", ["?t=5&explore", "?step=3"])
def test_an_address_of_a_film_opens_the_film(browser: Browser, query: str) -> None:
    """An address that names films or a step opens them; its address stays one of films, and leads back."""
    with visit(browser, EXPLORE.as_uri() + query, offline=True) as page:
        expect(page.locator(".arm-name")).to_have_count(2)
        expect(page.locator("#explanation")).to_have_count(0)
        page.reload()
        expect(page.locator(".arm-name")).to_have_count(2)
        if "step" not in query:
            page.locator("#to-explanation").click()
            page.wait_for_function(BUILT)


def test_the_live_page_opens_with_it(tmp_path: Path, browser: Browser) -> None:
    """The address that `make demo` prints shows the explanation of the recordings in the tree, and leads to Explore."""
    with (
        made_up_demo(tmp_path / "results") as made,
        visit(browser, made.address.replace("?explore", ""), width=1366, height=768) as page,
    ):
        page.wait_for_function(BUILT)
        assert faults(page) == []
        assert "#" not in page.url, "the token is gone"
        page.locator(".doors a").first.click()
        expect(page.locator(".arm-name")).to_have_count(2)


def test_calm_readers_see_no_motion_unasked(browser: Browser) -> None:
    """If less motion is asked for, a step to the next section jumps, and nothing moves that nobody has begun. At
    its end a film begins again at its start if its button is pressed.
    """
    with reader(browser, 1366, 768, reduced_motion="reduce") as page:
        page.locator("#start .next").click()
        assert abs(page.evaluate("document.getElementById('asks').getBoundingClientRect().top")) < 20
        assert page.evaluate("document.getAnimations().length") == 0
        page.locator("#asks .time").fill("1000")
        expect(page.locator("#asks .play-words")).to_have_text("Play again")
        page.locator("#asks .play-film").click()
        expect(page.locator("#asks .play-words")).to_have_text("Pause")
        assert re.match(r"0\.\d\d s", str(page.locator("#asks .film-clock").text_content()))
