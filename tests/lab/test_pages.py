"""Pages other than the Maps case, in the guest: pages of the catalogue, and a page of the user."""

import json
import subprocess
from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from priolab.analysis.loads.metrics import measured_load
from priolab.analysis.records.runs import load_run
from priolab.common.home import ROOT
from priolab.experiments.scenario.pages import Parameters, page_of
from tests.support.lab import Done, Lab
from tests.support.shared_runs import Runs
from tests.support.variations import variations, variations_of_nghttpx

pytestmark = pytest.mark.usefixtures("guest")

_FEW = ("RELOADS=0", "SAMPLE=100ms")
_PARAMETERS = Parameters(size_bytes=716_800, script_delay_ns=0)

_MINE = """
title = "A page of mine"

[[resource]]
name = "page"
type = "text/html"
size = "4k"

[[resource]]
name = "photo"
type = "image/jpeg"
size = "SIZE"
after = "page"
urgency = 5

[[resource]]
name = "data"
type = "application/json"
size = "3k"
after = "page"
urgency = 1

[[resource]]
name = "tile"
type = "image/jpeg"
size = "20k"
delay = "JS_DELAY"
after = "data"
urgency = 1
important = true
"""


def _arms(run: Runs, name: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Returns the control and the treatment of a page."""
    return _both(variations(run), name)


def _both(done: Done, name: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    assert done.code == 0, done.trouble
    return done.arm(f"{name}-control"), done.arm(name)


@pytest.mark.parametrize("name", ["news", "tokens"])
def test_every_resource_has_its_bytes(run: Runs, name: str) -> None:
    """Each resource has the page's size, and the summary lacks the keys that only PAGE=maps has."""
    page = page_of(name, _PARAMETERS)
    sizes = {each.name: each.size_bytes for each in page.resources}
    for arm in _arms(run, name):
        assert {name: each["size_bytes"] for name, each in arm["resources"].items()} == sizes
        assert (arm["scenario"]["page"], len(arm["scenario"]["resources"])) == (name, len(sizes))
        assert not {"script", "image", "image_bytes_before_script"} & set(arm)
        assert all(each["first_byte_ms"] <= each["last_byte_ms"] for each in arm["resources"].values())


def test_news(run: Runs) -> None:
    """Without LOWAT nearly all images come first; with LOWAT=16384 style sheet and script come first."""
    control, treatment = _arms(run, "news")
    assert (control["verdict"], treatment["verdict"]) == ("inverted", "kept")
    assert control["focal"] == treatment["focal"] == "app"
    assert treatment["important_last_byte_ms"] < control["first_byte_ms"] / 2
    assert treatment["other_bytes_before"] < control["other_bytes_before"] / 4


@pytest.mark.needs("nghttpx")
def test_late(run: Runs) -> None:
    """The client requests the script 0.6 s after the images. Only with LOWAT is the script's order kept.

    The server follows RFC 9218. The oracle knows of the client's wait.
    """
    done = variations_of_nghttpx(run)
    control, treatment = _both(done, "late")
    assert (control["verdict"], treatment["verdict"]) == ("inverted", "kept")
    assert treatment["ledger"]["wait_ms"] < control["ledger"]["wait_ms"] / 3
    assert done.folder is not None
    load = measured_load(load_run(done.folder / "late.1").evidence())
    asked = {name: times.requested_ns for name, times in load.resources.items()}
    assert asked["script"] - asked["image-1"] == pytest.approx(600 * 10**6, abs=10**6)
    possible_ms = treatment["oracle"]["first_byte_ms"]
    assert (asked["script"] - load.started_ns) / 10**6 < possible_ms <= treatment["first_byte_ms"]


def test_tokens(run: Runs) -> None:
    """Without LOWAT all tokens come at once, after the download; with LOWAT they come as they are written."""
    control, treatment = _arms(run, "tokens")
    assert (control["verdict"], treatment["verdict"]) == ("inverted", "kept")
    late, steady = (arm["resources"]["tokens"] for arm in (control, treatment))
    assert steady["first_byte_ms"] < late["first_byte_ms"] / 2
    for arm in (control, treatment):
        tokens = arm["resources"]["tokens"]
        assert 0 <= tokens["gap_p50_ms"] <= tokens["gap_p99_ms"] <= tokens["gap_longest_ms"]
        assert "gap_p50_ms" not in arm["resources"]["bulk"]
    written_ms = 399 * 20
    assert late["last_byte_ms"] - late["first_byte_ms"] < 0.1 * written_ms
    assert steady["last_byte_ms"] - steady["first_byte_ms"] > 0.9 * written_ms
    assert 20 < steady["gap_longest_ms"] < 1500


def _priolab(lab: Lab, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs the lab's command in another folder."""
    with chdir(folder):
        return lab.command_here("run", "FABRIC=virtual", "CONTROL=no", "LOWAT=16384", *_FEW, *words, "--print-folder")


def test_ones_own_page_of_another_folder(lab: Lab, tmp_path: Path) -> None:
    """PAGE is relative to the current folder; the tile is requested when the data that it waits for is complete."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "mine.toml").write_text(_MINE)
    done = lab.latest(_priolab(lab, folder, "PAGE=mine.toml", "SIZE=1M", "JS_DELAY=50ms"))
    assert done.code == 0, done.trouble
    arm = done.arm("lowat-16384")
    sizes = {name: each["size_bytes"] for name, each in arm["resources"].items()}
    assert sizes == {"page": 4096, "photo": 2**20, "data": 3072, "tile": 20_480}
    assert (arm["verdict"], arm["focal"], arm["scenario"]["page"]) == ("undecided", "tile", "mine")
    assert "a front may hand over 96 KiB at once, and the tile has 20" in arm["verdict_reason"]
    assert arm["resources"]["tile"]["available_ms"] >= arm["resources"]["data"]["last_byte_ms"] + 50
    assert done.folder is not None
    load = measured_load(load_run(done.folder / "lowat-16384.1").evidence())
    assert load.resources["tile"].requested_ns >= load.resources["data"].last_byte_ns
    assert load.resources["photo"].requested_ns >= load.resources["page"].last_byte_ns


_EVENTS = """
[[resource]]
name = "page"
type = "text/html"
size = "2k"

[[resource]]
name = "download"
type = "application/octet-stream"
size = "64k"
after = "page"
urgency = 5

[[resource]]
name = "events"
type = "text/event-stream"
after = "page"
urgency = 1
important = true
headers = "0s"
chunks = [{ at = "7s", bytes = 1, every = "7s", count = 2 }]
"""


def test_an_event_stream_opens_before_its_first_event(lab: Lab, tmp_path: Path) -> None:
    """With `headers = "0s"` the client has the headers a round trip after its request, 7 s before the first event."""
    (tmp_path / "mine.toml").write_text(_EVENTS)
    done = lab.latest(_priolab(lab, tmp_path, "PAGE=mine.toml", "SERVER=nghttpx"))
    assert done.code == 0, done.trouble
    assert done.folder is not None
    events = measured_load(load_run(done.folder / "lowat-16384.1").evidence()).resources["events"]
    assert 0.3 <= (events.headers_ns - events.requested_ns) / 10**9 < 0.4
    assert 7.3 <= (events.first_byte_ns - events.requested_ns) / 10**9 < 7.4


def test_large_headers_take_their_time(lab: Lab, tmp_path: Path) -> None:
    """A header field of 3,000 bytes takes 23 ms of the link, before the first byte behind it."""
    resource = '[[resource]]\nname = "{0}"\ntype = "text/plain"\nsize = 2000\n'
    text = f'title = "T"\n{resource.format("small")}{resource.format("large")}after = "small"\nheader_bytes = 3000\n'
    (tmp_path / "mine.toml").write_text(text)
    done = lab.latest(_priolab(lab, tmp_path, "PAGE=mine.toml", "RELOADS=1"))
    assert done.code == 0, done.trouble
    assert done.folder is not None
    found = measured_load(load_run(done.folder / "lowat-16384.1").evidence()).resources
    took_ms = {name: (each.first_byte_ns - each.requested_ns) / 10**6 for name, each in found.items()}
    assert took_ms["large"] - took_ms["small"] == pytest.approx(3000 * 8 / 1024, abs=3)


@pytest.mark.parametrize("browser", ["chromium", "firefox", "webpagetest"])
def test_a_recorded_page(run: Runs, browser: str) -> None:
    """A HAR is a page: the load has the resources, sizes and priorities that the browser recorded."""
    file = ROOT / "tests" / "har" / f"{browser}.har"
    done = run(f"PAGE={file}", "RATE=10mbit", "CONTROL=no", "DIALECT=header", *_FEW)
    assert done.code == 0, done.trouble
    page = page_of(str(file), _PARAMETERS)
    assert done.summary is not None
    (arm,) = done.summary["arms"]
    assert {name: each["size_bytes"] for name, each in arm["resources"].items()} == {
        each.name: each.size_bytes for each in page.resources
    }
    assert done.folder is not None
    plan = json.loads((done.folder / f"{arm['name']}.1" / "client" / "plan.json").read_text())
    sent = {each["name"]: each["signals"]["field"] for each in plan["requests"]}
    assert sent == {each.name: f"u={each.urgency}{', i' * each.incremental}" for each in page.resources}
    said = " ".join(f"{done.out} {done.err}".split())
    assert all(said.count(f"note: {note}") == 1 for note in page.notes)
