"""The explanation in Firefox: scrolled by the wheel, dragged by the finger, at several sizes, with the checks of
Chromium.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from priolab.extras.demo.recording import EXPLORE
from priolab.extras.demo.tests.explained import ALL_SIZES, SECTIONS, SPEED, THOROUGH, strings, table, tell_speed
from priolab.extras.demo.tests.lab.in_firefox import LOAD_S, firefox
from priolab.extras.demo.tests.lab.reader import ENDS
from tests.page import axe

pytestmark = pytest.mark.needs("axe", "firefox")

_SIZES = ALL_SIZES if THOROUGH else ((1366, 768),)
_STEP_MS = 20
_STEPS = 6
_FILMS = [each for each in SECTIONS[:-1] if each != "bet"] if THOROUGH else ["start"]
_NEAR_PX = 40
_CHECKER = Path(__file__).with_name("explanation_checker.js").read_text()
_FAULTS = f"(facts) => JSON.stringify((\n{_CHECKER})(JSON.parse(facts)))"
_BUILT = """
async () => {
  while (!document.querySelector("#explanation.built")) await new Promise((go) => setTimeout(go, 50));
  return JSON.stringify(document.documentElement.lang);
}
"""
_IS_AT = """
async (address) => {
  while (!location.href.startsWith(address)) await new Promise((go) => setTimeout(go, 50));
  return "0";
}
"""
_TOP = "(id) => JSON.stringify(Math.round(document.getElementById(id).getBoundingClientRect().top))"
_ENDS = f"(...asked) => JSON.stringify(({ENDS.strip()})(asked).flat().map(Math.round))"
_MIDDLE = """
(selector) => {
  const each = document.querySelector(selector);
  each.scrollIntoView({ block: "nearest" });
  const { left, top, width, height } = each.getBoundingClientRect();
  return JSON.stringify([Math.round(left + width / 2), Math.round(top + height / 2)]);
}
"""
_BEYOND = """
(each) => JSON.stringify(Math.round(document.querySelector(each).getBoundingClientRect().bottom - innerHeight))
"""
_SETTLED = """
async () => {
  for (let last = -1; last !== scrollY; ) {
    last = scrollY;
    await new Promise((go) => setTimeout(go, 100));
  }
  return JSON.stringify(scrollY);
}
"""
_SAID = "(selector) => JSON.stringify(document.querySelector(selector).textContent)"
_AXE = "async () => JSON.stringify((await axe.run()).violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`))"


class _Reader:
    """A reader at a page in Firefox."""

    def __init__(self, opened: Any, context: str) -> None:
        self._opened = opened
        self._context = context

    def asks(self, function: str, *given: str) -> Any:
        """Returns what a function of JavaScript returns, which is JSON."""
        said = self._opened.command(
            "script.callFunction",
            LOAD_S,
            functionDeclaration=function,
            arguments=[{"type": "string", "value": each} for each in given],
            awaitPromise=True,
            target={"context": self._context},
        )
        assert said["type"] == "success", said
        return json.loads(said["result"]["value"])

    def resizes(self, width: int, height: int) -> None:
        """Makes the window this large."""
        viewport = {"width": width, "height": height}
        self._opened.command("browsingContext.setViewport", LOAD_S, context=self._context, viewport=viewport)

    def scrolls_to(self, section: str) -> None:
        """Turns the wheel until the section's top is near the window's."""
        for _ in range(20):
            top = self.asks(_TOP, section)
            if abs(top) < _NEAR_PX:
                break
            self._wheels(top)

    def _wheels(self, down: int) -> None:
        wheel = {"type": "scroll", "x": 5, "y": 5, "deltaX": 0, "deltaY": down}
        self._acts({"type": "wheel", "id": "wheel", "actions": [wheel]})
        self.asks(_SETTLED)

    def drags(self, selector: str, part: float) -> None:
        """Drags an element by the finger to a part of the width of what it moves on."""
        if (beyond := self.asks(_BEYOND, selector)) > 0:
            self._wheels(beyond + _NEAR_PX)
        x, y, to, _ = self.asks(_ENDS, selector, f"{part}")
        self._touches([(round(x + (to - x) * step / _STEPS), y) for step in range(_STEPS + 1)])

    def taps(self, selector: str) -> None:
        """Taps an element in its middle."""
        self._touches([self.asks(_MIDDLE, selector)])

    def _touches(self, points: Sequence[tuple[int, int]]) -> None:
        moves = [{"type": "pointerMove", "x": x, "y": y, "duration": _STEP_MS} for x, y in points]
        actions = [moves[0], {"type": "pointerDown", "button": 0}, *moves[1:], {"type": "pointerUp", "button": 0}]
        finger = {"pointerType": "touch"}
        self._acts({"type": "pointer", "id": "finger", "parameters": finger, "actions": actions})

    def _acts(self, source: dict[str, Any]) -> None:
        self._opened.command("input.performActions", LOAD_S, context=self._context, actions=[source])


def test_a_reader_gets_through(tmp_path: Path) -> None:
    """At each size each section comes into view, bet and line follow the finger; figure, title, sentence and numbers
    are of one film. Nothing is requested; neither console nor accessibility checker has an error.
    """
    requested: list[str] = []
    errors: list[str] = []
    with firefox(tmp_path, requested, errors) as opened:
        context = opened.command("browsingContext.getTree", LOAD_S, maxDepth=0)["contexts"][0]["context"]
        reader = _Reader(opened, context)
        facts = json.dumps(table())
        url = f"{EXPLORE.as_uri()}?lang=en"
        for number, (width, height) in enumerate(_SIZES):
            reader.resizes(width, height)
            # A page that notes its state while it is left would end the navigation from it.
            for address in ("about:blank", f"{url}&t={number}"):
                opened.command("browsingContext.navigate", LOAD_S, context=context, url=address, wait="complete")
                reader.asks(_IS_AT, address.partition("?")[0])
            assert reader.asks(_BUILT) == "en"
            if THOROUGH:
                tell_speed("Firefox", width, height, json.dumps(reader.asks(SPEED.read_text())))
                reader.asks("() => { scrollTo(0, 0); return '0'; }")
            reader.asks(f"() => {{ {axe().read_text()}; return '0'; }}")
            for section in SECTIONS:
                reader.scrolls_to(section)
                if section in _FILMS:
                    clock = reader.asks(_SAID, f"#{section} .film-clock")
                    reader.drags(f"#{section} .time", 0.7)
                    assert reader.asks(_SAID, f"#{section} .film-clock") != clock, (width, section)
                    reader.taps(f"#{section} .station-head .word")
                    assert reader.asks(_SAID, ".tip") == strings()["en"]["words"]["server"], (width, section)
                if section == "bet":
                    reader.drags(".bet-slider", 0.25)
                    assert reader.asks(_SAID, "#bet .answer").startswith("Your bet"), width
                if section == "line":
                    reader.drags(".grip-of-line", 0.012)
                    said = reader.asks(_SAID, "#line .answer")
                    assert said.startswith("You moved one line. The map works 4.8 s sooner"), (width, said)
                for choice in ("fast", "equal", "queue", "price") if section == "cost" else ():
                    reader.taps(f"[data-choice={choice}]")
                    assert reader.asks(_FAULTS, facts) == [], (width, choice)
                assert reader.asks(_FAULTS, facts) == [], (width, section)
                if THOROUGH or section == SECTIONS[-1]:
                    assert reader.asks(_AXE) == [], (width, section)
    assert errors == []
    assert {url.partition(":")[0] for url in requested} <= {"file", "data", "blob"}
