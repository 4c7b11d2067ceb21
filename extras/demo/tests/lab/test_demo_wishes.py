"""The demo's page never shows a film that is not what its knobs say; the runs behind it are made up (stub_demo.py)."""

import json
import os
import random
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page, Route, expect
from playwright.sync_api import TimeoutError as Late

from priolab.experiments.scenario.knobs import KNOBS, group_of, with_defaults
from priolab.extras.demo.recorded import recorded
from priolab.extras.demo.story import closing, joined, steps
from priolab.extras.demo.tests.lab.reader import BUILT
from priolab.extras.demo.tests.lab.stub_demo import MadeUp, made_up_demo
from tests.support import waiting
from tests.support.visits import (
    NETWORK_CHANGED,
    expected,
    figures,
    layout_faults,
    leave_story,
    navigate,
    paused_visits,
    scrub,
    shown,
    until,
    violations,
    visit,
)

pytestmark = pytest.mark.usefixtures("chromium")

SEQUENCES = int(os.environ.get("PRIOLAB_SEQUENCES", "40"))
"""`make sequences` has more."""
_ACTIONS = 5
_ON_THE_LINE = 0.6
_LET_GO = 0.8
"""How often a dragged line is let go."""
_SETTLE_MS = 20_000
_LOSSES = 4
"""The number of times in a row that the browser loses a request; networks change several times in a row."""

_NARROW = 900
_WINDOWS = [(1280, 720), (1920, 1080), (390, 844)]

_AT_REST = """
() => document.getElementById("cancel")?.checkVisibility() === false && !document.querySelector("#stages.stale")
  && document.getElementById("stages")?.textContent.includes("Connecting") === false
"""
_HAS_PANEL = "() => document.querySelector('#panel .knob') !== null"
_COMPARED = """
async () => {
  await new Promise((next) => setTimeout(next));
  return [window.wrong(true), window.compared ?? 0];
}
"""
_TIME_IN_ADDRESS = "(ms) => Math.abs(Number(new URLSearchParams(location.search).get('t')) - ms) < 10"
_STAYS = """
const stay = (event) => event.target.closest("#to-explanation") && event.stopImmediatePropagation();
document.addEventListener("click", stay, true);
"""
"""Keeps a tap anywhere from leaving the films: `_explain` does that."""
_LAST_GRIP = """
() => {
  const seen = (each) => each.checkVisibility({ visibilityProperty: true });
  const box = [...document.querySelectorAll(".grip")].filter(seen).at(-1)?.getBoundingClientRect();
  return box ? [box.left + box.width / 2, box.top + box.height / 2].map(Math.round) : null;
}
"""
_SELDOM = """
window.requestAnimationFrame = (draw) => setTimeout(() => draw(performance.now()), 100);
window.cancelAnimationFrame = clearTimeout;
"""
"""Lets a film be drawn ten times a second, and not sixty times, which takes a fifth more processor time."""
_HINT_IS_SEEN = "document.querySelector('.late').checkVisibility({ visibilityProperty: true })"
_LEAST_PX = 11
_CHECKER = Path(__file__).with_name("wish_checker.js").read_text()


def _story() -> str:
    told = {step.title: [with_defaults(knobs) for knobs in step.arms] for step in steps()}
    return json.dumps(json.dumps(told))


@pytest.fixture
def made(tmp_path: Path) -> Iterator[MadeUp]:
    """Yields a demo with made-up runs."""
    with made_up_demo(tmp_path / "results") as begun:
        yield begun


def _settled(page: Page) -> None:
    """Waits until the page waits for nothing."""
    until(page, _AT_REST, timeout_ms=_SETTLE_MS)


def _select(page: Page, chance: random.Random) -> None:
    name, values = chance.choice(
        [("RATE", ("64kbps", "128kbps", "10mbit")), ("QUEUE", ("25", "100", "1000")), ("CC", ("cubic", "bbr", "reno"))]
    )
    control = page.locator(f'select[data-focus="{name}-{chance.choice((0, 0, 1))}"]')
    if control.count() and control.is_visible():
        control.select_option(chance.choice(values))


