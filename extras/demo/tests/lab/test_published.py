"""Published files in browsers: opened from disk, they play and compare without a server and without a network."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from priolab.experiments.scenario.knobs import KNOBS
from priolab.extras.demo.recorded import in_tree
from priolab.extras.demo.recording import EXPLORE
from priolab.extras.demo.story import steps
from priolab.extras.demo.tests.lab.in_firefox import LOAD_S as _LOAD_S
from priolab.extras.demo.tests.lab.in_firefox import firefox
from tests.support.visits import drawing_faults, figures, layout_faults, scrub, shown, violations, visit

_WINDOWS = ((390, 844), (844, 390), (1024, 768), (1280, 800), (1920, 1080), (3840, 2160))
_SMALLEST_PX = 10
_READ_WINDOWS = ((390, 844), (844, 390), (1280, 800))
_DRAWN_MS = 80
_INSTANTS = (0.05, 0.2, 0.35, 0.8, 1.0)
_PAIRS = (("1M", "524288"), ("262144", "65536"), ("32768", "8192"), ("4096", "1024"))
_FILMS = (
    "?explore",
    *(f"?step={number}" for number in range(1, len(steps()) + 1)),
    *(f"?above={one}&below={other}" for one, other in _PAIRS),
)
"""The addresses of films that together show each recorded arm."""
_PHONE_PX = 500
_SETTLED_MS = 500


def _runs(knobs: str) -> list[str]:
    return [f"{arm['experiment']}/{arm['run']}" for arm in in_tree().arms if arm["knobs"]["LOWAT"] == knobs]


@pytest.mark.parametrize(("width", "height"), _WINDOWS)
def test_explore_at_every_size(browser: Browser, width: int, height: int) -> None:
    """The page opens with both films, which end with their figures; no text overlaps another or is cut off.

    On a phone the page scrolls, downwards alone.
    """
    with visit(browser, EXPLORE.as_uri() + "?explore", width=width, height=height, offline=True) as page:
        expect(page.locator(".arm-name")).to_have_text(["no limit", "limit 128 KiB"])
        scrub(page, 1)
        assert [seen["first_byte_ms"] for seen in figures(page)] == ["6.69 s", "2.96 s"]
        if min(width, height) < _PHONE_PX:
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        else:
            assert layout_faults(page, smallest_px=_SMALLEST_PX, parts=(0.1, 0.5, 1)) == []


@pytest.mark.parametrize("address", _FILMS)
def test_no_text_is_over_a_bar(browser: Browser, address: str) -> None:
    """In each film of the file, at several instants, each text is beside bars and other texts. Each arm has a bet."""
    with visit(browser, EXPLORE.as_uri() + address, offline=True) as page:
        expect(page.locator(".bet")).to_have_count(2)
        for bet in page.locator(".bet").all():
            bet.focus()
            page.keyboard.press("ArrowLeft")
        for width, height in _READ_WINDOWS:
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_timeout(_DRAWN_MS)
            assert drawing_faults(page, _INSTANTS) == [], width


def test_explore_is_explored(browser: Browser, axe_script: Path) -> None:
    """The slider shows each recorded stop at once. A value that was not recorded is greyed; an address that names one
    leads to the nearest film, and the page says so.
    """
    with visit(browser, EXPLORE.as_uri() + "?explore", width=1280, height=800, offline=True, bypass_csp=True) as page:
        slider = page.locator("input[data-arm='1']")
        slider.focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator(".arm-name")).to_have_text(["no limit", "limit 64 KiB"])
        assert shown(page)[1] in _runs("65536")
        rates = page.locator("[data-focus='RATE-0'] option")
        assert rates.count() > 1
        greyed = [each.is_disabled() for each in rates.all()]
        assert greyed.count(False) == 1, "with 64 KiB only one rate was recorded"
        with page.context.expect_page() as opening:
            page.keyboard.press("s")
        expect(opening.value.locator("#step")).to_have_text("exploring")
        opening.value.close()
        page.get_by_text("How this was measured").click()
        for text in in_tree().about.values():
            expect(page.locator(".origin")).to_contain_text(text)
        assert violations(page, axe_script) == []
        page.goto(f"{EXPLORE.as_uri()}?below=12345")
        expect(page.locator("#said")).to_have_text(
            "This file has no film of LOWAT=12345; these are the nearest that it has."
        )
        expect(page.locator(".arm-name")).to_have_text(["no limit", "limit 16 KiB"])


def test_no_choice_leads_to_nothing(browser: Browser) -> None:
    """Each knob that the arms may differ in has films, and so has each address; the page says what it has left out."""
    with visit(browser, EXPLORE.as_uri() + "?explore", width=1280, height=800, offline=True) as page:
        expect(page.locator(".arm-name")).to_have_count(2)
        compare = page.get_by_label("The arms differ in", exact=True)
        names = compare.locator("option").all_inner_texts()
        assert {"LOWAT", "PRIORITY", "QUEUE", "SERVER"} == set(names)
        for name in names:
            compare.select_option(name)
            expect(page.locator(".arm-name")).to_have_count(2)
            expect(compare).to_have_value(name)
            page.wait_for_timeout(_SETTLED_MS)
            slider = page.locator("#panel input[data-arm]").last
            for key in ("End", "Home"):
                slider.press(key)
                expect(page.locator(".arm-name")).to_have_count(2)
        for query, said in (
            ("?RATE=64kbps", "no film of RATE=64kbps"),
            ("?differ=CC&above=cubic&below=bbr", "no film of LOWAT=131072, CC=bbr"),
            ("?differ=QUEUE&above=25&below=100", "no film of LOWAT=131072, QUEUE=100"),
            ("?step=99", "Unknown in this address: step=99."),
            ("?WATER=wet&differ=mood", "Unknown in this address: WATER, differ=mood."),
        ):
            page.goto(EXPLORE.as_uri() + query)
            expect(page.locator("#said")).to_contain_text(said)
            expect(page.locator(".arm-name")).to_have_count(2)


def test_the_film_begins_again(browser: Browser) -> None:
    """At its end, Play starts the film again; the line of LOWAT can be moved by keys, and the film goes back."""
    with visit(browser, EXPLORE.as_uri() + "?explore", width=1280, height=800, offline=True) as page:
        scrub(page, 1)
        page.locator(".play").click()
        expect(page.locator(".clock")).to_have_text(re.compile(r"^[012]\."))
        scrub(page, 1)
        grip = page.locator(".grip[data-arm='1']")
        grip.focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator(".arm-name")).to_have_text(["no limit", "limit 64 KiB"])
        expect(page.locator(".clock")).to_have_text(re.compile(r"^[0123]\."))
        expect(page.locator(".play")).to_have_text("Pause")


def test_words_are_explained(browser: Browser) -> None:
    """A pointer that hovers over a word, and the focus, show its sentence, and the film marks what is meant."""
    with visit(browser, EXPLORE.as_uri() + "?explore", width=1280, height=800, offline=True) as page:
        scrub(page, 0.06)
        tip = page.locator(".tip")
        page.locator(".lane-name.others").first.hover()
        expect(tip).to_contain_text("This colour is the image")
        expect(page.locator(".pointed.fill.others").first).to_be_attached()
        page.mouse.move(5, 5)
        expect(tip).to_be_hidden()
        page.locator(".arm-name [data-said]").first.focus()
        page.keyboard.press("ArrowRight")
        expect(tip).to_contain_text("The front is the server")
        expect(page.locator(".box.front.pointed")).to_have_count(1)
        page.keyboard.press("Escape")
        expect(tip).to_be_hidden()


def test_knobs_without_recordings_say_so(browser: Browser) -> None:
    """Every knob is listed in its group with its meaning; one that has no other recording is greyed, and says why."""
    with visit(browser, EXPLORE.as_uri() + "?explore", width=1280, height=800, offline=True) as page:
        expect(page.locator(".arm-name")).to_have_count(2)
        for fold in page.locator(".group summary").all():
            fold.click()
        values = {
            name: {arm["knobs"].get(name, knob.default) for arm in in_tree().arms} for name, knob in KNOBS.items()
        }
        for name, recorded in values.items():
            row = page.locator(f".knob:has([data-focus='{name}-0'])")
            expect(row.locator(".meaning")).to_be_visible()
            control = row.locator("input, select")
            if len(recorded) > 1:
                expect(control).to_be_enabled()
                continue
            expect(control).to_be_disabled()
            expect(row.locator(".meaning")).to_contain_text(f"only {recorded.pop()} was recorded in this file")


def test_calm_visitors_begin_the_film_themselves(browser: Browser) -> None:
    """If less motion is asked for, the film stands, and no fade hides a film while the line of LOWAT is moved."""
    address = EXPLORE.as_uri() + "?explore"
    with visit(browser, address, width=1280, height=800, offline=True, reduced_motion="reduce") as page:
        expect(page.locator(".arm-name")).to_have_count(2)
        expect(page.locator(".calm")).to_be_visible()
        page.locator(".grip[data-arm='1']").press("ArrowRight")
        expect(page.locator(".fading")).to_have_count(0)
        page.wait_for_timeout(_SETTLED_MS)
        expect(page.locator(".clock")).to_have_text("0.00 s")
        assert page.evaluate("document.getAnimations().filter((each) => each.playState === 'running').length") == 0
        page.locator(".play").click()
        expect(page.locator(".calm")).to_be_hidden()
        expect(page.locator(".play")).to_have_text("Pause")


def test_lowat_is_dragged(browser: Browser) -> None:
    """The line of LOWAT is dragged and moved by keys; the film of each recorded stop appears at the same instant.

    So it does in the story, whose next step has its own values again.
    """
    with visit(browser, EXPLORE.as_uri() + "?explore", width=1280, height=800, offline=True) as page:
        expect(page.locator("#comparison")).to_contain_text("Above: no limit. Below: limit 128 KiB. The front, which")
        scrub(page, 0.5)
        clock = page.locator(".clock").inner_text()
        grip = page.locator(".grip[data-arm='1']")
        names = page.locator(".arm-name")
        box = page.locator(".box.socket").nth(1).bounding_box()
        line = grip.locator(".handle").bounding_box()
        assert box
        assert line
        middle = box["y"] + box["height"] / 2
        page.mouse.move(line["x"] + line["width"] / 2, middle)
        page.mouse.down()
        passed = set()
        for step in range(20):
            page.mouse.move(line["x"] - step / 20 * (line["x"] - box["x"]), middle)
            passed.add(names.nth(1).inner_text())
        page.mouse.up()
        assert {"limit 256 KiB", "limit 512 KiB", "limit 1,024 KiB"} <= passed
        expect(names).to_have_text(["no limit", "no limit"])
        expect(page.locator(".clock")).to_have_text(clock)
        page.wait_for_timeout(_SETTLED_MS)
        grip.focus()
        for _ in range(4):
            page.keyboard.press("ArrowRight")
        expect(names).to_have_text(["no limit", "limit 128 KiB"])
        expect(grip).to_be_focused()
        expect(grip).to_have_attribute("aria-valuetext", "limit 128 KiB")
        page.keyboard.press("p")
        page.keyboard.press("End")
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        expect(names).to_have_text(list(steps()[2].names))
        page.locator(".grip[data-arm='1']").focus()
        page.keyboard.press("ArrowRight")
        expect(names).to_have_text(["no limit", "limit 64 KiB"])
        page.keyboard.press("End")
        page.keyboard.press("Home")
        expect(names).to_have_text(list(steps()[0].names))


def test_labels_of_the_curve_are_apart(browser: Browser) -> None:
    """Whatever two limits are shown, the curve's labels do not overlap, and none leaves the drawing."""
    with visit(browser, EXPLORE.as_uri() + "?explore", width=1280, height=800, offline=True) as page:
        expect(page.locator(".arm-name")).to_have_count(2)
        assert page.evaluate(_LABELS) == []


