"""docs/guide/talk.md and tutorial.md, followed literally: what they say to do can be done, and gives what they say."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from priolab.common.home import ROOT
from priolab.extras.demo.choices import LOWATS
from priolab.extras.demo.story import steps
from priolab.extras.demo.tests.demonstration import Demo, demonstration
from priolab.extras.demo.tests.lab.exported import copy_story
from tests.support.capabilities import needing
from tests.support.lab import make_lab, priolab_here
from tests.support.shared_runs import Runs
from tests.support.visits import RUN_MS, figures, scrub, shown, visit

pytestmark = pytest.mark.usefixtures("guest", "chromium")

_DOCS = ROOT / "docs/guide"
TALK = (_DOCS / "talk.md").read_text()
TUTORIAL = (_DOCS / "tutorial.md").read_text()
_PREPARE_S = 240.0


def _rows(heading: str) -> list[list[str]]:
    """Return the rows of the table below a heading of docs/guide/talk.md, each as its cells."""
    section = TALK.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def _section(number: int) -> str:
    """Return a numbered section of docs/guide/tutorial.md, on one line."""
    return " ".join(TUTORIAL.partition(f"\n## {number}. ")[2].partition("\n## ")[0].split())


def _after(text: str) -> list[str]:
    """Return the times that a text gives as `after 1.23 s`, in order."""
    return [f"{found} s" for found in re.findall(r"after ([\d.]+) s", text)]


@dataclass(frozen=True, kw_only=True)
class Prepared(Demo):
    """The demo that the talk's command starts. copied: the experiments in its results folder that it did not run."""

    copied: AbstractSet[str]

    def experiments(self) -> set[str]:
        """Return the names of the experiments that the demo has run."""
        return super().experiments() - self.copied


@pytest.fixture(scope="module")
@needing("haproxy")
def prepared(guest: None, run: Runs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:  # noqa: ARG001
    """Yields the demo that the talk's command starts. Some of the story's arms have been run before."""
    assert "\npriolab demo --prepare" in TALK
    lab = make_lab(tmp_path_factory.mktemp("talk"))
    copied = copy_story(run, lab.results)
    with demonstration(lab, "--prepare", "FABRIC=virtual", idle=False, begin_s=_PREPARE_S) as begun:
        yield Prepared(**vars(begun), copied=copied)


def _arms(demo: Demo, page: Page) -> list[Mapping[str, Any]]:
    """Return both arms that the page shows, as `priolab show --json` has them."""
    found = []
    for named in shown(page):
        experiment, _, run = named.partition("/")
        done = priolab_here("show", str(demo.lab.results / experiment), "--json")
        assert done.returncode == 0, done.stderr
        found.append(next(each for each in json.loads(done.stdout)["arms"] if f"{each['name']}.1" == run))
    return found


def _begins(page: Page) -> list[str]:
    """Return when the script begins in each arm, as the page says at the end of the film."""
    scrub(page, 1)
    page.locator(".scrub").blur()
    return [each["first_byte_ms"] for each in figures(page)]


def _near(times: Sequence[str]) -> list[str]:
    """Return times to a tenth of a second. Another version of a program may give some milliseconds more or less."""
    return [f"{float(time.removesuffix(' s')):.1f} s" for time in times]


def test_preparing_says_that_it_is_ready(prepared: Prepared) -> None:
    """`priolab demo --prepare` runs each arm of the story and of the slider once, unless it is there, and says so."""
    said = prepared.log.read_text()
    assert f"ready: {len(steps())} of {len(steps())} steps of the story, {len(LOWATS)} stops of the slider" in said
    assert said.index("ready: ") < said.index("\nopen http://")
    assert re.search(r"load \d of 3", said), "it shows its progress"
    assert len(prepared.experiments()) == 1


def test_guess_the_number(prepared: Prepared, browser: Browser) -> None:
    """At minute 7 every stop of the slider appears at once, the curve has all stops, and nothing is run."""
    (row,) = (cells for cells in _rows("Twenty minutes") if cells[1] == "guess the number")
    assert "drag the slider of the lower arm" in row[2]
    with visit(browser, prepared.address) as page:
        shown(page)
        expect(page.locator(".curve-name")).to_have_text("script begins (12 of 12 run)", timeout=RUN_MS)
        slider = page.get_by_label("LOWAT, below", exact=True)
        for _ in LOWATS[LOWATS.index("131072") :]:
            slider.press("ArrowRight")
        expect(page.locator(".arm-name").last).to_have_text("limit set by the tuner")
        expect(page.locator("#stages.stale")).to_have_count(0)
    assert len(prepared.experiments()) == 1


@pytest.mark.release
def test_why_few_people_notice(prepared: Prepared, browser: Browser) -> None:
    """At minute 11 the scenario and its comparison show the times that the talk gives: early, and seconds late."""
    (row,) = (cells for cells in _rows("Twenty minutes") if cells[1] == "why few people notice the effect")
    early, late = _after(row[2])
    (title,) = re.findall(r"scenario \*([^*]+)\*", row[2])
    (button,) = re.findall(r"[Pp]ress \*([^*]+)\*", row[2])
    with visit(browser, prepared.address) as page:
        shown(page)
        scenario = page.get_by_label("Scenario", exact=True)
        (option,) = (each for each in scenario.locator("option").all_inner_texts() if each.startswith(title))
        scenario.select_option(label=option)
        expect(page.locator(".arm-name")).to_have_text(["no limit", "limit 128 KiB"])
        _shown_anew(page)
        assert _near(_begins(page)) == [early, early]
        page.get_by_role("button", name=button).click()
        expect(page.locator("#stages:not(.stale) .arm-name")).to_have_text(
            ["SNDBUF stock", "SNDBUF 4M"], timeout=RUN_MS
        )
        _shown_anew(page)
        assert [arm["scenario"]["lowat"] for arm in _arms(prepared, page)] == [None, None]
        assert _near(_begins(page)) == [early, late]


def _shown_anew(page: Page) -> None:
    """Wait until the present wish is shown, which takes a run."""
    expect(page.locator("#status")).to_be_hidden(timeout=RUN_MS)
    expect(page.locator("#stages.stale")).to_have_count(0, timeout=RUN_MS)


@pytest.mark.release
def test_the_tutorials_page(browser: Browser, tmp_path: Path) -> None:
    """Section 2: a film plays at once; the space bar pauses it; slider and QUEUE give the times that the text gives."""
    text = _section(2)
    unlimited, limited, smaller = _after(text)
    with (
        demonstration(make_lab(tmp_path), "FABRIC=virtual", idle=False) as demo,
        visit(browser, demo.address) as page,
    ):
        expect(page.locator("#mark")).to_be_visible()
        expect(page.locator(".play")).to_have_text("Pause")
        page.keyboard.press("Space")
        expect(page.locator(".play")).to_have_text("Play")
        page.keyboard.press("Space")
        expect(page.locator(".play")).to_have_text("Pause")
        page.keyboard.press("0")
        shown(page)
        expect(page.locator("#mark")).to_be_hidden()
        expect(page.locator(".arm-name")).to_have_text(re.findall(r"arm, \*([^*]+)\*", text))
        assert _near(_begins(page)) == [unlimited, limited]
        slider = page.get_by_label("LOWAT, below", exact=True)
        before = LOWATS.index("16384") - LOWATS.index("131072")
        for _ in range(before):
            slider.press("ArrowRight")
        expect(page.locator("#stages:not(.stale) .arm-name").last).to_have_text("limit 16 KiB", timeout=RUN_MS)
        _shown_anew(page)
        assert _near(_begins(page)) == [unlimited, smaller]
        for _ in range(before):
            slider.press("ArrowLeft")
        expect(page.locator("#stages:not(.stale) .arm-name").last).to_have_text("limit 128 KiB", timeout=300)
        page.get_by_label("The arms differ in", exact=True).select_option("QUEUE")
        expect(page.locator("#stages:not(.stale) .arm-name")).to_have_text(
            [f"queue of {packets}" for packets in ("25", "1000")], timeout=RUN_MS
        )
        assert "a queue of 25 packets with one of 1000" in text
        _shown_anew(page)
        assert [arm["scenario"]["lowat"] for arm in _arms(demo, page)] == [131072, 131072]


def _commands(number: int) -> list[list[str]]:
    """Return the words of each `make experiment` in a section's shell blocks."""
    section = TUTORIAL.partition(f"\n## {number}. ")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    lines = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]
    return [words[2:] for words in lines if words[:2] == ["make", "experiment"]]