def _slide(page: Page, chance: random.Random) -> None:
    control = page.locator('input[type="range"][data-arm]').last
    if control.is_visible():
        control.press(chance.choice(("ArrowLeft", "ArrowRight", "ArrowRight")))


def _drag(page: Page, chance: random.Random) -> None:
    """Move a slider without releasing it, as a pointer does: `input` events without `change`."""
    page.evaluate(
        """(stops) => {
            const all = document.querySelectorAll('#panel input[type="range"]');
            const slider = all[all.length - 1];
            if (!slider?.checkVisibility()) return;
            for (const stop of stops) {
                slider.value = String(stop);
                slider.dispatchEvent(new Event("input", { bubbles: true }));
            }
        }""",
        [chance.randrange(12) for _ in range(3)],
    )


def _arms(page: Page, chance: random.Random) -> None:
    control = page.locator('[data-focus="compare"]')
    if control.is_visible():
        control.select_option(chance.choice(("LOWAT", "QUEUE", "CC", "RATE", "SERVER")))


def _key(page: Page, chance: random.Random) -> None:
    page.evaluate("document.activeElement?.blur()")
    page.keyboard.press(chance.choice(("Escape", "p", "ArrowRight", "PageUp", "PageDown", "b", "End", " ")))


def _line(page: Page, chance: random.Random) -> None:
    """Drag the line of LOWAT in a kernel's box by a pointer, from anywhere, and perhaps without letting it go."""
    page.evaluate(
        """([arm, moves, ends]) => {
            const seen = (each) => each.checkVisibility({ visibilityProperty: true });
            const grips = [...document.querySelectorAll(".grip")].filter(seen);
            const grip = grips[arm % Math.max(1, grips.length)];
            if (!grip) return;
            const { left, width } = grip.ownerSVGElement.getBoundingClientRect();
            const point = (type, part) => new PointerEvent(type, { bubbles: true, clientX: left + part * width });
            grip.dispatchEvent(point("pointerdown", 0.5));
            for (const part of moves) document.dispatchEvent(point("pointermove", part));
            if (ends) document.dispatchEvent(point("pointerup", 0.5));
        }""",
        [chance.randrange(2), [0.3 + 0.3 * chance.random() for _ in range(3)], chance.random() < _LET_GO],
    )


def _bet(page: Page, chance: random.Random) -> None:
    page.evaluate(
        """([arm, key]) => {
            const all = document.querySelectorAll(".bet");
            all[arm % Math.max(1, all.length)]?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        }""",
        [chance.randrange(2), chance.choice(("ArrowLeft", "ArrowRight"))],
    )


def _touch(page: Page, chance: random.Random) -> None:
    """Tap anywhere in the window."""
    size = page.viewport_size
    assert size
    page.touchscreen.tap(chance.randrange(size["width"]), chance.randrange(size["height"]))


def _finger(page: Page, chance: random.Random) -> None:
    """Move a finger over the window, from a line of LOWAT or from anywhere; the screen may lose it."""
    size = page.viewport_size
    assert size
    x, y = chance.randrange(size["width"]), chance.randrange(size["height"])
    if chance.random() < _ON_THE_LINE:
        x, y = page.evaluate(_LAST_GRIP) or (x, y)
    dx, dy = chance.choice(((40, 0), (-40, 0), (0, 40), (0, -40), (30, 10)))
    session = page.context.new_cdp_session(page)
    for step in range(4):
        point = {"x": max(0, x + step * dx), "y": max(0, y + step * dy)}
        kind = "touchMove" if step else "touchStart"
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [point]})
    session.send("Input.dispatchTouchEvent", {"type": chance.choice(("touchEnd", "touchCancel")), "touchPoints": []})
    session.detach()


def _switch(page: Page, chance: random.Random) -> None:
    """Switch to the other film of a phone."""
    page.evaluate("(n) => document.querySelectorAll('.arm-choice')[n]?.click()", chance.randrange(2))


def _turn(page: Page, chance: random.Random) -> None:
    """Turn a phone, or go back to a large window."""
    width, height = chance.choice(((1280, 720), (390, 844), (844, 390)))
    page.set_viewport_size({"width": width, "height": height})


def _own(page: Page, _: random.Random) -> None:
    page.evaluate("document.getElementById('own').hidden || document.getElementById('own-back').click()")


