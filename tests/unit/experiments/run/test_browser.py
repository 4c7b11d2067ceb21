"""Tests of a browser's start, and of the conditions for a valid run with a browser."""

import json
from pathlib import Path
from typing import Any

import pytest

from priolab.common.errors import InvalidRun, Unavailable
from priolab.experiments.execution.conclusion import Run, lay_out, wall_limit_s
from priolab.experiments.execution.request import Arm, RunSettings
from priolab.experiments.hosts.containers.compose import Compose
from priolab.experiments.hosts.virtual import memory_mib
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.results.run_spec import RunSpec
from priolab.experiments.run.browser import (
    check_browser,
    client_command,
    last_event_ns,
    observed_browser,
    payload_span,
)
from priolab.experiments.run.checks.settings import check_connection
from priolab.experiments.run.fabrics import FABRICS
from priolab.experiments.scenario.knobs import scenario_from
from priolab.experiments.scenario.named import entry_of
from priolab.experiments.setup.tools import Tools
from tests.support.builders import process_sample

_LOG_PER_PAYLOAD = 4.6
_PLAN = Path(__file__).parents[2] / "client" / "browsers" / "recorded" / "webkit" / "plan.json"
_TOOLS = Tools(programs={"chromium": "/usr/bin/chromium"}, versions={})


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """Return a new run folder."""
    folder = RunFolder(tmp_path / "run")
    folder.create()
    return folder


def test_each_client_is_told_what_it_needs(folder: RunFolder) -> None:
    """The lab's client gets the path of the certificate authority.
    The browser's driver gets the front's certificate and the browser's program.
    """
    plan, client, asked = folder.client / "plan.json", folder.client, folder.asked
    own = client_command(scenario_from({}), folder, "python3", Tools(programs={}, versions={}))
    assert own == ("python3", "-P", "-m", "priolab.client", str(plan), str(asked / "ca.pem"), str(client))
    chromium = client_command(scenario_from({"CLIENT": "chromium"}), folder, "python3", _TOOLS)
    assert chromium[1:4] == ("-P", "-m", "priolab.client.chromium")
    tools = Tools(programs={"firefox": "/usr/bin/firefox-esr"}, versions={})
    firefox = client_command(scenario_from({"CLIENT": "firefox"}), folder, "python3", tools)
    assert firefox[3:] == (
        "priolab.client.firefox",
        str(plan),
        str(asked / "front.crt"),
        str(client),
        "/usr/bin/firefox-esr",
    )
    tools = Tools(programs={"webkit": "/usr/bin/WebKitWebDriver"}, versions={})
    webkit = client_command(scenario_from({"CLIENT": "webkit"}), folder, "python3", tools)
    assert webkit[3:] == ("priolab.client.webkit", *firefox[4:-1], "/usr/bin/WebKitWebDriver")
    assert chromium[4:] == (str(plan), str(asked / "front.crt"), str(client), "/usr/bin/chromium")


@pytest.mark.parametrize(("name", "link_s"), [("maps", 3 * 12.5), ("modem", 3 * 97.0)])
def test_a_browsers_guest_has_the_time_of_its_link(name: str, link_s: float) -> None:
    """In a guest, a browser's run has a longer limit of wall time than a run of the lab's client.
    The limit is longer by more than twice the run's link time.
    """
    run_settings = RunSettings(fabric=FABRICS["virtual"], fabric_reason="", sample=None)
    knobs = dict(entry_of(name).knobs)
    own = wall_limit_s(scenario_from(knobs), run_settings)
    assert wall_limit_s(scenario_from(knobs | {"CLIENT": "chromium"}), run_settings) > own + 2 * link_s


def test_the_guest_has_room_for_the_net_log() -> None:
    """The guest's memory grows with the payload, because the net log grows with each byte."""
    usual, long, large = (
        memory_mib(scenario_from({"CLIENT": "chromium", "RELOADS": reloads, "SIZE": size}))
        for reloads, size in (("2", "1M"), ("11", "1M"), ("2", "4M"))
    )
    assert long - usual >= 9 * 2 * _LOG_PER_PAYLOAD
    assert large - usual >= 9 * 2 * _LOG_PER_PAYLOAD


def test_containers_have_no_browser() -> None:
    """CLIENT=chromium is refused with FABRIC=compose, before a container engine is searched."""
    with pytest.raises(
        Unavailable, match="CLIENT=chromium with FABRIC=compose cannot be used here: the client's image"
    ):
        Compose().check_usable(scenario_from({"CLIENT": "chromium"}), None)


