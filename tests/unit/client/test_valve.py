"""The valve of a probe: what is opened when."""

from client.valve import MOST_STEPS, WIDE_BYTES, Opening, Valve


def test_nothing_is_opened_before_all_have_begun() -> None:
    """Nor while there is no stream but the page's."""
    valve = Valve(100)
    assert valve.turn([], begun=True, left_bytes=5000) == []
    assert valve.turn([3, 5], begun=False, left_bytes=5000) == []


def test_the_first_stream_uses_up_the_connections_window() -> None:
    """Just as much as there is; and nothing follows until it has come."""
    valve = Valve(100)
    assert valve.turn([3, 5], begun=True, left_bytes=5000) == [Opening(3, 5000)]
    assert valve.turn([3, 5], begun=True, left_bytes=100) == []


def test_a_rest_may_be_left() -> None:
    """Less than a step of it: not every front makes a frame of a few bytes."""
    valve = Valve(100)
    valve.turn([3, 5], begun=True, left_bytes=5000)
    assert valve.turn([3, 5], begun=True, left_bytes=99)[-1] == Opening(0, 100)


def test_a_front_that_leaves_more() -> None:
    """When nothing has come for some turns, nothing will."""
    valve = Valve(100)
    valve.turn([3, 5], begun=True, left_bytes=5000)
    turns = [valve.turn([3, 5], begun=True, left_bytes=4000) for _ in range(6)]
    assert turns[:-1] == [[]] * 5
    assert turns[-1][-1] == Opening(0, 100)


def test_a_window_that_is_used_up_already() -> None:
    """A window cannot grow by nothing (RFC 9113, 6.9)."""
    assert Valve(100).turn([3, 5], begun=True, left_bytes=0) == [Opening(3, 1)]


def test_a_first_stream_that_is_too_small() -> None:
    """There is no choice to be seen: all may come."""
    for leave in (False, True):
        valve = Valve(100, leave=leave)
        valve.turn([3, 5], begun=True, left_bytes=5000)
        assert not valve.is_left
        assert valve.turn([5], begun=True, left_bytes=4000) == [Opening(5, WIDE_BYTES), Opening(0, WIDE_BYTES)]
        assert valve.is_left is leave


def test_it_ends() -> None:
    """After so many steps the rest may come, however large the streams are."""
    valve = Valve(100)
    valve.turn([3, 5], begun=True, left_bytes=5000)
    steps = [valve.turn([3, 5], begun=True, left_bytes=0)[-1] for _ in range(MOST_STEPS + 1)]
    assert steps == [Opening(0, 100)] * MOST_STEPS + [Opening(0, WIDE_BYTES)]
    assert valve.turn([3, 5], begun=True, left_bytes=0) == []


def test_step_by_step_until_one_has_ended() -> None:
    """Every stream wide open, and of the connection's window a step at a time; all of it when one has ended."""
    valve = Valve(100)
    valve.turn([3, 5], begun=True, left_bytes=5000)
    wide = [Opening(3, WIDE_BYTES), Opening(5, WIDE_BYTES)]
    assert valve.turn([3, 5], begun=True, left_bytes=0) == [*wide, Opening(0, 100)]
    assert valve.turn([3, 5], begun=True, left_bytes=0) == [Opening(0, 100)]
    assert valve.turn([3, 5], begun=True, left_bytes=7) == [Opening(0, 100)]
    assert valve.turn([3], begun=True, left_bytes=0) == [Opening(0, WIDE_BYTES)]
    assert valve.turn([3], begun=True, left_bytes=0) == []
