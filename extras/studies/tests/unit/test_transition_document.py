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
    Front(server="new", reads="RFC 9218", moved_from="old"),
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
    assert marked(document_of("transition")).keys() == expected | {"news", "news-moves", "maps", "maps-moves"}


@pytest.mark.parametrize(
    "line",
    [
        "| page | weight 256, exclusive, on the root | `u=0, i` |  |",
        "| image |  | `u=5, i` | PRIORITY weight 220, exclusive, on the root; PRIORITY_UPDATE `u=1` |",
        "| fetch, high | weight 22, on page |  |  |",
        "| `lynx` | `old` | RFC 7540 | unset | kept | 1.00 s | 2.50 s | 12.35 s |",
        "| `lynx` | `older` | RFC 7540 | unset | undecided: asked for no order | 1.00 s | 4.50 s | 12.35 s |",
        "| `lynx` | `new` | RFC 9218 | 16384 | kept | 1.00 s | 9.00 s | 12.35 s |",
    ],
)
def test_rows(told: Mapping[str, str], line: str) -> None:
    """Each request and each arm has a row."""
    assert line in f"{told['lynx-signals']}\n{told['news']}".splitlines()


def test_figures_in_sentences(told: Mapping[str, str]) -> None:
    """The sentences have the medians of the fronts of each RFC, and the move of one server."""
    words = " ".join(told["news-moves"].split())
    assert "with LOWAT at 16384 after 3.00 s at the fronts that read RFC 7540, and after 9.00 s at those" in words
    assert "with LOWAT unset after 3.50 s at the fronts" in words
    assert (
        "`old` to `new`, Lynx 3: complete from 2.50 s to 9.50 s with LOWAT unset, from 2.00 s to 9.00 s with" in words
    )
    assert told["lynx-frames"] == "1 PRIORITY and no PRIORITY_UPDATE frames"
    assert (told["lynx-told"], told["lynx-settings"]) == ("sends no weights", "does not send")
    assert (told["lynx-product"], told["lynx-window"]) == ("Lynx 3", "64 KiB")
    signals = told["lynx-signals"]
    assert signals.index("| page |") < signals.index("| image |") < signals.index("| fetch, high |")


@pytest.mark.parametrize(
    ("request_said", "words"),
    [
        ({"weight": 22}, "still sends weights"),
        ({"field": "u=1"}, "sends no weights"),
        ({}, "sends neither weights nor header fields once it has these SETTINGS. So it asks such a front"),
    ],
)
def test_what_a_told_browser_does(request_said: Mapping[str, Any], words: str) -> None:
    """The sentence about a front with SETTINGS_NO_RFC7540_PRIORITIES=1 does not depend on the first load."""
    told = _browser(_PAGE, _request("page", load=2, **request_said))
    found = places({"lynx": Sent(browser=_browser(_PAGE), told=told)}, (), {}, ())
    assert found["lynx-told"].startswith(words)
