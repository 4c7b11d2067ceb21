"""Claims about the film, in the story and the talk, and what the page shows, against which they are tested.

A claim is `LEFT = RIGHT`, `LEFT < RIGHT` or `LEFT > RIGHT`. A side is a quantity, a number with its unit, such as
`64 KiB`, or several of them, joined by ` * ` or ` / `; or it is a text. Before a claim may stand where it holds:
`3, script exists: `, that is, a step of the story and a chapter mark of its film.

Quantities are what can be seen, and nothing else: `state` reads them from the page's drawing.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

Value = float | str
State = Mapping[str, Value]
Stop = tuple[int, str]
"""A step of the story, from 1, and a chapter mark of its film. Step 0 is the page outside of the story."""

_DRAWN = Path(__file__).with_name("drawn.js")
_PLACES = {"front": "front", "socket": "kernel", "link": "network", "client": "client"}
_UNITS = {
    "": 1.0,
    "\N{MULTIPLICATION SIGN}": 1.0,
    "packets": 1.0,
    "KiB": 1024.0,
    "MiB": 1024.0**2,
    "ms": 0.001,
    "s": 1.0,
    "kB/s": 1000.0,
    "Mbit/s": 125_000.0,
}
_NUMBER = re.compile(rf"([\d,]*\.?\d+) ?({'|'.join(re.escape(unit) for unit in _UNITS if unit)})?")
_ROUNDED = 0.005
"""Shown numbers are rounded; two of them are equal if they differ by less than this part."""

_PLACED = re.compile(
    r"(?:(?:(\d), )?((?:start|end|[a-z]+ (?:requested|exists|begins|complete))(?:, (?:above|below))?): )?(.+)"
)

_HUES = ((50, "orange"), (75, "yellow"), (170, "green"), (260, "blue"), (330, "purple"), (361, "red"))
"""The names of hues, each up to an angle in degrees."""
_LEAST_RED = 12


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim: what a sentence says about the film at a stop."""

    sentence: str
    stop: Stop
    text: str


def placed(sentence: str, text: str, step: int | None = None, mark: str | None = None) -> Claim:
    """Returns a claim of a sentence. step, mark: where it holds, unless its text says so. Raises ValueError."""
    found = _PLACED.fullmatch(text)
    assert found
    number, named = found[1] or step, found[2] or mark
    if number is None or named is None:
        raise ValueError(f"{text!r}: it does not say where it holds: `3, script exists: ...`")
    return Claim(sentence=sentence, stop=(int(number), named), text=found[3])


def fault(claim: str, seen: State) -> str | None:
    """Returns why a claim does not hold for what is seen; None if it holds. Raises ValueError if it is no claim."""
    match = re.fullmatch(r"(.+?) ([=<>]) (.+)", claim)
    if match is None:
        raise ValueError(f"{claim!r}: a claim is LEFT = RIGHT, LEFT < RIGHT or LEFT > RIGHT")
    try:
        left, right = _side(match[1], seen), _side(match[3], seen)
    except KeyError as error:
        return f"{claim}: the page does not show {error}"
    if isinstance(left, str) or isinstance(right, str):
        holds = match[2] == "=" and left == right
    elif match[2] == "=":
        holds = math.isclose(left, right, rel_tol=_ROUNDED)
    else:
        holds = left < right if match[2] == "<" else left > right
    return None if holds else f"{claim}: the page shows {left} and {right}"


def _side(text: str, seen: State) -> Value:
    first, *others = re.split(r" ([*/]) ", text)
    value = _factor(first, seen)
    for operator, other in zip(others[::2], others[1::2], strict=True):
        factor = _factor(other, seen)
        assert isinstance(value, float)
        assert isinstance(factor, float)
        value = value * factor if operator == "*" else value / factor
    return value


def _factor(text: str, seen: State) -> Value:
    if text in seen:
        return seen[text]
    if re.match(r"(above|below)\.|the ", text):
        raise KeyError(text)
    return _value(text)


def _value(text: str) -> Value:
    """Returns a text's number in bytes, seconds or bytes per second; the text itself if it is no number."""
    match = _NUMBER.fullmatch(text.strip())
    return float(match[1].replace(",", "")) * _UNITS[match[2] or ""] if match else text.strip()


def state(page: "Page") -> State:
    """Returns what the page shows now.

    Of each arm, `above.` or `below.`: `name`, `verdict`, `asks for`; `script begins` and the other figures; `waiting`;
    `front`, `kernel`, `network` and `client`, the bytes there, of both streams or of one, `front.image`; `limit`;
    `wait in kernel`, the part of the wait; `rate`, `round trip` and `queue` of the link; `screen`. Of both:
    `the colour of script`, `the speed`, `the map`, `the first byte`, with their gains.
    """
    seen: dict[str, Value] = {}
    raw = page.evaluate(_DRAWN.read_text())
    for where, arm in zip(("above", "below"), raw["arms"], strict=False):
        seen |= {f"{where}.{name}": value for name, value in _arm(arm)}
    for name, colour in raw["colours"].items():
        seen[f"the colour of {name}"] = _hue(colour)
    seen["the speed"] = _value(raw["speed"])
    seen |= _link(raw["link"])
    for what, text in (("map", raw["gap"]), ("first byte", raw["first"].removeprefix("first byte "))):
        if match := re.match(r"(.* m?s) (earlier|later)", text):
            seen[f"the {what}'s gain"] = _value(match[1])
    return seen


def _arm(arm: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    for name, text in arm["texts"].items():
        yield name, _value(text)
    for place, text in arm["titles"].items():
        yield f"title of {_PLACES[place]}", text
    for place, (text, widths) in arm["places"].items():
        total = _value(text)
        assert isinstance(total, float)
        yield _PLACES[place], total
        drawn = sum(widths.values())
        for stream, width in widths.items():
            yield f"{_PLACES[place]}.{stream}", total * width / drawn if drawn else 0.0
    for title in arm["waits"]:
        name, _, text = title.partition(": ")
        yield f"wait in {name}", _value(text.partition(" of ")[0])


def _link(text: str) -> Iterator[tuple[str, Value]]:
    for name, fact in zip(("rate", "round trip", "queue"), text.removeprefix("link: ").split(", ", 2), strict=False):
        both = re.fullmatch(r"(.*) above, (.*) below", fact.removeprefix(f"{name} "))
        above, below = both.groups() if both else [fact.removeprefix(f"{name} ")] * 2
        yield f"above.{name}", _value(above)
        yield f"below.{name}", _value(below)


def _hue(colour: str) -> str:
    """Returns the name of a colour, `rgb(213, 94, 0)`."""
    red, green, blue = (int(part) / 255 for part in re.findall(r"\d+", colour)[:3])
    angle = math.degrees(math.atan2(math.sqrt(3) * (green - blue), 2 * red - green - blue)) % 360
    return "red" if angle < _LEAST_RED else next(name for end, name in _HUES if angle < end)
