"""The demo's page in a real browser: what users do, with a pointer or without, and what the page then shows.

All tests share a lab. A test may rely on what the fixtures have run, but not on what other tests did.
"""

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect
from zxingcpp import read_barcodes

from priolab.extras.demo.choices import offers
from priolab.extras.demo.story import closing, joined, steps
from priolab.extras.demo.tests.demonstration import Demo, demonstration
from priolab.extras.demo.tests.lab.exported import ADDRESS, Exported
from priolab.extras.demo.tests.lab.story import TOLD
from tests.support.lab import make_lab, priolab_here
from tests.support.visits import (
    RUN_MS,
    expected,
    figures,
    layout_faults,
    leave_story,
    navigate,
    paused_visits,
    said,
    scrub,
    shown,
    violations,
    visit,
)
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("guest", "chromium")

NAMES = ["no limit", "limit 128 KiB"]
STAGES = [(1280, 720), (1920, 1080), (800, 600)]
LARGE = 0.025
LINK = re.compile(r"^link: [\d.]+ (kB|Mbit)/s, round trip \d+ ms, queue \d+ (packets|above, 1,000 below)$")
"""The size of the smallest text on stage, as a part of the window's height."""
INSTANTS = (0.0, 0.03, 0.06, 0.15, 0.24, 0.4, 0.55, 0.75, 1.0)
_BRIGHT = 128
_MOST_STOPS = 70
_DRAWN_MS = 300
"""The time in which films are drawn anew for a space that has changed."""
_SETTLE_S = 30.0

Visit = Callable[..., Page]


