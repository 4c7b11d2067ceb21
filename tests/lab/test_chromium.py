"""CLIENT=chromium in namespaces and in the guest: the browser's requests and their records."""

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from priolab.analysis.figures import picture
from priolab.analysis.figures.all_figures import FIGURES
from priolab.analysis.records.runs import load_experiment
from tests.lab.browsing import ALIKE_MS, QUICK, must_have_browsed, must_need_lowat, read
from tests.support.endings import nothing_is_left
from tests.support.lab import Done, Lab
from tests.support.shared_runs import Runs

pytestmark = pytest.mark.needs("chromium")

_CHROMIUM = ("CLIENT=chromium", "FABRIC=netns")
_MISSPOKEN = "the resource that the browser asked to come first: asked for script, observed image"
_SAID = {"page": ("u=0, i", {256}), "image": ("u=2, i", {183, 220}), "script": ("u=2", {220})}
"""By resource: the value of the header field, and the allowed values of the last weight."""


def _kinds(folder: Path) -> list[tuple[str, str | None]]:
    events = map(json.loads, (folder / "client" / "events.jsonl").read_text().splitlines())
    return [(event["kind"], event.get("resource")) for event in events]


def _has_misspoken(done: Done) -> bool:
    """Returns True if the browser asked for the image first, so that an arm is rightly invalid.

    Chromium raises the script's priority when its parser meets the script. If this happens between the choice of the
    stream's parent and the sending of its HEADERS, the script's stream depends on the image's.
    """
    assert done.summary is not None, done.err
    return any((arm["reason"] or "").startswith(_MISSPOKEN) for arm in done.summary["arms"])


@pytest.mark.punctual
@pytest.mark.usefixtures("netns")
def test_lowat_keeps_the_browsers_order(lab: Lab) -> None:
    """The browser asks for the script first. The order is inverted without LOWAT and kept with LOWAT=16384."""
    done = lab.run_on_time(*_CHROMIUM, *QUICK, "LOWAT=16384", "RELOADS=1", "SIZE=300000", or_if=_has_misspoken)
    must_need_lowat(done, _must_have_browsed)
    nothing_is_left(lab)


@pytest.mark.usefixtures("guest")
def test_in_the_guest_a_browser_is_as_good(run: Runs, tmp_path: Path) -> None:
    """In the guest the times of lab's client and browser agree within 100 ms; only the browser's runs have no seed.

    So a second run may differ, and agree.
    """
    words = ("CLIENT=h2,chromium", "LOWAT=16384", "RELOADS=1", "SIZE=500000", *QUICK)
    done = run(*words)
    if not _is_alike(done):
        done = run(*words, "SEED=2")
    assert done.code == 0, done.trouble
    for client in ("h2", "chromium"):
        arms = {name: done.arm(f"{client}-{name}") for name in ("control", "lowat-16384")}
        assert [arms[name]["verdict"] for name in arms] == ["inverted", "kept"]
        assert {arms[name]["observed"]["seeded"] for name in arms} == {client == "h2"}
    for name in ("control", "lowat-16384"):
        own, browser = (done.arm(f"{client}-{name}") for client in ("h2", "chromium"))
        for resource in ("script", "image"):
            assert browser[resource] == _about(own[resource])
        assert browser["observed"]["clock_resolution_ns"] == 10**6 > own["observed"]["clock_resolution_ns"]
        assert browser["observed"]["browser"]["stream_window_bytes"] == 6 * 2**20
        _must_have_browsed(done, f"chromium-{name}")
        versions = [set(read(done, f"{client}-{name}", "env.json")["versions"]) for client in ("h2", "chromium")]
        assert versions[1] - versions[0] == {"chromium", "playwright"}
    assert done.folder is not None
    declaration = FIGURES["clients"](load_experiment(done.folder))
    assert declaration is not None
    files = picture.save(declaration, tmp_path, "clients")
    assert {f"clients.{ending}" for ending in ("svg", "png", "html")} == {file.name for file in files}


def _about(times: Mapping[str, float]) -> Any:
    return pytest.approx(times, abs=ALIKE_MS)


def _is_alike(done: Done) -> bool:
    arms = [(done.arm(f"h2-{name}"), done.arm(f"chromium-{name}")) for name in ("control", "lowat-16384")]
    return all(browser[each] == _about(own[each]) for own, browser in arms for each in ("script", "image"))


def _must_have_browsed(done: Done, arm: str) -> None:
    browser = must_have_browsed(done, arm, "chromium")
    asked = [(each["load"], each["resource"]) for each in browser["requests"]]
    assert [asked[0], asked[3]] == [(1, "page"), (2, "page")]
    for each in browser["requests"]:
        _must_have_said(each)
    for page in browser["pages"]:
        assert page["image_width"] > 0
    _must_add_up(done, arm)


def _must_have_said(request: Mapping[str, Any]) -> None:
    """Checks a request's priority signals against the table in docs/guide/chromium.md.

    The table has the header field and the last weight. In the end page and script depend exclusively on the root.
    """
    field, weights = _SAID[request["resource"]]
    assert request["field"] == field
    assert request["exclusive"]
    last = request["later"][-1] if request["later"] else request
    assert last["weight"] in weights
    assert [later["field"] for later in request["later"]] == [None] * len(request["later"])
    if request["resource"] != "image":
        assert (last["exclusive"], last["parent_stream_id"]) == (True, 0)


def _must_add_up(done: Done, arm: str) -> None:
    assert done.folder is not None
    kinds = _kinds(done.folder / f"{arm}.1")
    assert kinds[:4] == [("connected", None), ("secured", None), ("load-started", None), ("request-sent", "page")]
    assert kinds[-2:] == [("ended", kinds[-2][1]), ("load-finished", None)]
    with gzip.open(done.folder / f"{arm}.1" / "client" / "netlog.json.gz") as file:
        events = json.load(file)["events"]
    assert events
    assert not any("bytes" in event.get("params", {}) for event in events)