@pytest.mark.parametrize(("width", "height"), [(1366, 768), (1024, 768), (820, 1180)])
def test_both_films_of_a_step_are_in_view(browser: Browser, width: int, height: int) -> None:
    """On a laptop, a projector and a tablet, both films of each step are in view together, and their strip, too."""
    with visit(browser, EXPLORE.as_uri() + "?step=1", width=width, height=height, offline=True) as page:
        for step in steps():
            expect(page.locator(".step-title")).to_have_text(step.title)
            for part in (0.1, 1):
                scrub(page, part)
                below = "Math.max(...all.map((each) => each.getBoundingClientRect().bottom))"
                lowest = page.locator(".arm, .gap").evaluate_all(f"(all) => {below}")
                assert lowest <= page.locator("#player").evaluate("(each) => each.getBoundingClientRect().top") + 1
            page.locator(".scrub").blur()
            page.keyboard.press("ArrowRight")


def test_a_bet_is_compared_with_the_film(browser: Browser) -> None:
    """A pin on the time axis, put there by a click or by keys, is compared once the film has shown the instant."""
    with visit(browser, EXPLORE.as_uri() + "?explore", width=1280, height=800, offline=True) as page:
        expect(page.locator(".arm-name")).to_have_count(2)
        page.keyboard.press("0")
        area = page.locator(".bet-area").first.bounding_box()
        assert area
        page.mouse.click(area["x"] + area["width"] / 4, area["y"] + area["height"] / 2)
        texts = page.locator(".bet-text")
        expect(texts.first).to_have_text(re.compile(r"^bet 3\.\d\d s$"))
        page.locator(".bet").nth(1).focus()
        page.keyboard.press("ArrowLeft")
        expect(texts.nth(1)).to_have_text(re.compile(r"^bet 6\.\d\d s$"))
        for part in (0.3, 0.45, 0.8):
            assert layout_faults(page, smallest_px=_SMALLEST_PX, parts=(part,)) == []
        scrub(page, 1)
        expect(texts.first).to_have_text(re.compile(r"^bet 3\.\d\d s: 3\.\d\d s too early$"))
        expect(texts.nth(1)).to_have_text(re.compile(r"^bet 6\.\d\d s: 3\.\d\d s too late$"))


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 800), (3840, 2160)])
@pytest.mark.parametrize("query", ["?explore", "?step=3"])
def test_the_network_is_magnified(browser: Browser, query: str, width: int, height: int) -> None:
    """The network's title has the factor of its scale, whatever the width, in the story and outside of it."""
    with visit(browser, EXPLORE.as_uri() + query, width=width, height=height, offline=True) as page:
        expect(page.locator(".arm-name")).to_have_text(["no limit", "limit 128 KiB"])
        scrub(page, 0.04)  # the kernel has nothing of the script
        found = re.search(r"×([\d.]+)$", str(page.locator(".title.link").first.text_content()))  # noqa: RUF001
        assert found
        kernel, network = (
            str(page.locator(f".bytes.{place}").first.text_content()).partition(" ") for place in ("socket", "link")
        )
        assert (kernel[2], network[2]) == ("KiB", "KiB")
        spans = page.locator(".places").first.locator("path.fill.others").evaluate_all(_SPANS)
        factor = spans[1] / float(network[0]) / (spans[0] / float(kernel[0]))
        assert float(found[1]) == pytest.approx(factor, rel=0.05)