@pytest.fixture(scope="module")
def demo(guest: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:  # noqa: ARG001
    """Yields the demo of a lab that has run nothing yet."""
    with demonstration(make_lab(tmp_path_factory.mktemp("demo")), "FABRIC=virtual") as begun:
        yield begun


@dataclass(frozen=True, kw_only=True)
class First:
    """The observations of the first visit.

    said: the lines of the status. shown: the runs that the page showed. names: the names of the arms. button: the text
    of the player's button when the first film appears. experiments: the names of the experiments that were run.
    """

    said: list[str]
    shown: list[str]
    names: list[str]
    button: str
    experiments: set[str]


@pytest.fixture(scope="module")
def first(demo: Demo, browser: Browser) -> First:
    """Makes the first visit, which runs the usual pair of arms."""
    with visit(browser, demo.address) as page:
        page.locator(".arm-name").first.wait_for(timeout=RUN_MS)
        button = page.locator(".play").inner_text()
        arms = shown(page)
        return First(
            said=said(page),
            shown=arms,
            names=page.locator(".arm-name").all_inner_texts(),
            button=button,
            experiments=demo.experiments(),
        )


@pytest.fixture(scope="module")
def slides(demo: Demo, first: First, exported: Exported) -> Path:  # noqa: ARG001
    """Gives the story's arms to the demo. Returns the folder with the exported story."""
    exported.copy_arms(demo.lab.results)
    return exported.slides


@pytest.fixture
def at(demo: Demo, first: First, browser: Browser) -> Iterator[Visit]:  # noqa: ARG001
    """Yields a function that opens the page with the usual pair, paused. At the test's end no visit may have errors."""
    with paused_visits(browser, demo.address) as begin:
        yield begin


def _summary(demo: Demo, experiment: str) -> Mapping[str, Mapping[str, Any]]:
    """Returns the arms of `priolab show --json`, by name."""
    done = priolab_here("show", str(demo.lab.results / experiment), "--json")
    assert done.returncode == 0, done.stderr
    return {arm["name"]: arm for arm in json.loads(done.stdout)["arms"]}


def _figures_are_those_of_the_command_line(demo: Demo, page: Page) -> None:
    arms = shown(page)
    there = figures(page)
    assert len(arms) == len(there) == 2
    for named, seen in zip(arms, there, strict=True):
        experiment, _, run = named.partition("/")
        arm = _summary(demo, experiment)[run.rpartition(".")[0]]
        assert len(seen) == (5 if arm["oracle"] else 4)
        assert seen == {name: expected(arm, name) for name in seen}


def _becomes(page: Page, names: list[str]) -> None:
    expect(page.locator(".arm-name")).to_have_text(names, timeout=RUN_MS)
    shown(page)


def _knob(page: Page, label: str) -> Locator:
    return page.get_by_label(label, exact=True)


def test_the_first_visit_runs_and_plays(first: First) -> None:
    """Both arms are run, each as an experiment of its own, with progress in the status line; then the film plays."""
    assert first.names == NAMES
    assert [name.partition("/")[2] for name in first.shown] == ["control.1", "lowat-131072.1"]
    assert {name.partition("/")[0] for name in first.shown} == first.experiments
    assert len(first.experiments) == 2
    assert any(re.search(r"no limit: .*load \d of 3.* \(\d+ s\)$", line) for line in first.said), first.said
    assert first.button == "Pause"


def test_figures_are_those_of_the_command_line(demo: Demo, at: Visit) -> None:
    """Every number on the page equals that of `priolab show --json` for the run, rounded."""
    _figures_are_those_of_the_command_line(demo, at())


def test_lowat_is_changed_with_a_key(demo: Demo, at: Visit) -> None:
    """A key changes the lower arm's LOWAT: only the new arm is run, with progress in the status line, and only once."""
    page = at()
    before, upper = demo.experiments(), shown(page)[0]
    slider = _knob(page, "LOWAT, below")
    slider.focus()
    slider.press("ArrowLeft")
    _becomes(page, ["no limit", "limit 256 KiB"])
    assert slider.get_attribute("aria-valuetext") == "262144"
    expect(slider).to_be_focused()
    assert shown(page)[0] == upper
    assert len(demo.experiments() - before) == 1
    assert any(line.startswith("limit 256 KiB: ") for line in said(page)), said(page)
    _figures_are_those_of_the_command_line(demo, page)
    slider.press("ArrowRight")
    _becomes(page, NAMES)
    assert len(demo.experiments() - before) == 1


@pytest.mark.needs("haproxy")
def test_another_knob_is_compared(demo: Demo, at: Visit) -> None:
    """If servers are compared, both arms have the lower arm's LOWAT, and the figures are those of the runs."""
    page = at()
    _knob(page, "The arms differ in").select_option("SERVER")
    expect(page.locator(".arm-name").first).to_have_text("nginx", timeout=RUN_MS)
    _knob(page, "SERVER, below").select_option("haproxy")
    _becomes(page, ["nginx", "haproxy"])
    assert _knob(page, "LOWAT").get_attribute("aria-valuetext") == "131072"
    _figures_are_those_of_the_command_line(demo, page)


def test_what_is_not_allowed_is_told(demo: Demo, at: Visit) -> None:
    """A value that is not allowed gives the command line's message; nothing is run, and no film stays."""
    page = at(refuses=True)
    before = demo.experiments()
    page.get_by_text("other knobs of the link").click()
    field = _knob(page, "LOSS")
    field.fill("half; rm -rf /")
    field.press("Enter")
    status = page.locator("#status.wrong #said")
    expect(status).to_contain_text("LOSS=half; rm -rf / is not allowed; allowed: 0% to 50%")
    expect(page.locator("#stages")).to_contain_text("So there is no film of these knobs.")
    expect(page.locator("#stages .arm")).to_have_count(0)
    assert demo.experiments() == before
    assert not list(demo.lab.results.glob("*.partial"))
    field.fill("0%")
    field.press("Enter")
    expect(page.locator("#status")).to_be_hidden()
    expect(page.locator("#stages")).not_to_have_class("stale")


def test_a_run_is_cancelled(demo: Demo, at: Visit) -> None:
    """Escape cancels both runs, which leave no partial folder; the earlier arms are shown again, with their knobs."""
    page = at()
    before, arms, waiting = demo.experiments(), shown(page), _of_jobs(demo)
    _knob(page, "DELAY").select_option("20ms")
    expect(page.locator("#cancel")).to_be_visible(timeout=RUN_MS)
    until(lambda: bool(list(demo.lab.results.glob("*.partial"))), limit_s=_SETTLE_S)
    page.keyboard.press("Escape")
    expect(page.locator("#said")).to_have_text("Cancelled.")
    expect(page.locator("#cancel")).to_be_hidden()
    until(lambda: _of_jobs(demo) <= waiting, limit_s=_SETTLE_S)
    until(lambda: not list(demo.lab.results.glob("*.partial")), limit_s=_SETTLE_S)
    assert shown(page) == arms
    expect(_knob(page, "DELAY")).to_have_value("300ms")
    assert demo.experiments() == before


def _of_jobs(demo: Demo) -> set[str]:
    """Return the command lines of the processes that carry out jobs, or wait for one."""
    return {line for line in demo.lab.processes() if "priolab.experiments.command_server" in line}


@pytest.mark.usefixtures("slides")
def test_the_story_is_told_with_keys(demo: Demo, at: Visit) -> None:
    """Keys go through all steps, forward and back; afterwards the knobs are those of the last step."""
    page = at()
    before = demo.experiments()
    page.keyboard.press("p")
    for number, step in enumerate(steps(), start=1):
        expect(page.locator(".step-title")).to_have_text(step.title)
        expect(page.locator(".step-count")).to_have_text(f"{number} of {len(steps())}")
        _becomes(page, list(step.names))
        _figures_are_those_of_the_command_line(demo, page)
        expect(page.locator(".link-facts")).to_have_text(LINK)
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Home")
    expect(page.locator(".step-title")).to_have_text(steps()[0].title)
    page.keyboard.press("End")
    expect(page.locator(".step-title")).to_have_text(closing().title)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".step-title")).to_have_text(steps()[-2].title)
    page.keyboard.press("ArrowRight")
    _becomes(page, list(steps()[-1].names))
    leave_story(page)
    expect(page.locator(".step-title")).to_be_hidden()
    expect(_knob(page, "The arms differ in")).to_have_value(steps()[-1].compare)
    assert demo.experiments() == before


