"""Tests of the result of a probe, and of the verdict on a probe."""

import pytest

from priolab.analysis.loads.probe import Probe, judge_probe, probe_of, was_hurried
from priolab.common.formats.events import Event, Kind
from tests.support.builders import maps


def event(kind: str, resource: str | None = None, size_bytes: int | None = None) -> Event:
    stream_id = {"image": 3, "script": 5}.get(resource or "")
    return Event(t_ns=0, kind=Kind(kind), load=1, resource=resource, stream_id=stream_id, size_bytes=size_bytes)


STEP = event("window-opened", size_bytes=100)


def test_only_what_was_a_choice_counts() -> None:
    """Payload counts from the connection's first window step to the last byte of the first stream that ends."""
    probe = probe_of(
        [
            event("data", "image", 1024),
            event("window-opened", "image", 5000),
            event("data", "image", 5000),
            STEP,
            event("data", "script", 60),
            event("data", "script", 40),
            STEP,
            event("data", "image", 100),
            event("data", "script", 7),
            event("ended", "image"),
            event("data", "script", 900),
        ],
        maps(),
    )
    assert probe == Probe(important="script", steps=2, served=(("script", 100), ("image", 100)))
    assert probe.important_share == 0.5
    assert Probe.from_record(probe.as_record()) == probe


def test_what_comes_after_the_steps_does_not_count() -> None:
    """The counting ends when the window is opened by more than a step, even if no stream has ended."""
    wide = event("window-opened", size_bytes=10**6)
    probe = probe_of(
        [STEP, event("data", "script", 100), wide, event("data", "image", 900), event("ended", "image")], maps()
    )
    assert probe == Probe(important="script", steps=1, served=(("script", 100),))


@pytest.mark.parametrize(("served", "hurried"), [(1000, False), (1200, False), (1201, True)])
def test_a_hurried_probe(served: int, hurried: bool) -> None:  # noqa: FBT001
    """A probe was hurried if more bytes count than the steps opened, and two steps more."""
    probe = Probe(important="script", steps=10, served=(("script", 10), ("image", served - 10)))
    assert was_hurried(probe, [event("window-opened", "script", 5000), STEP], 100) is hurried


def test_a_window_that_was_left_unused() -> None:
    """Bytes of a stream whose window was closed before the first step were not on their way then."""
    probe = Probe(important="script", steps=10, served=(("script", 3000), ("image", 10)))
    assert not was_hurried(probe, [event("window-opened", "image", 5000), STEP], 100)


@pytest.mark.parametrize("events", [[], [event("data", "image", 1)], [STEP]])
def test_no_probe(events: list[Event]) -> None:
    """Without a window step, or without payload after a step, there is no result."""
    assert probe_of(events, maps()) is None


@pytest.mark.parametrize(
    ("script", "favoured", "verdict", "told"),
    [
        (100, "script", "kept", "gave the script 100% of the window"),
        (98, "script", "kept", "98%"),
        (97, "script", "undecided", "97%"),
        (3, "script", "undecided", "3%"),
        (2, "script", "inverted", "2% of the window, though it was asked for first"),
        (0, "image", "kept", "gave the image 100% of the window"),
        (100, "image", "inverted", "gave the image 0% of the window"),
        (100, None, "undecided", "the client asked for no order; the front gave the script 100%"),
    ],
)
def test_verdicts(script: int, favoured: str | None, verdict: str, told: str) -> None:
    """The verdict is `kept` if the resource asked for first got 98 % of the bytes, `inverted` if 2 % or less."""
    probe = Probe(important="script", steps=1, served=(("script", script), ("image", 100 - script)))
    judgement = judge_probe(probe, () if favoured is None else (favoured,))
    assert judgement.verdict == verdict
    assert told in judgement.reason


@pytest.mark.parametrize(
    ("script", "verdict"),
    [(100, "kept"), (56, "kept"), (53, "kept"), (52, "undecided"), (50, "undecided"), (2, "inverted")],
)
def test_weights(script: int, verdict: str) -> None:
    """If weights ask for 55 %, a share of 55 % keeps the order, and an even one does not, as in a load."""
    probe = Probe(important="script", steps=1, served=(("script", script), ("image", 100 - script)))
    judgement = judge_probe(probe, ("script",), asked=183 / 330)
    assert judgement.verdict == verdict
    assert ("and 55% was asked for" in judgement.reason) == (verdict != "inverted")