@pytest.mark.parametrize(
    ("client", "named"),
    [
        ("h2", ["nginx"]),
        ("chromium", ["nginx", "chromium", "playwright"]),
        ("firefox", ["nginx", "firefox", "websockets"]),
        ("webkit", ["nginx", "webkit"]),
    ],
)
def test_an_arm_names_what_it_uses(tmp_path: Path, client: str, named: list[str]) -> None:
    """An arm records the versions of the programs that it uses, and no browser of another arm."""
    knobs = {"CLIENT": client}
    found = {"nginx": "1", "chromium": "2", "playwright": "3", "firefox": "4", "websockets": "5", "webkit": "6"}
    tools = Tools(programs={}, versions=found)
    run_settings = RunSettings(fabric=FABRICS["virtual"], fabric_reason="", sample=None)
    folder = RunFolder(tmp_path / "run")
    lay_out(Run(arm=Arm(name="control", knobs=knobs), repetition=1, seed=1), folder, run_settings, tools)
    assert list(RunSpec.read(folder).tools.versions) == [*named, "priolab"]


def _document(*requests: int, first: str | None = "script") -> dict[str, Any]:
    asked = {"load": 2, "first": first, "by_rfc7540": first, "by_rfc9218": None}
    return {
        "product": "Chromium 1",
        "connections": [{"requests": number} for number in requests],
        "asked_first": [{"load": 1, "first": None, "by_rfc7540": None, "by_rfc9218": None}, asked],
        "time_resolution_ns": 10**6,
        "connection_window_bytes": 15_728_640,
        "stream_window_bytes": 6_291_456,
    }


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (_document(6), None),
        (_document(0, 6, 0), None),
        (_document(3, 3), "the number of connections on which the browser sent requests: asked for 1, observed 2"),
        (_document(6, first="image"), None),
    ],
)
def test_what_a_browser_must_have_done(folder: RunFolder, document: dict[str, Any], words: str | None) -> None:
    """A browser must send all requests on one connection. Spare connections are allowed, and any order."""
    (folder.client / "browser.json").write_text(json.dumps(document))
    found = observed_browser(folder, 256)
    assert found["seeded"] is False
    assert found["browser"]["stream_window_bytes"] == 6_291_456
    if words is None:
        check_browser(found["browser"])
    else:
        with pytest.raises(InvalidRun) as caught:
            check_browser(found["browser"])
        assert words in str(caught.value)


@pytest.mark.parametrize(("own_ns", "coarser_ns"), [(256, 10**6), (None, 10**6), (4 * 10**6, 4 * 10**6)])
def test_the_coarser_clock_counts(folder: RunFolder, own_ns: int | None, coarser_ns: int) -> None:
    """The recorded resolution is the coarser of the clock's and the net log's, which counts in milliseconds."""
    (folder.client / "browser.json").write_text(json.dumps(_document(6)))
    assert observed_browser(folder, own_ns)["clock_resolution_ns"] == coarser_ns


def test_the_last_event_is_the_end(folder: RunFolder) -> None:
    """The time of the browser's last event is the end of its connection."""
    (folder.client / "events.jsonl").write_text('{"t_ns": 1}\n{"t_ns": 27}\n')
    assert last_event_ns(folder) == 27


def test_the_measured_payload(folder: RunFolder) -> None:
    """The measured payload covers the last load, and not the loads before it."""
    lines = [
        (5, "data", 1),
        (6, "ended", 1),
        (9, "request-sent", 2),
        (12, "data", 2),
        (15, "data", 2),
        (16, "ended", 2),
    ]
    events = [json.dumps({"t_ns": t_ns, "kind": kind, "load": load}) for t_ns, kind, load in lines]
    (folder.client / "events.jsonl").write_text("\n".join(events))
    assert payload_span(folder) == range(12, 16)


@pytest.mark.parametrize(
    ("seen", "others"),
    [
        ([(5, 50_002), (12, 50_001), (15, 50_001)], None),
        ([(12, 50_001), (15, None)], None),
        ([], None),
        ([(12, 50_002), (15, 50_001)], r"\[50001, 50002\]"),
        ([(15, 50_002)], r"\[50002\]"),
    ],
)
def test_the_connection_looked_at_is_the_one_that_carried(
    seen: list[tuple[int, int | None]], others: str | None
) -> None:
    """From the first payload on, the sampled connection must be the payload's. Before, any connection is allowed."""
    samples = [process_sample(t_ns, port) for t_ns, port in seen]
    if others is None:
        check_connection(50_001, samples, range(12, 16))
    else:
        with pytest.raises(InvalidRun, match=rf"sampled connection: asked for \[50001\], observed {others}"):
            check_connection(50_001, samples, range(12, 16))