def test_the_player_is_driven_with_keys(at: Visit) -> None:
    """The player's keys work wherever the focus is, except keys that the focused control uses."""
    page = at()
    clock, factor = page.locator(".clock"), page.locator(".factor")
    page.keyboard.press("e")
    end = clock.inner_text()
    assert float(end.removesuffix(" s")) > 5
    page.keyboard.press("0")
    expect(clock).to_have_text("0.00 s")
    page.locator(".scrub").focus()
    page.keyboard.press(";")
    assert 0 < float(clock.inner_text().removesuffix(" s")) < 1
    page.keyboard.press("+")
    expect(factor).to_have_text("3×")  # noqa: RUF001
    page.keyboard.press("End")
    expect(clock).to_have_text(end)
    page.keyboard.press("Space")
    expect(page.locator(".play")).to_have_text("Pause")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(at: Visit, scheme: str) -> None:
    """The page has the machine's colour scheme until a key changes it."""
    page = at(color_scheme=scheme)
    assert _is_bright(page) == (scheme == "light")
    page.keyboard.press("t")
    assert _is_bright(page) == (scheme == "dark")


def _is_bright(page: Page) -> bool:
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return int(re.findall(r"\d+", colour)[0]) > _BRIGHT


@pytest.mark.parametrize("presenting", [False, True])
def test_every_control_is_reached_without_a_pointer(at: Visit, *, presenting: bool) -> None:
    """Tab reaches every control, and the control with the focus has a visible outline."""
    page = at()
    if presenting:
        page.keyboard.press("p")
        _becomes(page, list(steps()[0].names))
        page.wait_for_timeout(_DRAWN_MS)
    else:
        page.get_by_text("other knobs of the link").click()
    page.evaluate("""() => {
        const controls = "a[href], button, select, input, textarea, summary, .grip, .bet";
        window.controls = [...document.querySelectorAll(controls)]
            .filter((each) => each.checkVisibility() && !each.disabled);
        document.activeElement.blur();
    }""")
    count = page.evaluate("controls.length")
    reached, plain = set(), []
    for _ in range(_MOST_STOPS):
        page.keyboard.press("Tab")
        number, outline, text = page.evaluate("""() => {
            const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
            const visible = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
            return [controls.indexOf(document.activeElement), visible, document.activeElement.outerHTML.slice(0, 90)];
        }""")
        reached.add(number)
        if number >= 0 and not outline:
            plain.append(text)
    assert plain == []
    assert reached >= set(range(count)), [
        page.evaluate(f"controls[{n}].outerHTML") for n in set(range(count)) - reached
    ]
    assert count > (4 if presenting else 15)


