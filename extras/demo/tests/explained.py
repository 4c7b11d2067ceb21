"""What the explanation must say of the recordings in the tree: computed here from their documents, not by the page."""

import json
import os
import subprocess
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from pathlib import Path
from typing import Any

from priolab.common.process.search_path import find
from priolab.experiments.scenario.knobs import with_defaults
from priolab.extras.demo.choices import LOWATS
from priolab.extras.demo.recorded import in_tree
from priolab.extras.demo.server import PAGE

LANGUAGES = ("en", "de", "ja")
SECTIONS = ("start", "asks", "places", "bet", "happened", "why", "line", "cost", "yours")
ALL_SIZES = ((320, 640), (390, 844), (844, 390), (820, 1180), (1366, 768), (1920, 1080), (3840, 2160))
THOROUGH = "PRIOLAB_SEQUENCES" in os.environ
"""True in `make sequences`, which takes its time."""
SPEED = Path(__file__).with_name("lab") / "explanation_speed.js"
"""The function that measures the page's speed in a browser."""
CHOICES: Mapping[str, Mapping[str, str]] = {
    "none": {"LOWAT": "none"},
    "price": {"LOWAT": "16384"},
    "fast": {"RATE": "100mbit", "DELAY": "5ms"},
    "fastNone": {"LOWAT": "none", "RATE": "100mbit", "DELAY": "5ms"},
    "equal": {"LOWAT": "16384", "PRIORITY": "none"},
    "queue": {"LOWAT": "16384", "QUEUE": "1000"},
}
"""The knobs of the recordings of the explanation, by their names in page/explain/sections.js."""

_READER = Path(__file__).with_name("strings.mjs")


@cache
def strings() -> Mapping[str, Mapping[str, Any]]:
    """Returns the texts of the explanation, by language."""
    node = find("node")
    assert node
    files = [str(PAGE / "explain" / f"strings.{language}.js") for language in LANGUAGES]
    done = subprocess.run([node, str(_READER), *files], capture_output=True, text=True, timeout=60, check=True)
    return dict(zip(LANGUAGES, json.loads(done.stdout), strict=True))


def recording(knobs: Mapping[str, str]) -> Mapping[str, Any]:
    """Returns the recording in the tree with these knobs."""
    wanted = with_defaults(knobs)
    return next(arm for arm in in_tree().arms if with_defaults(arm["knobs"]) == wanted)


def table() -> dict[str, Any]:
    """Returns what explanation_checker.js compares with."""
    runs = {name: recording(knobs)["run"] for name, knobs in CHOICES.items()}
    stops = [recording({"LOWAT": value})["run"] for value in LOWATS if value != "auto"]
    arms = {arm["run"]: arm for arm in in_tree().arms}
    shown = {run: arms[run] for run in {*runs.values(), *stops}}
    return {
        "choices": runs,
        "stops": stops,
        "lines": [_line_at(arms[run]["arm"]) for run in stops],
        "titles": {
            each: {name: text["title"] for name, text in strings()[each]["sections"].items()} for each in LANGUAGES
        },
        **{each: {run: facts(arm, each) for run, arm in shown.items()} for each in LANGUAGES},
    }


def facts(shown: Mapping[str, Any], language: str) -> dict[str, str]:
    """Returns each fact of a recording as it reads in a language."""
    arm = shown["arm"]
    picture, script = arm["resources"]["image"], arm["resources"]["script"]
    without = recording(CHOICES["none"])["arm"]
    times = {
        "asked": next(each["sent_ms"] for each in shown["film"]["resources"] if each["stream"] == "others"),
        "pictureReady": picture["available_ms"],
        "ready": script["available_ms"],
        "later": script["available_ms"] - picture["available_ms"],
        "pictureFirst": picture["first_byte_ms"],
        "picture": picture["last_byte_ms"],
        "first": script["first_byte_ms"],
        "works": script["last_byte_ms"],
        "waited": script["first_byte_ms"] - script["available_ms"],
        "trip": arm["scenario"]["delay_ns"] / 1e6,
    }
    about = {
        "dead": script["last_byte_ms"] - picture["last_byte_ms"],
        "gain": without["important_last_byte_ms"] - script["last_byte_ms"],
    }
    held = {"size": picture["size_bytes"], "limit": arm["scenario"]["lowat"] or 0}
    if ledger := arm["ledger"]:
        there = ledger["other_bytes_at_available"]
        held["pending"] = there["pending"] + there["committed"]
        held["unsent"] = there["unsent"]
        held["underWay"] = there["queue"] + there["propagation"] + there["recovery"]
        times["inBuffer"] = ledger["parts_ms"]["kernel_unsent"]
        times["inQueue"] = ledger["parts_ms"]["bottleneck_queue"]
    rate = arm["scenario"]["rate_bit_s"]
    return {
        **{name: _seconds(ms, "0.01", language) for name, ms in times.items()},
        **{name: _seconds(max(ms, 0), "0.1", language) for name, ms in about.items()},
        **{name: f"{_number(Decimal(value) / 1024, '1', language)} KiB" for name, value in held.items()},
        "rate": f"{round(rate / 1e6)} Mbit/s",
        "packets": _number(Decimal(arm["scenario"]["queue_packets"]), "1", language),
        "wakeups": str(arm["loads"][-1]["cost"]["wakeups"]),
    }


def tell_speed(browser: str, width: int, height: int, measured: str) -> None:
    """Prints for `make sequences` what explanation_speed.js has measured: half a second and 50 frames are wanted."""
    built_ms, frames = json.loads(measured)
    print(f"{browser}, {width}x{height}: answers after {built_ms} ms, {frames} frames a second")


def _line_at(arm: Mapping[str, Any]) -> float:
    """Returns where the line of an arm is in the send buffer, in per cent of the width, which is both files."""
    full = sum(arm["resources"][name]["size_bytes"] for name in ("image", "script"))
    limit = arm["scenario"]["lowat"]
    return 100.0 if limit is None else min(100.0, 100 * limit / full)


def _seconds(ms: float, digit: str, language: str) -> str:
    return f"{_number(Decimal(str(ms)) / 1000, digit, language)} {'秒' if language == 'ja' else 's'}"


def _number(value: Decimal, digit: str, language: str) -> str:
    text = f"{value.quantize(Decimal(digit), ROUND_HALF_UP):,}"
    return text.translate(str.maketrans(",.", ".,")) if language == "de" else text
