"""Tests of what signals ask for: their words, and the share of the window."""

import pytest

from priolab.analysis.loads.requested_share import asked
from priolab.client import dialects
from priolab.client.plan import signals_for
from priolab.client.priorities import Priorities
from priolab.common.formats.plan import Change, Group, Position, Protocol, Signals
from priolab.experiments.scenario.stimuli import Stimulus, asked_by, stimuli_of, stimulus_page


def shares(first: Position, second: Position, *groups: Group) -> list[float | None]:
    requests = {"first": Signals(position=first), "second": Signals(position=second)}
    return [each.share for each in asked(requests, "second", groups=groups)]


def test_weights() -> None:
    """Siblings share by weight. A parent gets all, and so does whoever a chain puts on top.

    A parent that is requested only later is the root.
    """
    assert shares(Position(weight=50), Position(weight=200)) == [0.8]
    assert shares(Position(weight=256), Position(weight=1, depends_on="first")) == [0]
    assert shares(Position(weight=255, depends_on="second"), Position(weight=1)) == [1 / 256]
    assert shares(Position(weight=256), Position(weight=1, exclusive=True)) == [1]
    assert shares(Position(weight=1, exclusive=True), Position(weight=256, depends_on="first", exclusive=True)) == [0]


def test_groups() -> None:
    """A group sends nothing: its weight counts for the streams that depend on it."""
    groups = (
        Group(name="a", stream_id=3, position=Position(weight=30)),
        Group(name="b", stream_id=5, position=Position(weight=10)),
        Group(name="c", stream_id=7, position=Position(weight=10, depends_on="b")),
    )
    assert shares(Position(weight=1, depends_on="a"), Position(weight=200, depends_on="c"), *groups) == [0.25]
    assert shares(Position(weight=10, depends_on="b"), Position(weight=200, depends_on="c"), *groups) == [0.5]


@pytest.mark.parametrize(
    ("first", "second", "share"),
    [
        ("u=5, i", "u=2", 1),
        ("u=2", "u=5", 0),
        ("i", "u=3, i", 0.5),
        (None, "u=3", None),
        (None, "u=4", 0),
    ],
)
def test_fields(first: str | None, second: str, share: float | None) -> None:
    """The more urgent response gets all; two incremental ones of one urgency share. The default urgency is 3."""
    requests = {"first": Signals(field=first), "second": Signals(field=second)}
    (found,) = asked(requests, "second")
    assert found.share == share
    assert found.words == f"the fields {second} and {first or '(none)'}"


def test_levels_and_no_signals() -> None:
    """SPDY's levels ask for all. Without signals nothing is asked for."""
    requests = {"first": Signals(level=3), "second": Signals(level=2)}
    assert [str(each) for each in asked(requests, "second")] == ["levels 2 and 3 ask for 100%"]
    assert asked({"first": Signals(), "second": Signals()}, "second") == ()


def test_later_changes_count() -> None:
    """Changes of priority replace what the requests ask for, of either kind."""
    requests = {"first": Signals(position=Position(weight=10)), "second": Signals(position=Position(weight=30))}
    changes = [Change(resource="first", position=Position(weight=90)), Change(resource="second", field="u=1")]
    found = asked(requests, "second", changes=changes)
    assert [each.share for each in found] == [0.25, 1]


@pytest.mark.parametrize(
    ("dialect", "words"),
    [
        ("plain", ["weights 183:147 ask for 55%", "weights 256:32 ask for 89%"]),
        ("plain+reprioritize", ["weights 183:147 ask for 55%", "weights 256:32 ask for 89%"]),
        ("reprioritize", ["weights 183:147 ask for 55%", "weights 256:32 ask for 89%"]),
        ("chrome", ["weights 183:147 in a tree ask for 100%"]),
        ("firefox", ["weights 32:22 in a tree ask for 97%"]),
        ("safari", ["weights 24:8 ask for 75%"]),
        ("header+update", ["the fields u=2 and u=5 ask for 100%"]),
        ("chrome+header", ["weights 183:147 in a tree ask for 100%, the fields u=2 and (none) ask for 100%"]),
    ],
)
def test_dialects(dialect: str, words: list[str]) -> None:
    """The stimuli of each dialect, and what they ask for; the opposite order asks for the rest."""
    parsed = dialects.parse(dialect)
    stimuli = stimuli_of(parsed)
    assert [", ".join(map(str, asked_by(each, parsed))) for each in stimuli] == words
    for stimulus in stimuli:
        there, back = (asked_by(stimulus, parsed, priorities=each) for each in (Priorities.SPDY, Priorities.SWAP))
        assert [each.share for each in back] == [pytest.approx(1 - (each.share or 0)) for each in there]


def test_http3_has_no_weights() -> None:
    """Over HTTP/3 there is one stimulus, with fields."""
    assert stimuli_of(dialects.PLAIN, Protocol.HTTP3) == (Stimulus.USUAL,)
    (found,) = asked_by(Stimulus.USUAL, dialects.PLAIN, Protocol.HTTP3)
    assert found.share == 1


def test_pages_differ_in_weights_alone() -> None:
    """The usual and the strong stimulus send the same in a dialect without the page's weights."""
    pages = [stimulus_page(each, ("/a", "/b")) for each in (Stimulus.USUAL, Stimulus.STRONG)]
    said = [signals_for(Protocol.HTTP2, dialects.HEADER, Priorities.SPDY, page, page.resources) for page in pages]
    assert said[0] == said[1]