def _history(page: Page, chance: random.Random) -> None:
    page.evaluate(chance.choice(("history.back()", "history.forward()")))


def _cancel(page: Page, _: random.Random) -> None:
    page.evaluate("document.getElementById('cancel').click()")


def _instead(page: Page, chance: random.Random) -> None:
    page.evaluate("(n) => [...document.querySelectorAll('.instead')][n]?.click()", chance.randrange(2))


def _reload(page: Page, _: random.Random) -> None:
    navigate(page, page.reload)
    until(page, _HAS_PANEL)


def _wait(page: Page, chance: random.Random) -> None:
    page.wait_for_timeout(chance.randrange(120))


def _explain(page: Page, _: random.Random) -> None:
    """Goes to the explanation, and comes back; the browser's history does not lead there."""
    films = page.url
    for address, there in ((films.partition("?")[0], BUILT), (films, _HAS_PANEL)):

        def replace(address: str = address) -> None:
            with page.expect_navigation():
                page.evaluate("(address) => location.replace(address)", address)

        navigate(page, replace)
        until(page, there)


_DO: tuple[Callable[[Page, random.Random], None], ...] = (
    *(_select, _select, _select, _slide, _slide, _drag, _arms, _arms, _cancel, _history, _history),
    *(_reload, _key, _key, _key, _instead, _wait, _line, _line, _bet, _touch, _turn, _own),
    *(_finger, _finger, _touch, _switch, _explain),
)


_LEFT = "Execution context was destroyed"
"""The browser's words for an input that meets a page which is just being left: nobody could have made it."""


def test_no_film_under_other_knobs_in_random_sequences(made: MadeUp, browser: Browser) -> None:
    """In random sequences of knobs, arms, dragging, keys, taps, fingers that drag, swipe and scroll, bets, cancelling,
    reloading, turning the window, a visit to the explanation and the browser's history, every film that is not dimmed
    has the knobs, the names and the figures that the page asks for; on stage no dimmed film is seen; in the end every
    run is given up or shown.
    """
    made.failing = {"CC=reno"}
    chance = random.Random(20)
    with browser.new_context(viewport={"width": 1280, "height": 720}, has_touch=True) as context:
        context.add_init_script(_SELDOM + _STAYS)
        context.add_init_script(f"{_CHECKER.strip()}\n(check)({_story()})")
        page = context.new_page()
        faults: list[str] = []
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(f"{error}"))
        navigate(page, lambda: page.goto(made.address))
        page.locator("#panel .knob").first.wait_for(state="attached")
        compared = 0
        for number in range(SEQUENCES):
            done = []
            for _ in range(_ACTIONS):
                act = chance.choice(_DO)
                done.append(act.__name__)
                try:
                    act(page, chance)
                except Error as error:
                    if _LEFT not in error.message:
                        raise
                    done.append("of a page that was left meanwhile")
            try:
                _settled(page)
            except Late:
                pytest.fail(f"the page waits for ever after {done}, number {number}")
            wrong, seen = page.evaluate(_COMPARED)
            assert [fault for fault in faults if NETWORK_CHANGED not in fault] == [], (number, done)
            assert wrong == "", (number, done)
            compared += seen
        assert compared > SEQUENCES, "figures were compared"
        expect(page.locator("#cancel")).to_be_hidden()
        page.wait_for_timeout(500)
        assert made.unfinished() == []
        assert [fault for fault in faults if NETWORK_CHANGED not in fault] == []


@pytest.fixture
def at(made: MadeUp, browser: Browser) -> Iterator[Callable[..., Page]]:
    """Yields a function that opens the page and waits for the usual pair; paused. No visit may have errors."""
    with paused_visits(browser, made.address, _settled) as begin:
        yield begin


def _rate(page: Page, value: str) -> None:
    page.get_by_label("RATE", exact=True).select_option(value)


def _wanted(made: MadeUp) -> list[set[str]]:
    """Return the unusual words of the jobs for which somebody waits."""
    usual = {f"{name}={value}" for name, value in with_defaults({}).items()}
    return [{word for word in job.words if word not in usual and "RESULTS" not in word} for job in made.unfinished()]


