"""How a browser is started, and which of its runs count."""

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.browsing import check_browser, client_command, last_event_ns, observed_browser
from experiments.errors import InvalidRun
from experiments.knobs import scenario_from
from experiments.order import Tools
from experiments.record import RunFolder

_TOOLS = Tools(programs={"chromium": "/usr/bin/chromium"}, versions={})


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """Of a run."""
    folder = RunFolder(tmp_path / "run")
    folder.create()
    return folder


def test_each_client_is_told_what_it_needs(folder: RunFolder) -> None:
    """The lab's own trusts the authority, the browser the front's key; and the browser is named."""
    plan, client, asked = folder.client / "plan.json", folder.client, folder.asked
    own = client_command(scenario_from({}), folder, "python3", Tools(programs={}, versions={}))
    assert own == ("python3", "-m", "client", str(plan), str(asked / "ca.pem"), str(client))
    chromium = client_command(scenario_from({"CLIENT": "chromium"}), folder, "python3", _TOOLS)
    assert chromium[1:3] == ("-m", "client.chromium")
    assert chromium[3:] == (str(plan), str(asked / "front.crt"), str(client), "/usr/bin/chromium")


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
        (_document(3, 3), "connections that carried requests of the browser: asked for 1, observed 2"),
        (_document(6, first="image"), "what the browser asked to come first: asked for script, observed image"),
        (_document(6, first=None), "what the browser asked to come first: asked for script, observed"),
    ],
)
def test_what_a_browser_must_have_done(folder: RunFolder, document: dict[str, Any], words: str | None) -> None:
    """One connection for all requests, whatever it made to spare, and in the measured load the script first."""
    (folder.client / "browser.json").write_text(json.dumps(document))
    found = observed_browser(folder, 256)
    assert found["seeded"] is False
    assert found["browser"]["stream_window_bytes"] == 6_291_456
    if words is None:
        check_browser(found["browser"], "script")
    else:
        with pytest.raises(InvalidRun) as caught:
            check_browser(found["browser"], "script")
        assert words in str(caught.value)


@pytest.mark.parametrize(("own_ns", "coarser_ns"), [(256, 10**6), (None, 10**6), (4 * 10**6, 4 * 10**6)])
def test_the_coarser_clock_counts(folder: RunFolder, own_ns: int | None, coarser_ns: int) -> None:
    """The net log has whole milliseconds, whatever clock it reads."""
    (folder.client / "browser.json").write_text(json.dumps(_document(6)))
    assert observed_browser(folder, own_ns)["clock_resolution_ns"] == coarser_ns


def test_the_last_event_is_the_end(folder: RunFolder) -> None:
    """Of a browser's connection, which is over before its net log is read."""
    (folder.client / "events.jsonl").write_text('{"t_ns": 1}\n{"t_ns": 27}\n')
    assert last_event_ns(folder) == 27
