"""Tests of priority signals as text, and of the order that they ask for."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from priolab.common.formats.plan import Position
from priolab.common.priority_signals import Saying, Wishes, as_text, from_text, incremental, urgency

_IMAGE, _SCRIPT = 3, 5


def _say(stream_id: int, weight: int | None = None, on: int = 0, *, field: str | None = None) -> Saying:
    """Returns a signal as Chromium sends it: a dependency, on stream `on`, is always exclusive."""
    return Saying(t_ns=0, stream_id=stream_id, weight=weight, depends_on=on, exclusive=weight is not None, field=field)


def _share(stream_id: int, weight: int, on: int = 0) -> Saying:
    return Saying(t_ns=0, stream_id=stream_id, weight=weight, depends_on=on)


@pytest.mark.parametrize(
    ("sayings", "first"),
    [
        ([_say(_IMAGE, 183), _say(_SCRIPT, 183, _IMAGE)], _IMAGE),
        ([_say(_IMAGE, 183), _say(_SCRIPT, 183, _IMAGE), _say(_SCRIPT, 220)], _SCRIPT),
        ([_say(_IMAGE, 183), _say(_SCRIPT, 220)], _SCRIPT),
        ([_say(_SCRIPT, 220), _say(_IMAGE, 183, _SCRIPT)], _SCRIPT),
        ([_share(_IMAGE, 147), _share(_SCRIPT, 183)], _SCRIPT),
        ([_share(_IMAGE, 16), _share(_SCRIPT, 16)], None),
        ([_share(1, 1), _share(7, 200), _share(_IMAGE, 256, 1), _share(_SCRIPT, 1, 7)], _SCRIPT),
        ([_share(_IMAGE, 1), _share(_SCRIPT, 1, _IMAGE), _share(_IMAGE, 1, _SCRIPT)], _SCRIPT),
        ([_say(1, 256), _say(_IMAGE, 183, 1), _say(_SCRIPT, 220, 1)], _SCRIPT),
        ([_share(_IMAGE, 10, 99), _share(_SCRIPT, 20)], _SCRIPT),
        ([_share(_IMAGE, 10), _share(_IMAGE, 10, _IMAGE), _share(_SCRIPT, 20)], _SCRIPT),
        ([_share(_IMAGE, 10)], None),
        ([_share(_IMAGE, 10), _say(_SCRIPT)], _SCRIPT),
        ([_say(_IMAGE), _share(_SCRIPT, 10)], _IMAGE),
        ([_share(_IMAGE, 10), _say(_SCRIPT), _share(_SCRIPT, 7)], _IMAGE),
    ],
)
def test_by_the_tree(sayings: list[Saying], first: int | None) -> None:
    """A parent comes before its children, siblings come by weight, and a later signal replaces an earlier one.

    A request without a signal has weight 16.
    """
    found = Wishes(sayings).between(_SCRIPT, _IMAGE)
    assert (found.by_tree, found.first, found.spoke_tree) == (first, first, True)


@pytest.mark.parametrize(
    ("fields", "first"),
    [
        ([(_IMAGE, "u=2, i"), (_SCRIPT, "u=2")], None),
        ([(_IMAGE, "u=2, i"), (_SCRIPT, "u=2"), (_SCRIPT, "u=1")], _SCRIPT),
        ([(_IMAGE, "i"), (_SCRIPT, "u=2")], _SCRIPT),
        ([(_IMAGE, "u=1"), (_SCRIPT, "i")], _IMAGE),
        ([], None),
    ],
)
def test_by_the_field(fields: list[tuple[int, str]], first: int | None) -> None:
    """Without a tree the urgency alone counts; the default is 3."""
    found = Wishes([_say(stream, field=field) for stream, field in fields]).between(_SCRIPT, _IMAGE)
    assert (found.by_tree, found.by_field, found.first) == (None, first, first)


def test_a_tree_that_contradicts_the_field() -> None:
    """If tree and field ask for opposite orders, no order is asked for: a front may read either."""
    found = Wishes([_say(_IMAGE, 183, field="u=1"), _say(_SCRIPT, 220, field="u=2")]).between(_SCRIPT, _IMAGE)
    assert (found.by_tree, found.by_field, found.first, found.disagrees) == (_SCRIPT, _IMAGE, None, True)


def test_one_of_two_ways_suffices() -> None:
    """An order is asked for if tree or field puts a stream first, and the other puts neither first."""
    same = [_share(_IMAGE, 16), _share(_SCRIPT, 16)]
    found = Wishes([*same, _say(_SCRIPT, field="u=1")]).between(_SCRIPT, _IMAGE)
    assert (found.by_tree, found.first, found.disagrees) == (None, _SCRIPT, False)


def test_by_the_level() -> None:
    """Over SPDY the smaller level comes first; equal levels, or a single one, put neither first."""

    def levels(image: int, *script: int) -> list[Saying]:
        sent = [(_IMAGE, image), *((_SCRIPT, level) for level in script)]
        return [from_text(f"priority={level}", stream, 0, {}) for stream, level in sent]

    between = [
        Wishes(said).between(_SCRIPT, _IMAGE).first for said in (levels(3, 2), levels(2, 3), levels(3, 3), levels(3))
    ]
    assert between == [_SCRIPT, _IMAGE, None, None]


_POSITIONS = st.builds(
    Position,
    weight=st.integers(1, 256),
    depends_on=st.sampled_from([None, "leader", "image"]),
    exclusive=st.booleans(),
)


@given(position=st.none() | _POSITIONS, field=st.none() | st.sampled_from(["u=1", "u=0, i", "i"]))
def test_a_signal_as_text(position: Position | None, field: str | None) -> None:
    """A signal that was written as text is read again; its parent is the stream of the name."""
    streams = {"leader": 7, "image": _IMAGE}
    found = from_text(as_text(position, field), _SCRIPT, 9, streams)
    expected = Saying(t_ns=9, stream_id=_SCRIPT, field=field)
    if position:
        on = streams.get(position.depends_on or "", 0)
        expected = replace(expected, weight=position.weight, depends_on=on, exclusive=position.exclusive)
    assert found == expected


def test_texts_that_name_a_stream_or_nothing() -> None:
    """A parent may be named by its stream's number. An unknown name is the root, and another text is no signal."""
    assert from_text("weight=5 exclusive on stream 11", 3, 0, {}).depends_on == 11
    assert from_text("weight=5 on gone", 3, 0, {}).depends_on == 0
    assert from_text("RST_STREAM (CANCEL)", 3, 0, {}) == from_text(None, 3, 0, {}) == Saying(t_ns=0, stream_id=3)