def test_the_right_job_is_cancelled(made: MadeUp, at: Callable[..., Page]) -> None:
    """If a knob and then the arms are changed while a run is under way, the runs of the last wish go on, and no other.
    Cancelling ends them, also when an earlier wish had asked for the same run.
    """
    page = at()
    made.hold.clear()
    _rate(page, "64kbps")
    expect(page.locator("#stages.stale")).to_have_count(1)
    waiting.until(lambda: len(made.unfinished()) == 2, "both arms are run")
    page.locator('[data-focus="compare"]').select_option("QUEUE")
    rest = {"RATE=64kbps", "CONTROL=no"}
    waiting.until(
        lambda: sorted(map(sorted, _wanted(made))) == sorted(map(sorted, [rest, {*rest, "QUEUE=1000"}])), "they go on"
    )
    expect(page.locator("#stages.stale .arm-name")).to_have_text(["no limit", "limit 128 KiB"])
    page.keyboard.press("Escape")
    waiting.until(lambda: not made.unfinished(), "both are given up")
    expect(page.locator("#stages:not(.stale) .arm-name")).to_have_text(["no limit", "limit 128 KiB"])
    made.hold.set()
    page.go_back()
    expect(page.locator(".arm-name")).to_have_text(["queue of 25", "queue of 1000"])


def test_cancelling_keeps_the_last_films(made: MadeUp, at: Callable[..., Page]) -> None:
    """The films, the knobs and the instant from before a cancelled run are back; in the story the title, too. Escape
    cancels, and so does the button; for some seconds the page says so.
    """

    def cancel(way: str) -> None:
        expect(page.locator("#stages.stale")).to_have_count(1)
        expect(page.locator("#cancel")).to_be_visible()
        page.locator(way).click() if way.startswith("#") else page.keyboard.press(way)
        expect(page.locator("#said")).to_have_text("Cancelled.")
        expect(page.locator("#stages.stale")).to_have_count(0)

    page = at()
    arms = page.locator("body").get_attribute("data-experiment")
    scrub(page, 0.5)
    clock = page.locator(".clock").inner_text()
    made.hold.clear()
    _rate(page, "64kbps")
    page.locator('[data-focus="compare"]').select_option("QUEUE")
    expect(page.locator("#comparison")).to_contain_text("Above: no limit. Below: limit 128 KiB.")
    cancel("Escape")
    expect(page.locator("body")).to_have_attribute("data-experiment", str(arms))
    expect(page.locator(".clock")).to_have_text(clock)
    expect(page.get_by_label("RATE", exact=True)).to_have_value("128kbps")
    expect(page.locator('[data-focus="compare"]')).to_have_value("LOWAT")
    assert "RATE" not in page.url
    made.hold.set()
    page.keyboard.press("p")
    _settled(page)
    made.hold.clear()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".step-title")).to_have_text(steps()[1].title)
    cancel("#cancel")
    expect(page.locator(".step-title")).to_have_text(steps()[0].title)
    expect(page.locator(".arm-name")).to_have_text(list(steps()[0].names))
    expect(page.locator("#status")).to_be_hidden()


def test_an_own_value_in_the_story(at: Callable[..., Page]) -> None:
    """A step whose LOWAT was moved says so above the title, in place of the step's text; a button goes back."""
    page = at()
    for stop in ("ArrowRight", "ArrowLeft"):
        page.get_by_label("LOWAT, below", exact=True).press(stop)
        _settled(page)
    page.keyboard.press("p")
    for _ in range(2):
        page.keyboard.press("ArrowRight")
        _settled(page)
    own, title = page.locator("#own"), page.locator(".step-title")
    expect(title).to_have_text(steps()[2].title)
    expect(own).to_be_hidden()
    page.locator(".grip[data-arm='1']").press("ArrowRight")
    expect(page.locator("#own-said")).to_have_text("Your value: below: limit 64 KiB in place of limit 128 KiB.")
    expect(page.locator(".step-text")).to_be_hidden()
    above, below = own.bounding_box(), title.bounding_box()
    assert above
    assert below
    assert above["y"] + above["height"] <= below["y"]
    assert layout_faults(page, smallest_px=_LEAST_PX) == []
    page.get_by_role("button", name="Back to the step").click()
    expect(own).to_be_hidden()
    expect(page.locator(".step-text")).to_be_visible()
    expect(page.locator(".arm-name")).to_have_text(list(steps()[2].names))


