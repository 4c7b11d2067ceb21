"""Tests of docs/measured/transition.md: tables of signals, and figures in sentences."""

from collections.abc import Mapping
from typing import Any

import pytest

from priolab.analysis.loads.verdict import NO_ORDER
from priolab.analysis.reports.markdown import places as marked
from priolab.experiments.commands.study import document_of
from priolab.extras.studies.transition import CLIENTS
from priolab.extras.studies.transition_document import Case, Front, Sent, places

_FRONTS = (
    Front(server="old", reads="RFC 7540"),
    Front(server="older", reads="RFC 7540"),
    Front(server="new", reads="RFC 9218"),
)
_COMPLETE_MS = {"old": 2000.0, "older": 4000.0, "new": 9000.0}


def _request(resource: str, **said: Any) -> dict[str, Any]:
    nothing = {"weight": None, "exclusive": False, "parent_stream_id": 0, "depends_on": None, "field": None}
    return {"load": 1, "resource": resource, "later": [], **nothing, **said}


def _browser(*requests: Mapping[str, Any], **frames: int) -> dict[str, Any]:
    return {
        "product": "Lynx 3",
        "requests": requests,
        "frames_sent": frames,
        "no_rfc7540_priorities": False,
        "stream_window_bytes": 65536,
    }


_PAGE = _request("page", weight=256, exclusive=True, field="u=0, i")
_FETCH = _request("fetch-high", weight=22, parent_stream_id=7, depends_on="page")
_RAISED = {"weight": 220, "exclusive": True, "parent_stream_id": 0, "depends_on": None, "field": None}
_UPDATED = {"weight": None, "exclusive": False, "parent_stream_id": 0, "depends_on": None, "field": "u=1"}
_IMAGE = _request("image", field="u=5, i", later=[_RAISED, _UPDATED])


@pytest.fixture
def told() -> Mapping[str, str]:
    """Returns the places of one browser and one page."""
    sent = Sent(
        browser=_browser(_FETCH, _IMAGE, _PAGE, PRIORITY=1), told=_browser(_PAGE, _request("page", field="u=0", load=2))
    )
    arms = {
        Case(page="news", client="lynx", server=server, lowat=lowat): {
            "verdict": "undecided" if server == "older" else "kept",
            "verdict_reason": NO_ORDER if server == "older" else "0% arrived before",
            "first_byte_ms": 1000.0,
            "important_last_byte_ms": complete_ms + (500 if lowat == "none" else 0),
            "others_last_byte_ms": 12_345.6,
        }
        for server, complete_ms in _COMPLETE_MS.items()
        for lowat in ("none", "16384")
    }
    return places({"lynx": sent}, _FRONTS, arms, ("news",))


def test_the_places_are_those_of_the_document(told: Mapping[str, str]) -> None:
    """The document has these places for each browser and each page."""
    of_browser = [name.removeprefix("lynx") for name in told if name.startswith("lynx")]
    expected = {f"{client}{name}" for client in CLIENTS for name in of_browser}
    assert marked(document_of("transition")).keys() == expected | {"sent", "fronts", "medians", "news", "maps"}


@pytest.mark.parametrize(
    "line",
    [
        "| page | 256, exclusive | `u=0, i` |  |",
        "| image |  | `u=5, i` | PRIORITY weight 220, exclusive; PRIORITY_UPDATE `u=1` |",
        "| fetch, high | 22, on page |  |  |",
        "| `lynx` | `old` | kept | 1.00 | 2.50 | 12.35 | kept | 1.00 | 2.00 | 12.35 |",
        "| `lynx` | `older` | no order | 1.00 | 4.50 | 12.35 | no order | 1.00 | 4.00 | 12.35 |",
        "| news | lynx | 3.50 | 9.50 | 3.00 | 9.00 |",
        "| `lynx` | not sent | 1 and 0 | 0 and 0 | no weights | 64 KiB |",
    ],
)
def test_rows(told: Mapping[str, str], line: str) -> None:
    """Each request, each browser and each front has a row, and the medians of the fronts of each RFC have one."""
    assert line in "\n".join(told.values()).splitlines()


def test_the_order_of_the_signals(told: Mapping[str, str]) -> None:
    """The page comes first; the browser and the RFC of each front are named."""
    assert told["lynx-product"] == "Lynx 3"
    assert told["fronts"] == "RFC 7540: `old`, `older`; RFC 9218: `new`"
    signals = told["lynx-signals"]
    assert signals.index("| page |") < signals.index("| image |") < signals.index("| fetch, high |")


@pytest.mark.parametrize(
    ("request_said", "words"),
    [
        ({"weight": 22}, "weights"),
        ({"field": "u=1"}, "no weights"),
        ({}, "no weights, no header field"),
    ],
)
def test_what_a_told_browser_does(request_said: Mapping[str, Any], words: str) -> None:
    """The cell about a front with SETTINGS_NO_RFC7540_PRIORITIES=1 does not depend on the first load."""
    told = _browser(_PAGE, _request("page", load=2, **request_said))
    found = places({"lynx": Sent(browser=_browser(_PAGE), told=told)}, (), {}, ())
    assert f"| {words} | 64 KiB |" in found["sent"]