_LABELS = """
() => {
  const faults = [];
  const sliders = () => document.querySelectorAll("#panel input[type=range]");
  const move = (slider, value) => {
    slider.value = String(value);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const stops = Number(sliders()[0].max) + 1;
  for (let pair = 0; pair < stops ** 2; pair += 1) {
    [pair % stops, Math.floor(pair / stops)].forEach((value, arm) => move(sliders()[arm], value));
    const curve = document.querySelector(".curve").getBoundingClientRect();
    const labels = [...document.querySelectorAll(".curve text")];
    const boxes = labels.map((each) => each.getBoundingClientRect());
    boxes.forEach((one, index) => {
      const text = `${labels[index].textContent} at ${pair}`;
      if (one.left < curve.left - 1 || one.right > curve.right + 1) faults.push(`${text} leaves the drawing`);
      for (const other of boxes.slice(index + 1)) {
        const beside = one.right <= other.left + 1 || other.right <= one.left + 1;
        if (!beside && one.top < other.bottom - 3 && other.top < one.bottom - 3) faults.push(`${text} overlaps`);
      }
    });
  }
  return faults;
}
"""
_SPANS = "(all) => all.map((each) => each.getBBox().width)"


@pytest.mark.needs("firefox")
def test_explore_in_firefox(tmp_path: Path) -> None:
    """Firefox opens the file, plays both films, and requests nothing else. In a phone's window it has the slider below
    one film.
    """
    requested: list[str] = []
    with firefox(tmp_path, requested) as opened:
        context = opened.command("browsingContext.getTree", _LOAD_S, maxDepth=0)["contexts"][0]["context"]
        opened.command(
            "browsingContext.navigate", _LOAD_S, context=context, url=EXPLORE.as_uri() + "?explore", wait="complete"
        )

        def called(function: str) -> Any:
            """Returns what the function returns, which is JSON."""
            how = {"functionDeclaration": function, "awaitPromise": True, "target": {"context": context}}
            said = opened.command("script.callFunction", _LOAD_S, **how)
            assert said["type"] == "success", said
            return json.loads(said["result"]["value"])

        names, first, second = called(_PLAYED)
        opened.command("browsingContext.setViewport", _LOAD_S, context=context, viewport={"width": 390, "height": 844})
        assert called(_ON_A_PHONE) == []
    assert names == ["no limit", "limit 128 KiB"]
    assert float(second.split()[0]) > float(first.split()[0])
    assert {url.partition(":")[0] for url in requested} <= {"file", "data", "blob"}


_CHECKER = Path(__file__).with_name("phone_checker.js").read_text()
_ON_A_PHONE = f"""
async () => {{
  await new Promise((drawn) => setTimeout(drawn, {_SETTLED_MS}));
  return JSON.stringify((\n{_CHECKER})());
}}
"""
_PLAYED = """
async () => {
  const until = async (condition) => {
    while (!condition()) await new Promise((go) => setTimeout(go, 50));
  };
  const clock = () => document.querySelector(".clock")?.textContent ?? "";
  await until(() => document.querySelectorAll(".arm-name").length === 2 && parseFloat(clock()) > 0);
  const first = clock();
  await until(() => clock() !== first);
  return JSON.stringify([[...document.querySelectorAll(".arm-name")].map((each) => each.textContent), first, clock()]);
}
"""