def test_all_knobs_are_told(at: Callable[..., Page]) -> None:
    """The panel lists every knob in its group, with the beginning of its meaning; a text finds knobs."""
    page = at()
    for fold in page.locator(".group summary").all():
        fold.click()
    for name, knob in KNOBS.items():
        group = page.locator(".group", has=page.get_by_role("heading", name=group_of(name), exact=True))
        row = group.locator(f".knob:has([data-focus='{name}-0'])")
        told = row.locator(".meaning").inner_text()
        assert told, name
        assert knob.meaning.startswith(told)
        expect(row.locator(".meaning")).to_be_visible()
    for fold in page.locator(".group summary").all():
        fold.click()
    loss, rate = page.get_by_label("LOSS", exact=True), page.get_by_label("RATE", exact=True)
    find = page.get_by_label("Find a knob")
    for sought in ("Loss", "random"):
        expect(loss).to_be_hidden()
        find.fill(sought)
        expect(loss).to_be_visible()
        expect(rate).to_be_hidden()
        expect(page.get_by_role("heading", name="the front", exact=True)).to_be_hidden()
        find.fill("")
        expect(rate).to_be_visible()


def test_a_lab_that_has_ended(made: MadeUp, browser: Browser) -> None:
    """A changed knob of a lab that has ended shows the reason in place of the films; known films can still be shown."""
    with browser.new_context() as context:
        page = context.new_page()
        navigate(page, lambda: page.goto(made.address))
        shown(page)
        made.end()
        _rate(page, "64kbps")
        expect(page.locator("#status.wrong #said")).to_contain_text("the lab does not answer")
        expect(page.locator("#stages .arm")).to_have_count(0)
        _rate(page, "128kbps")
        expect(page.locator(".arm-name")).to_have_text(["no limit", "limit 128 KiB"])
        expect(page.locator("#stages.stale")).to_have_count(0)


def test_the_address_has_the_state(at: Callable[..., Page]) -> None:
    """Reload shows the same knobs at the same time, Back the knobs before, and a copied link both in another tab."""
    page = at()
    _rate(page, "64kbps")
    expect(page.locator("#stages:not(.stale) .arm-name")).to_have_text(["no limit", "limit 128 KiB"])
    page.get_by_label("LOWAT, below", exact=True).press("ArrowRight")
    expect(page.locator(".arm-name")).to_have_text(["no limit", "limit 64 KiB"])
    _settled(page)
    page.keyboard.press("Space")
    page.keyboard.press("+")
    scrub(page, 0.25)
    clock = page.locator(".clock").inner_text()
    assert clock != "0.00 s"
    expect(page).to_have_url(re.compile(r"\?differ=LOWAT&above=none&below=65536&RATE=64kbps&t=\d+&speed=3.00$"))
    page.wait_for_function(_TIME_IN_ADDRESS, arg=1000 * float(clock.removesuffix(" s")))
    navigate(page, page.reload)
    expect(page.locator(".arm-name")).to_have_text(["no limit", "limit 64 KiB"])
    expect(page.locator(".clock")).to_have_text(clock)
    expect(page.locator(".play")).to_have_text("Play")
    expect(page.locator(".factor")).to_have_text("3×")  # noqa: RUF001
    copied = page.context.new_page()
    navigate(copied, lambda: copied.goto(page.url))
    expect(copied.locator(".arm-name")).to_have_text(["no limit", "limit 64 KiB"])
    expect(copied.locator(".clock")).to_have_text(clock)
    expect(copied.get_by_label("RATE", exact=True)).to_have_value("64kbps")
    page.go_back()
    expect(page.locator(".arm-name")).to_have_text(["no limit", "limit 128 KiB"])
    expect(page.get_by_label("RATE", exact=True)).to_have_value("64kbps")
    page.go_back()
    expect(page.get_by_label("RATE", exact=True)).to_have_value("128kbps")
    page.go_forward()
    expect(page.get_by_label("RATE", exact=True)).to_have_value("64kbps")
    expect(page.locator(".factor")).to_have_text("3×")  # noqa: RUF001


