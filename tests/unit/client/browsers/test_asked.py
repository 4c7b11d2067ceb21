"""Tests of the resource that a browser asks for first, by RFC 7540's tree and RFC 9218's urgency."""

import pytest

from client.browsers.asked import Saying, asked, urgency

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
        ([_share(_IMAGE, 10)], None),
        ([_share(_IMAGE, 10), _say(_SCRIPT)], _SCRIPT),
        ([_say(_IMAGE), _share(_SCRIPT, 10)], _IMAGE),
        ([_share(_IMAGE, 10), _say(_SCRIPT), _share(_SCRIPT, 7)], _IMAGE),
        ([_share(_SCRIPT, 10), _share(_IMAGE, 7), _say(_IMAGE, field="u=1")], _SCRIPT),
    ],
)
def test_by_the_tree(sayings: list[Saying], first: int | None) -> None:
    """A parent comes before its children, siblings come by weight, and a later signal replaces an earlier one.

    A request without a signal has weight 16.
    """
    found = asked(sayings, _SCRIPT, _IMAGE)
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
    found = asked([_say(stream, field=field) for stream, field in fields], _SCRIPT, _IMAGE)
    assert (found.by_tree, found.by_field, found.first) == (None, first, first)


def test_a_tree_counts_before_a_field() -> None:
    """If tree and field are sent, only the tree counts, as for a server by default."""
    found = asked([_say(_IMAGE, 183, field="u=1"), _say(_SCRIPT, 220, field="u=2")], _SCRIPT, _IMAGE)
    assert (found.by_tree, found.by_field, found.first) == (_SCRIPT, _IMAGE, _SCRIPT)


@pytest.mark.parametrize(("field", "found"), [("u=0, i", 0), ("i", 3), ("i, u=5", 5), ("", 3), ("xu=1", 3)])
def test_urgency(field: str, found: int) -> None:
    """The urgency is a number from 0 to 7, and 3 by default."""
    assert urgency(field) == found
