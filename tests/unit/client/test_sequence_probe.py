"""Tests of the valve of a probe of several streams, alone and in an engine.

A call of `turn` means that nothing has arrived for a while.
"""

from dataclasses import replace

import pytest

from priolab.client.dialects import HEADER
from priolab.client.flow_control_probe import PARKED_BYTES, WIDE_BYTES, Opening
from priolab.client.http2.engine import Http2Engine
from priolab.client.plan import STEPS
from priolab.client.sequence_probe import _MOST_IDLE, SequenceValve, Turn
from priolab.common.formats.page import Cue, Page, Resource
from tests.unit.client.plans import plan_of

_STEP = 100


def _resource(name: str, cue: Cue | None, size_bytes: int = 2000) -> Resource:
    return Resource(name=name, path=f"/{name}", content_type="x/y", size_bytes=size_bytes, weight=16, cue=cue)


def page(*cues: Cue) -> Page:
    """Make a page with the stream that uses up the window, and one stream for each cue: a, b, and so on."""
    others = (_resource("abcdef"[number], cue) for number, cue in enumerate(cues))
    return Page(name="x", title="x", resources=(_resource("plug", Cue(field="u=7"), 100_000), *others))


def stepping(*cues: Cue) -> tuple[SequenceValve, dict[str, int]]:
    """Make a valve whose next turn is the first step, and the streams that are open then."""
    valve = SequenceValve(page(*cues), _STEP)
    names = ["plug", *(name for name, cue in zip("abcdef", cues, strict=False) if not cue.request_step)]
    streams = {name: 2 * number + 1 for number, name in enumerate(names)}
    valve.turn(streams, begun=True, left_bytes=5000)
    return valve, streams


def test_the_first_resource_uses_up_the_window_and_updates_follow() -> None:
    """When all responses have begun, the plug gets what is left, and the changes of priority are sent in order."""
    valve = SequenceValve(page(Cue(updates=("u=7", "u=2")), Cue()), _STEP)
    streams = {"plug": 1, "a": 3, "b": 5}
    assert valve.turn(streams, begun=False, left_bytes=5000) == Turn()
    turn = valve.turn(streams, begun=True, left_bytes=5000)
    assert turn == Turn(openings=(Opening(1, 5000),), updates=(("a", "u=7"), ("a", "u=2")))


def test_windows_open_at_their_steps() -> None:
    """A window is as large as the resource. One with a step stays closed until then, and the plug's to the end."""
    valve, streams = stepping(Cue(), Cue(window_step=2))
    opening = {3: Opening(3, 2000 - PARKED_BYTES), 5: Opening(5, 2000 - PARKED_BYTES)}
    assert valve.turn(streams, begun=True, left_bytes=0).openings == (opening[3], Opening(None, _STEP))
    assert valve.turn(streams, begun=True, left_bytes=0).openings == (Opening(None, _STEP),)
    assert valve.turn(streams, begun=True, left_bytes=0).openings == (opening[5], Opening(None, _STEP))


def test_a_front_that_sends_nothing() -> None:
    """The connection's window does not grow then. After some steps of this kind, all windows open."""
    valve, streams = stepping(Cue())
    valve.turn(streams, begun=True, left_bytes=0)
    turns = [valve.turn(streams, begun=True, left_bytes=_STEP) for _ in range(_MOST_IDLE + 1)]
    assert all(turn.openings == (Opening(None, 0),) for turn in turns[:-1])
    assert turns[-1].openings == (Opening(1, WIDE_BYTES), Opening(3, WIDE_BYTES), Opening(None, WIDE_BYTES))


def test_a_request_at_a_step() -> None:
    """It is made at its step. The next step waits until its response has begun."""
    valve, streams = stepping(Cue(), Cue(request_step=1))
    assert valve.holds_back("b")
    valve.turn(streams, begun=True, left_bytes=0)
    assert valve.turn(streams, begun=True, left_bytes=0) == Turn(requests=("b",))
    assert not valve.holds_back("b")
    streams["b"] = 5
    assert valve.turn(streams, begun=False, left_bytes=0) == Turn()
    assert Opening(5, 2000 - PARKED_BYTES) in valve.turn(streams, begun=True, left_bytes=0).openings


@pytest.mark.parametrize("leave", [False, True])
def test_the_end(leave: bool) -> None:  # noqa: FBT001
    """When all streams but the plug have ended, the windows open, and the load is left if it is to be."""
    valve = SequenceValve(page(Cue()), _STEP, leave=leave)
    valve.turn({"plug": 1, "a": 3}, begun=True, left_bytes=5000)
    valve.turn({"plug": 1, "a": 3}, begun=True, left_bytes=0)
    assert valve.turn({"plug": 1}, begun=True, left_bytes=0).openings == (
        Opening(1, WIDE_BYTES),
        Opening(None, WIDE_BYTES),
    )
    assert valve.is_left is leave


def test_an_update_before_its_request() -> None:
    """A PRIORITY_UPDATE comes before the HEADERS of its stream, or after all HEADERS, and an event tells of it."""
    plan = plan_of(page(Cue(early="u=5"), Cue(at_once="u=1"), Cue(request_step=1)), dialect=HEADER, steps=STEPS)
    engine = Http2Engine(plan)
    engine.data_to_send()
    events = engine.begin_load(0)
    said = [(event.kind, event.resource, event.detail) for event in events if event.resource]
    assert said == [
        ("request-sent", "plug", "priority: u=7"),
        ("priority-sent", "a", "priority: u=5"),
        ("request-sent", "a", None),
        ("request-sent", "b", None),
        ("priority-sent", "b", "priority: u=1"),
    ]
    sent = engine.data_to_send()
    kinds = []
    while sent:
        kinds.append((sent[3], int.from_bytes(sent[5:9])))
        sent = sent[9 + int.from_bytes(sent[:3]) :]
    assert kinds == [(1, 1), (0x10, 0), (1, 3), (1, 5), (0x10, 0)]


def test_an_update_while_another_stream_is_open() -> None:
    """An update for the first request after the load's first response comes while that one's stream is open."""
    first = _resource("warm", None)
    others = (replace(each, after="warm") for each in page(Cue(early="u=5"), Cue(early="u=6")).resources)
    engine = Http2Engine(plan_of(Page(name="x", title="x", resources=(first, *others)), dialect=HEADER, steps=STEPS))
    engine.data_to_send()
    engine.begin_load(0)
    sent, frames = engine.data_to_send(), []
    while sent:
        length = 9 + int.from_bytes(sent[:3])
        frames.append((sent[3], sent[9:length] if sent[3] == 0x10 else b""))
        sent = sent[length:]
    assert [kind for kind, _ in frames if kind in (1, 0x10)] == [1, 0x10]
    assert frames[-1] == (0x10, (5).to_bytes(4) + b"u=5")


def test_pages_of_files_are_sequences() -> None:
    """A page with a cue is for such a probe, and others are not."""
    assert page(Cue()).is_sequence
    assert not Page(name="x", title="x", resources=(_resource("a", None),)).is_sequence
