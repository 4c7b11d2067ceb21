"""Runs with a browser as the client: their knobs, and the checks that are the same for each browser."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from priolab.common.formats.scenario import ClientKind
from tests.support.lab import Done

QUICK = ("RATE=2mbit", "DELAY=100ms", "SAMPLE=50ms")
"""A faster link. A browser's timers keep a guest's clock from jumping, so link time costs processor time."""
ENDLESS = ("SHAPER=ferry", "RATE=unlimited", "DELAY=10ms", "CONTROL=no", "JS_DELAY=30s")
LOADING = "load 1 of 3"
SOON_S = 25.0
ALIKE_MS = 100.0
_ARMS = ("control", "lowat-16384")


def read(done: Done, arm: str, name: str) -> Mapping[str, Any]:
    """Return a document in an arm's run folder."""
    assert done.folder is not None, done.err
    document: Mapping[str, Any] = json.loads((done.folder / f"{arm}.1" / name).read_text())
    return document


def must_need_lowat(done: Done, browsed: Callable[[Done, str], object], *, sure: bool = True) -> None:
    """Check that the order is inverted without LOWAT and kept with LOWAT=16384.

    browsed: checks an arm's records. sure: False if so few bytes compete that it may only be undecided who was first.
    """
    assert done.code == 0, done.trouble
    control, treatment = (done.arm(name) for name in _ARMS)
    assert control["verdict"] == "inverted"
    assert treatment["verdict"] in ({"kept"} if sure else {"kept", "undecided"}), treatment["verdict_reason"]
    assert treatment["image_bytes_before_script"] < control["image_bytes_before_script"] / 2
    for arm in _ARMS:
        browsed(done, arm)


def must_have_browsed(done: Done, arm: str, client: str) -> Mapping[str, Any]:
    """Check the records of two loads of the usual page, over one connection. Return client/browser.json."""
    browser, run = read(done, arm, "client/browser.json"), read(done, arm, "run.json")
    assert run["scenario"]["client"] == client
    assert run["observed"]["browser"]["product"] == browser["product"]
    assert browser["product"].startswith(f"{ClientKind(client).product} ")
    assert [each["requests"] for each in browser["connections"] if each["requests"]] == [6]
    # Image and script may come in either order, because the browser's preload scanner races its parser.
    assert sorted((each["load"], each["resource"]) for each in browser["requests"]) == [
        (load, name) for load in (1, 2) for name in ("image", "page", "script")
    ]
    assert [each["first"] for each in browser["asked_first"]] == ["script", "script"]
    assert browser["frames_sent"]["HEADERS"] == 6
    for page in browser["pages"]:
        assert page["image_complete"]
        assert page["script_output"].startswith("the script ran ")
    ledger = run["ledger"]
    assert ledger is not None, run["ledger_reason"]
    assert sum(ledger["parts_ms"].values()) == pytest.approx(ledger["wait_ms"])
    assert done.folder is not None
    arrivals = (done.folder / f"{arm}.1" / "client" / "arrivals.jsonl").read_text().splitlines()
    (carrying,) = (each for each in browser["connections"] if each["requests"])
    assert json.loads(arrivals[-1])["tcp_bytes"] == carrying["received_bytes"]
    return browser