@pytest.mark.parametrize(("field", "found"), [("u=0, i", 0), ("i", 3), ("i, u=5", 5), ("", 3), ("xu=1", 3)])
def test_urgency(field: str, found: int) -> None:
    """The urgency is a number from 0 to 7, and 3 by default."""
    assert urgency(field) == found


def _two(image: int, script: int) -> list[Saying]:
    return [_share(_IMAGE, image), _share(_SCRIPT, script)]


@pytest.mark.parametrize(
    ("sayings", "share"),
    [
        ([_share(_IMAGE, 147), _share(7, 147), _share(_SCRIPT, 183)], 183 / 477),
        ([_share(11, 30), _share(13, 10), _share(_SCRIPT, 1, 11), _share(_IMAGE, 200, 13), _share(7, 100, 13)], 0.75),
        ([_say(_IMAGE, 256), _say(7, 256, _IMAGE), _say(_SCRIPT, 256)], 1),
        ([_say(_SCRIPT, field="u=1"), _say(_IMAGE, field="u=5, i"), _say(7)], 1),
        ([_say(_SCRIPT, field="u=3, i"), _say(_IMAGE, field="u=3, i"), _say(7, field="i")], 1 / 3),
        ([_say(_SCRIPT, field="u=3"), _say(_IMAGE, field="u=3"), _say(7)], None),
        ([_share(_IMAGE, 16), _share(7, 16), _share(_SCRIPT, 16)], 1 / 3),
        ([_say(_IMAGE), _say(7), _say(_SCRIPT)], None),
        ([replace(each, field="u=1") for each in _two(147, 183)] + [_say(7, field="u=5")], 0.5),
    ],
    ids=[
        "weights",
        "groups",
        "exclusive",
        "urgency",
        "incremental",
        "in turn",
        "equal weights",
        "unsaid",
        "both kinds",
    ],
)
def test_shares_among_several(sayings: list[Saying], share: float | None) -> None:
    """The share is that among all streams which have something to send, and the smallest for which a kind asks."""
    assert Wishes(sayings).share([_SCRIPT], [_IMAGE, 7]) == (None if share is None else pytest.approx(share))


@pytest.mark.parametrize(
    ("field", "flag"),
    [
        ("i", True),
        ("u=3, i", True),
        ("u=3,i=?0", False),
        ("i=?1", True),
        ("i, i=?0", False),
        ("u=2", False),
        ("hi", False),
    ],
)
def test_incremental(field: str, flag: bool) -> None:  # noqa: FBT001
    """The flag is a boolean of structured fields; the last of equal keys counts."""
    assert incremental(field) is flag