def test_a_step_has_an_address(at: Callable[..., Page]) -> None:
    """A reload and a copied link show the step of the story, and Back shows the step before; the closing slide, too."""
    page = at()
    page.keyboard.press("p")
    for _ in steps():
        page.keyboard.press("ArrowRight")
    expect(page.locator(".step-title")).to_have_text(closing().title)
    expect(page.locator(".step-count")).to_have_text("end")
    expect(page.locator(".arm")).to_have_count(0)
    assert page.url.endswith("?step=end")
    navigate(page, page.reload)
    expect(page.locator(".step-title")).to_have_text(closing().title)
    page.go_back()
    expect(page.locator(".step-title")).to_have_text(steps()[-1].title)
    expect(page.locator(".arm-name")).to_have_text(list(steps()[-1].names))
    assert page.url.endswith(f"?step={len(steps())}")
    page.go_back()
    expect(page.locator(".step-count")).to_have_text(f"{len(steps()) - 1} of {len(steps())}")
    expect(page.locator(".arm-name")).to_have_text(list(steps()[-2].names))
    leave_story(page)
    expect(page.locator(".step-title")).to_be_hidden()
    expect(page.locator("#stages:not(.stale) .arm-name")).to_have_text(list(steps()[-2].names))
    page.keyboard.press("p")
    page.keyboard.press("End")
    leave_story(page)
    expect(page.locator(".closing")).to_have_count(0)
    expect(page.locator("#stages:not(.stale) .arm-name")).to_have_text(list(steps()[-2].names))


def test_a_link_without_the_token(made: MadeUp, browser: Browser) -> None:
    """A link alone does not open the demo: the token comes from the printed address, or from a page that has it."""
    with browser.new_context() as context:
        page = context.new_page()
        navigate(page, lambda: page.goto(made.address.partition("?")[0] + "?step=2"))
        expect(page.locator("#stages")).to_contain_text("the token is missing")


def test_what_was_recorded_before_is_shown_first(made: MadeUp, browser: Browser) -> None:
    """Before the first run the shipped films play at once, marked; the fresh run takes their place at the same time."""
    made.hold.clear()
    with visit(browser, made.address) as page:
        page.locator(".arm-name").first.wait_for(timeout=3000)
        expect(page.locator("#mark")).to_have_text("recorded before, on another machine")
        expect(page.locator(".play")).to_have_text("Pause")
        expect(page.locator("#said")).to_contain_text("no limit: load")
        recorded_runs = [f"{each['experiment']}/{each['run']}" for each in recorded()]
        assert (page.locator("body").get_attribute("data-experiment") or "").split() == recorded_runs
        assert figures(page)[0]["first_byte_ms"] == expected(recorded()[0]["arm"], "first_byte_ms")
        page.keyboard.press("Space")
        scrub(page, 0.5)
        clock = page.locator(".clock").inner_text()
        made.hold.set()
        expect(page.locator("#mark")).to_be_hidden()
        assert not set(shown(page)) & set(recorded_runs)
        expect(page.locator(".clock")).to_have_text(clock)
        expect(page.locator(".play")).to_have_text("Play")


def test_the_speaker_has_notes(at: Callable[..., Page]) -> None:
    """A second window says what to say and what comes next; its keys lead through the story, and its timer starts."""
    page = at()
    with page.context.expect_page() as opening:
        page.keyboard.press("s")
    notes = opening.value
    notes.set_viewport_size({"width": 820, "height": 620})
    expect(notes.locator("#step")).to_have_text("exploring")
    page.keyboard.press("p")
    expect(notes.locator("#say")).to_have_text(joined(steps()[0].say))
    expect(notes.locator("#planned")).to_have_text(f"planned for 0:00 to {steps()[1].minute}")
    expect(notes.locator("#next")).to_have_text(f"Next: {steps()[1].title}")
    expect(notes.locator("#timer")).to_have_text("0:00")
    began_s = time.monotonic()
    expect(notes.locator("#film")).to_have_text(re.compile("^film 0.00 s, stands; next stop: "))
    notes.keyboard.press("ArrowRight")
    expect(page.locator(".step-title")).to_have_text(steps()[1].title)
    expect(notes.locator("#title")).to_have_text(steps()[1].title)
    expect(notes.locator("#timer")).not_to_have_text("0:00")
    expect(notes.locator("#late")).to_have_text(re.compile("^0:[34][0-9] early$"))
    notes.keyboard.press("e")
    expect(notes.locator("#film")).to_have_text(re.compile("at its end$"))
    notes.get_by_role("button", name="Pause the timer").click()
    passed_s = int(notes.evaluate("sessionStorage.getItem('priolab-talk-passed')")) // 1000
    assert 1 <= passed_s <= time.monotonic() - began_s
    expect(notes.locator("#timer")).to_have_text(f"{passed_s // 60}:{passed_s % 60:02}")
    page.keyboard.press("End")
    expect(notes.locator("#say")).to_have_text(joined(closing().say))
    expect(notes.locator("#next")).to_have_text("")
    navigate(notes, notes.reload)
    expect(notes.locator("#title")).to_have_text(closing().title)
    notes.get_by_role("button", name="Back").click()
    expect(page.locator(".step-title")).to_have_text(steps()[-1].title)