@pytest.mark.usefixtures("slides")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_accessibility_checker_finds_nothing(at: Visit, axe_script: Path, scheme: str) -> None:
    """axe finds nothing in the modes Explore and Present, in the help, and while an error is shown."""
    page = at(color_scheme=scheme, bypass_csp=True, refuses=True)
    page.get_by_text("other knobs of the link").click()
    scrub(page, 0.3)
    assert violations(page, axe_script) == []
    _knob(page, "LOSS").fill("half")
    _knob(page, "LOSS").press("Enter")
    expect(page.locator("#status.wrong")).to_be_visible()
    assert violations(page, axe_script) == []
    page.locator("#keys").click()
    assert violations(page, axe_script) == []
    page.keyboard.press("Escape")
    spoilt = next(each for each in offers()["scenarios"] if each["card"])
    _knob(page, "Scenario").select_option(spoilt["name"])
    expect(page.locator(".card")).to_contain_text(spoilt["card"]["tell"][:20])
    expect(page.locator("#cancel")).to_be_visible(timeout=RUN_MS)
    page.keyboard.press("Escape")
    expect(page.locator("#stages.stale")).to_have_count(0)
    assert violations(page, axe_script) == []
    page.locator("#mode").click()
    _becomes(page, list(steps()[0].names))
    assert violations(page, axe_script) == []


@pytest.mark.usefixtures("slides")
@pytest.mark.parametrize(("width", "height"), STAGES)
def test_what_is_presented_can_be_read(at: Visit, width: int, height: int) -> None:
    """In every step of the story no text overlaps another, leaves the window, is cut off, or is too small."""
    page = at(width=width, height=height)
    page.keyboard.press("p")
    for step in steps():
        _becomes(page, list(step.names))
        assert layout_faults(page, smallest_px=LARGE * height, parts=INSTANTS) == [], step.title
        page.keyboard.press("ArrowRight")


def test_the_story_is_true(slides: Path) -> None:
    """Each step's claims hold for the arms that were measured for the step."""
    page = (slides / "index.html").read_text()
    (told,) = re.findall(r'<script type="application/json" id="told">(.*?)</script>', page, re.DOTALL)
    document = json.loads(told)
    assert len(document["slides"]) == len(TOLD)
    for step, holds in zip(document["slides"], TOLD, strict=True):
        holds(*(document["arms"][key]["arm"] for key in step["shown"]))


@pytest.mark.release
def test_slides_need_nobody(slides: Path, browser: Browser, axe_script: Path) -> None:
    """The exported file, opened from disk without a network, shows all steps with their arms and figures."""
    address = (slides / "index.html").as_uri()
    with visit(browser, address, width=1920, height=1080, offline=True, bypass_csp=True) as page:
        for step in steps():
            expect(page.locator(".step-title")).to_have_text(step.title)
            expect(page.locator(".arm-name")).to_have_text(list(step.names))
            assert all(len(seen) >= 4 for seen in figures(page))
            expect(page.locator(".link-facts")).to_have_text(LINK)
            assert layout_faults(page, smallest_px=LARGE * 1080, parts=INSTANTS) == [], step.title
            page.keyboard.press("ArrowRight")
        expect(page.locator(".step-title")).to_have_text(closing().title)
        expect(page).to_have_title(closing().title)
        page.keyboard.press("?")
        expect(page.locator("#help dt")).to_contain_text(["Space", "n, N"])
        page.keyboard.press("Escape")
        expect(page.locator("#help")).to_be_hidden()
        page.keyboard.press("ArrowLeft")
        expect(page.locator(".step-title")).to_have_text(steps()[-1].title)
        navigate(page, page.reload)
        expect(page.locator(".step-title")).to_have_text(steps()[-1].title)
        with page.context.expect_page() as opening:
            page.keyboard.press("s")
        expect(opening.value.locator("#say")).to_have_text(joined(steps()[-1].say))
        opening.value.keyboard.press("ArrowRight")
        expect(page.locator(".step-title")).to_have_text(closing().title)
        assert len(re.findall(rb"/Type */Page\b", page.pdf(prefer_css_page_size=True))) == len(steps()) + 1
        expect(page.locator(".closing-points li")).to_have_text([each.words for each in closing().points])
        assert violations(page, axe_script) == []
        expect(page.locator("#stages figcaption")).to_contain_text(ADDRESS)
        assert _codes(page.screenshot()) == [ADDRESS]
        page.emulate_media(media="print")
        assert _codes(page.locator("#printed figure").screenshot()) == [ADDRESS]


def _codes(picture: bytes) -> list[str]:
    """Return the texts of the QR codes in a picture."""
    return [each.text for each in read_barcodes(Image.open(io.BytesIO(picture)))]