def test_the_tutorials_first_experiment(run: Runs) -> None:
    """Section 1: the script existed 0.2 s after its request; the ledgers are as the text says."""
    (words,) = _commands(1)
    done = run(*words)
    control, limited = done.arm("control"), done.arm("lowat-131072")
    for arm in (control, limited):
        resources = arm["loads"][-1]["resources"]  # the origin has the image as soon as both requests arrive
        assert resources["script"]["available_ms"] - resources["image"]["available_ms"] == pytest.approx(200, abs=1)
    assert control["ledger"]["parts_ms"]["kernel_unsent"] > 0.8 * control["ledger"]["wait_ms"]
    assert limited["ledger"]["parts_ms"]["front_pending"] > 0.5 * limited["ledger"]["wait_ms"]


@pytest.mark.release
def test_the_tutorials_conditions(run: Runs) -> None:
    """Section 3: each command removes one condition of the effect, as its comment says."""
    fast, fresh, swapped, deaf = (run(*words) for words in _commands(3))
    for done in (fast, fresh, swapped, deaf):
        assert done.code == 0, done.err
    treatment = "lowat-131072"
    assert fast.arm("control")["verdict"] == fast.arm(treatment)["verdict"] == "nothing-to-prioritize"
    assert fresh.arm("control")["verdict"] == "kept"
    assert fresh.arm("control")["warnings"], "the note at the end says why"
    assert swapped.arm("control")["verdict"] == "kept"
    assert deaf.arm(treatment)["verdict"] != "kept"
    reloaded = run("SCENARIO=first-load", "RELOADS=4")
    assert "`RELOADS=4`" in _section(3)
    late = reloaded.arm("control")["first_byte_ms"] - reloaded.arm(treatment)["first_byte_ms"]
    assert late > 1000
