"""Tests of `priolab probe` without a server: its URLs and its results."""

import json
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from priolab.analysis.loads.probe import Probe
from priolab.client.dialects import PLAIN
from priolab.client.plan import STEPS
from priolab.client.priorities import Priorities
from priolab.client.transport import TransportFailed
from priolab.common.formats.events import Event, Kind
from priolab.experiments.cli import main
from priolab.experiments.commands import probe, probe_answers
from priolab.experiments.commands.target import _REFUSALS, STEP, Hurried, Refused, Site, parsed_url
from priolab.experiments.commands.trial import Trial


def seen(steps: int, script: int) -> Probe:
    return Probe(important="second", steps=steps, served=(("second", script), ("first", 100 - script)))


@pytest.mark.parametrize(
    ("url", "means"),
    [
        ("https://a.test", ("a.test", 443, "/")),
        ("https://a.test:8443/x?y=1&z=%20#part", ("a.test", 8443, "/x?y=1&z=%20")),
        ("https://[::1]:8443/a b/ü", ("::1", 8443, "/a%20b/%C3%BC")),
        ("http://a.test/x", ("a.test", 80, "/x")),
    ],
)
def test_a_url(url: str, means: tuple[str, int, str]) -> None:
    """A URL gives host, port, and the path of the request with its special characters escaped."""
    assert parsed_url("url", url) == means


@pytest.mark.parametrize(
    ("steps", "asked", "swapped", "word"),
    [
        (100, 98, 2, "strict"),
        (100, 97, 3, "proportional"),
        (25, 95, 5, "strict"),
        (100, 52, 48, "proportional"),
        (25, 52, 48, "ignored"),
    ],
)
def test_a_step_more_or_less_decides_nothing(steps: int, asked: int, swapped: int, word: str) -> None:
    """A step of the window more or less does not change a dialect's result, even if there are few steps."""
    probes = cycle((seen(steps, asked), seen(steps, swapped)))
    assert probe._answer(PLAIN, lambda _: next(probes)).word == word


@pytest.mark.parametrize(
    ("usual", "strong", "word"),
    [
        ((100, 0), (100, 0), "strict"),
        ((55, 46), (88, 12), "proportional"),
        ((60, 49), (3, 95), "contrary"),
        ((50, 50), (50, 50), "ignored"),
        ((55, 46), (50, 50), "ignored"),
        ((50, 50), (88, 12), "proportional"),
        ((55, 46), (100, 0), "proportional"),
    ],
)
def test_weights_that_differ_little_and_much(usual: tuple[int, int], strong: tuple[int, int], word: str) -> None:
    """In a dialect with weights one word stands for both pairs of probes; the table has each with its weights."""
    probes = iter(seen(100, share) for share in (*usual, *strong))
    answer = probe._answer(PLAIN, lambda _: next(probes))
    assert answer.word == word
    assert list(answer.rows("plain")) == [
        ("plain", word, "weights 183:147 ask for 55%", f"{usual[0]}%", f"{100 - usual[1]}%"),
        ("", "", "weights 256:32 ask for 89%", f"{strong[0]}%", f"{100 - strong[1]}%"),
    ]
    found = answer.document()
    assert found["asked"] == [{"signals": "weights 183:147", "share": 0.5545}]
    assert found["strong"] == {
        "asked": [{"signals": "weights 256:32", "share": 0.8889}],
        "second_share": {"asked": strong[0] / 100, "swapped": strong[1] / 100},
    }


def test_a_refusal_is_an_answer() -> None:
    """A dialect that the server refuses has the refusal as its result."""

    def refused(_: object) -> Probe:
        raise Refused("probing", "the server said no")

    answer = probe._answer(PLAIN, refused)
    assert list(answer.rows("plain")) == [("plain", "refused", "the server said no", "", "")]
    assert answer.document() == {"reading": None, "refusal": "the server said no", "not_measured": None}


def test_what_is_not_measured_is_no_refusal() -> None:
    """A probe that tells nothing of the server has the reason, and the word for it is not `refused`."""
    site = Site(host="a.test", authority="a.test", address="::1", port=443, path="/", second="/", ca=Path("ca.pem"))
    trial = Trial()
    late = [Event(t_ns=0, kind=Kind.WINDOW_OPENED, load=1, size_bytes=STEPS.size_bytes)]
    late += [Event(t_ns=1, kind=Kind.DATA, load=1, resource="first", size_bytes=9 * STEPS.size_bytes)]
    answer = probe._answer(PLAIN, lambda _: site.probe_in(trial, late, "; --pause gives longer pauses"))
    ((_, word, reason, *_),) = answer.rows("plain")
    assert word == "not measured"
    assert reason.endswith("so their order does not show what the server chose; --pause gives longer pauses")
    assert answer.document() == {"reading": None, "refusal": None, "not_measured": reason}


