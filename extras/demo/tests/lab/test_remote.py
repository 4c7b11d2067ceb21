"""The whole talk, given with a presenter's remote: each sentence is compared with what the page shows at its mark."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import pytest
from playwright.sync_api import Browser, Page, expect

from priolab.common.home import ROOT
from priolab.extras.demo.recording import EXPLORE
from priolab.extras.demo.story import START, closing, marks, steps
from priolab.extras.demo.tests.claims import Claim, State, Stop, fault, placed, state
from priolab.extras.demo.tests.sentences import spoken, story_claims
from tests.support.visits import leave_story, scrub, visit

_TALK = (ROOT / "docs/guide/talk.md").read_text()
_WIDTH, _HEIGHT = 1920, 1080
_MOST_PRESSES = 30
_FASTEST = """
const speed = document.querySelector(".speed");
speed.value = "100";
speed.dispatchEvent(new Event("input"));
"""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The screens of an audience and a speaker. told: the text below the film. now: what the notes mark.

    screen: the audience's screen as a picture.
    """

    drawn: State
    told: str
    now: list[str]
    screen: bytes


def _seen(page: Page, notes: Page) -> Seen:
    clock, mark = page.locator(".clock").inner_text(), page.locator(".chapter").inner_text()
    stands = f"stands after: {mark}" if mark else "stands"
    expect(notes.locator("#film")).to_have_text(re.compile(f"^film {re.escape(f'{clock}, {stands}')};"))
    now = [words.strip() for words in notes.locator("#say .now").all_inner_texts()]
    told = page.locator(".player-words").inner_text()
    return Seen(drawn=state(page), told=told, now=now, screen=page.screenshot())


@pytest.fixture(scope="module")
def given(browser: Browser) -> Mapping[Stop, Seen]:
    """Gives the talk of the published file with F5, Page Down, Page Up, b and Esc; returns what each stop shows."""
    found: dict[Stop, Seen] = {}
    with visit(browser, EXPLORE.as_uri() + "?explore", width=_WIDTH, height=_HEIGHT, offline=True) as page:
        expect(page.locator(".arm-name")).to_have_count(2)
        with page.context.expect_page() as opening:
            page.keyboard.press("s")
        notes = opening.value
        scrub(page, 1)
        found[0, "end"] = _seen(page, notes)
        page.keyboard.press("F5")
        for number, step in enumerate(steps(), start=1):
            expect(page.locator(".step-title")).to_have_text(step.title)
            expect(notes.locator("#title")).to_have_text(step.title)
            found[number, START] = _seen(page, notes)
            page.evaluate(_FASTEST)
            passed: list[str] = []
            while "end" not in passed:
                page.keyboard.press("PageDown")
                expect(page.locator(".play")).to_have_text("Play")
                passed.append(page.locator(".chapter").inner_text())
                found[number, passed[-1]] = _seen(page, notes)
            assert sorted(passed) == sorted({*marks(step.text), *marks(step.say), "end"} - {START})
            page.keyboard.press("PageDown")
        expect(page.locator(".closing-points li")).to_have_text([each.words for each in closing().points])
        page.keyboard.press("PageUp")
        expect(page.locator(".step-title")).to_have_text(steps()[-1].title)
        for key in ("PageDown", "x", "a", "Enter", "Tab", "ArrowLeft", "ArrowRight", "Escape", "b"):
            page.keyboard.press("b")
            expect(page.locator(".blank")).to_be_visible()
            page.keyboard.press(key)
            expect(page.locator(".blank")).to_be_hidden()
        expect(page.locator(".clock")).to_have_text("0.00 s")
        expect(page.locator(".step-title")).to_have_text(steps()[-1].title)
        page.keyboard.press("Escape")
        expect(page.locator("#leave")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("#leave")).to_be_hidden()
        expect(page.locator(".step-title")).to_be_visible()
        leave_story(page)
        expect(page.locator(".step-title")).to_be_hidden()
    return found


def _faults(claims: Iterable[Claim], given: Mapping[Stop, State]) -> list[str]:
    """Return the claims that do not hold, each with its sentence."""
    found = []
    for claim in claims:
        drawn = given.get(claim.stop)
        reason = fault(claim.text, drawn) if drawn else f"the film does not stop at {claim.stop}"
        if reason:
            found.append(f"{claim.sentence} {claim.stop}: {reason}")
    return found


def test_a_remote_gives_the_whole_talk(given: Mapping[Stop, Seen]) -> None:
    """The talk goes through all steps, and at each mark of a film the page says that it stopped, and what goes on."""
    for (step, mark), seen in given.items():
        if step and mark != START:
            assert " ".join(seen.told.split()).startswith(f"stopped at: {mark} Page Down goes on link: "), seen.told
    assert "plays at a tenth of real time Page Down goes on" in " ".join(given[1, START].told.split())
    assert {step for step, _ in given} == {*range(len(steps()) + 1)}


def test_few_presses_are_enough(given: Mapping[Stop, Seen]) -> None:
    """The remote's key is pressed at most thirty times up to the closing slide, and each press changes the screen."""
    stops = [seen for (step, _), seen in given.items() if step]
    # The first step is there without a press, and one leads to the closing slide.
    assert len(stops) <= _MOST_PRESSES
    for before, after in pairwise(stops):
        assert before.screen != after.screen
        assert before.drawn != after.drawn


def test_the_talk_says_what_the_page_shows(given: Mapping[Stop, Seen]) -> None:
    """Each sentence of the story, of its closing slide and of docs/guide/talk.md holds where it is said."""
    drawn = {stop: seen.drawn for stop, seen in given.items()}
    assert _faults(story_claims(), drawn) == []
    talk = [placed(each.words, text) for each in spoken(_TALK) for text in each.tied if not text.startswith("test_")]
    assert _faults(talk, drawn) == []


def test_the_speaker_reads_what_fits_the_stop(given: Mapping[Stop, Seen]) -> None:
    """The notes mark the sentences of the film's last mark that has sentences."""
    for number, step in enumerate(steps(), start=1):
        said_at = marks(step.say)
        now = START
        for mark in [mark for each, mark in given if each == number]:
            now = mark if mark in said_at else now
            fit = [each.words for each, at in zip(step.say, said_at, strict=True) if at == now]
            assert given[number, mark].now == fit, (number, mark)


def test_every_stop_has_the_facts_of_the_link(given: Mapping[Stop, Seen]) -> None:
    """At each stop rate, round trip and queue of both links are told, and the network's box has its factor."""
    for stop, seen in given.items():
        for name in ("rate", "round trip", "queue"):
            assert {f"above.{name}", f"below.{name}"} <= seen.drawn.keys(), stop
        for arm in ("above", "below"):
            if f"{arm}.network" in seen.drawn:
                assert re.search(r"\d", str(seen.drawn[f"{arm}.title of network"])), stop