@pytest.mark.parametrize(("width", "height"), _WINDOWS)
def test_what_is_new_can_be_read(
    made: MadeUp, at: Callable[..., Page], axe_script: Path, width: int, height: int
) -> None:
    """The closing slide, the notes, and the text in place of films fit the window, no text overlaps another, and the
    accessibility checker finds nothing.
    """
    made.failing = {"CC=reno"}
    page = at(width=width, height=height, bypass_csp=True)
    if width > _NARROW:
        page.get_by_label("CC", exact=True).select_option("reno")
        expect(page.locator("#status.wrong")).to_be_visible()
        assert layout_faults(page, smallest_px=11, fewest=5) == []
    page.keyboard.press("p")
    page.keyboard.press("End")
    expect(page.locator(".closing-points li")).to_have_count(len(closing().points))
    if width > _NARROW:
        assert layout_faults(page, smallest_px=12, fewest=5) == []
    overflows = "(list) => list.scrollWidth > list.clientWidth || list.getBoundingClientRect().right > innerWidth"
    assert not page.locator(".closing-points").evaluate(overflows)
    assert violations(page, axe_script) == []
    notes = page.url.partition("?")[0] + "page/notes.html"  # a page that the browser gives up on has another address
    navigate(page, lambda: page.goto(notes))
    page.wait_for_timeout(100)
    assert layout_faults(page, smallest_px=11, fewest=4) == []
    assert violations(page, axe_script) == []


def test_the_network_changes(made: MadeUp, browser: Browser) -> None:
    """If the browser loses requests, for a file or to the lab, the page tries again and shows the usual pair."""
    lost: list[str] = []

    def lose(route: Route) -> None:
        path = route.request.url.rpartition("/")[2]
        if lost.count(path) < _LOSSES:
            lost.append(path)
            route.abort("internetdisconnected")
        else:
            route.continue_()

    with browser.new_context() as context:
        page = context.new_page()
        for path in ("**/page/*/film.js", "**/page/*/style.css", "**/api/choices", "**/api/arms"):
            page.route(path, lose)
        navigate(page, lambda: page.goto(made.address))
        shown(page)
        assert {path: lost.count(path) for path in lost} == dict.fromkeys(
            ("style.css", "film.js", "choices", "arms"), _LOSSES
        )


def test_the_page_without_its_program(made: MadeUp, browser: Browser) -> None:
    """If the browser loses the page's first module each time, the page says after some seconds what helps."""
    program = "**/page/*/first.js"
    with browser.new_context() as context:
        context.add_init_script(f"addEventListener('load', () => {{ window.seen = {_HINT_IS_SEEN}; }})")
        page = context.new_page()
        page.route(program, lambda route: route.abort("internetdisconnected"))
        navigate(page, lambda: page.goto(made.address))
        assert page.evaluate("window.seen") is False
        until(page, f"() => {_HINT_IS_SEEN}")
        expect(page.locator("#stages")).to_contain_text("reload the page")
        page.unroute(program)
        navigate(page, page.reload)
        try:
            shown(page)
        except AssertionError:  # on a busy machine Chromium once lost the module of this load, too
            navigate(page, page.reload)
            shown(page)