@pytest.mark.parametrize(
    ("reason", "refused"),
    [
        ("the front closed the connection", True),
        ("the connection broke: [Errno 104] Connection reset by peer", True),
        ("load 1 of 1: the front sent GOAWAY (PROTOCOL_ERROR); unfinished: first", True),
        ("the front reset the stream of first: REFUSED_STREAM", True),
        ("the front answered first with status 400", True),
        ("the load took longer than its deadline", False),
        ("the connection broke: [Errno 113] No route to host", False),
        ("TLS: certificate verify failed", False),
        ("the front sent more than 1000 bytes of DATA", False),
    ],
)
def test_who_ended_a_trial(reason: str, refused: bool) -> None:  # noqa: FBT001
    """A server refuses a dialect only if it ended the connection or the stream, or answered with an error."""
    assert bool(_REFUSALS.search(reason)) is refused


@pytest.mark.parametrize(
    ("unasked", "turned", "told"),
    [
        (0.5, 0.5, "shared"),
        (1.0, 1.0, "the second URL before the first, whichever is requested first"),
        (0.0, 0.0, "the first URL before the second, whichever is requested first"),
        (0.0, 1.0, "first come, first served"),
    ],
)
def test_own_order(unasked: float, turned: float, told: str) -> None:
    """The server's own order is named in terms of the two URLs."""
    assert probe_answers.own_order_in_words(unasked, turned) == told


@pytest.mark.parametrize("words", [[], ["--json"]], ids=["table", "json"])
def test_the_deadline_comes_between_dialects(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """At the deadline the command fails, prints the results so far, and names the dialects without a result."""
    site = Site(host="a.test", authority="a.test", address="::1", port=443, path="/", second="/", ca=Path("ca.pem"))
    plain = {Priorities.NONE: seen(100, 50), Priorities.SPDY: seen(100, 98), Priorities.SWAP: seen(100, 2)}

    def probe_in_time(trial: Trial, *_: Any) -> Probe:
        if trial.dialect == PLAIN:
            return plain[trial.priorities]
        raise TransportFailed("a probe took longer than its deadline")

    monkeypatch.setattr(probe, "_site", lambda *_: (site, 1))
    monkeypatch.setattr(probe, "_probe", probe_in_time)
    assert main(["probe", "https://a.test/", "--dialect", "plain,chrome,header", *words]) == 1
    said = capsys.readouterr()
    assert said.err.splitlines()[-1] == (
        "priolab: probing: 10 probes took more than 30 s; not measured: chrome, header; --deadline gives more time"
    )
    if words:
        found = json.loads(said.out)
        assert found["unasked"]["own_order"] == "shared"
        assert [found["dialects"][name]["reading"] for name in ("plain", "chrome", "header")] == ["strict", None, None]
        assert found["dialects"]["chrome"] == {"reading": None, "refusal": None, "not_measured": None}
    else:
        rows = [line.split() for line in said.out.splitlines()]
        assert ["plain", "strict", *["weights", "183:147", "ask", "for", "55%"], "98%", "98%"] in rows
        assert ["chrome", "not", "measured", *["the", "deadline", "came", "first"]] in rows
        assert ["header", "not", "measured", *["the", "deadline", "came", "first"]] in rows
        assert "Without priorities: shared" in said.out


@pytest.mark.parametrize(("hurried", "code"), [([Priorities.NONE], 0), ([*Priorities], 1)], ids=["own order", "all"])
def test_bytes_that_came_late(
    hurried: list[Priorities], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The dialects are asked although the server's own order is not measured; nothing measured is a failure."""
    site = Site(host="a.test", authority="a.test", address="::1", port=443, path="/", second="/", ca=Path("ca.pem"))

    def probe_late(trial: Trial, *_: Any) -> Probe:
        if trial.priorities in hurried:
            raise Hurried(STEP, "bytes came late")
        return seen(100, 98 if trial.priorities is Priorities.SPDY else 2)

    monkeypatch.setattr(probe, "_site", lambda *_: (site, 0))
    monkeypatch.setattr(probe, "_probe", probe_late)
    assert main(["probe", "https://a.test/", "--dialect", "header"]) == code
    said = capsys.readouterr()
    assert "Without priorities: not measured: bytes came late." in said.out
    assert any(line.startswith("header   strict") for line in said.out.splitlines()) is (code == 0)
    assert said.err.endswith("" if code == 0 else "probing: bytes came late\n")
