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
from priolab.common.errors import StepFailed
from priolab.common.formats.plan import Protocol
from priolab.experiments.cli import main
from priolab.experiments.commands import probe, probe_answers
from priolab.experiments.commands.target import parsed_url


def seen(steps: int, script: int) -> Probe:
    return Probe(important="second", steps=steps, served=(("second", script), ("first", 100 - script)))


@pytest.mark.parametrize(
    ("url", "means"),
    [
        ("https://a.test", ("a.test", 443, "/")),
        ("https://a.test:8443/x?y=1&z=%20#part", ("a.test", 8443, "/x?y=1&z=%20")),
        ("https://[::1]:8443/a b/ü", ("::1", 8443, "/a%20b/%C3%BC")),
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
        raise StepFailed("probing", "the server said no")

    answer = probe._answer(PLAIN, refused)
    assert list(answer.rows("plain")) == [("plain", "refused", "the server said no", "", "")]
    assert answer.document() == {"reading": None, "refusal": "the server said no"}


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
    target = probe._Target(
        protocol=Protocol.HTTP2,
        host="a.test",
        authority="a.test",
        address="::1",
        port=443,
        paths=("/", "/"),
        ca=Path("ca.pem"),
        steps=STEPS,
    )
    plain = {Priorities.NONE: seen(100, 50), Priorities.SPDY: seen(100, 98), Priorities.SWAP: seen(100, 2)}

    def probe_in_time(question: probe._Question, *_: Any) -> Probe:
        if question.dialect == PLAIN:
            return plain[question.priorities]
        raise TransportFailed("a probe took longer than its deadline")

    monkeypatch.setattr(probe, "_target", lambda *_: (target, 1))
    monkeypatch.setattr(probe, "_probe", probe_in_time)
    assert main(["probe", "https://a.test/", "--dialect", "plain,chrome,header", *words]) == 1
    said = capsys.readouterr()
    assert said.err.splitlines()[-1] == (
        "priolab: probing: 10 probes took more than 30 s; answers not seen: chrome, header; --deadline gives more time"
    )
    if words:
        found = json.loads(said.out)
        assert found["unasked"]["own_order"] == "shared"
        assert [found["dialects"][name]["reading"] for name in ("plain", "chrome", "header")] == ["strict", None, None]
        assert found["dialects"]["chrome"] == {"reading": None, "refusal": None}
    else:
        rows = [line.split() for line in said.out.splitlines()]
        assert ["plain", "strict", *["weights", "183:147", "ask", "for", "55%"], "98%", "98%"] in rows
        assert ["chrome", "not", "seen"] in rows
        assert ["header", "not", "seen"] in rows
        assert "Without priorities: shared" in said.out
