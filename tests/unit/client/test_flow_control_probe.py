"""Tests of the valve of a probe, which decides which flow-control windows the client enlarges, and when.

A call of `turn` means that nothing has arrived for a while. A step is an increase of the connection's window.
"""

from priolab.client.flow_control_probe import MOST_PARKED_TURNS, MOST_STEPS, WIDE_BYTES, Opening, Valve


def test_a_response_may_fail_to_begin() -> None:
    """With most_parked, the windows are opened after so many calls of `turn`, even if a response has not begun."""
    valve = Valve(100, most_parked=MOST_PARKED_TURNS)
    for _ in range(MOST_PARKED_TURNS):
        assert valve.turn([3, 5], begun=False, left_bytes=5000) == []
    assert valve.turn([3, 5], begun=False, left_bytes=5000) == [Opening(3, 5000)]


def test_the_first_stream_uses_up_the_connections_window() -> None:
    """The first stream's window is enlarged by what is left of the connection's window.

    No other window is enlarged until this data has arrived.
    """
    valve = Valve(100)
    assert valve.turn([3, 5], begun=True, left_bytes=5000) == [Opening(3, 5000)]
    assert valve.turn([3, 5], begun=True, left_bytes=100) == []


def test_a_rest_may_be_left() -> None:
    """The steps begin when what is left of the connection's window is smaller than a step.

    It need not be 0, because some fronts send no frames of a few bytes.
    """
    valve = Valve(100)
    valve.turn([3, 5], begun=True, left_bytes=5000)
    assert valve.turn([3, 5], begun=True, left_bytes=99)[-1] == Opening(None, 100)


def test_a_front_that_leaves_more() -> None:
    """The steps begin if the connection's window has not changed in five calls of `turn`."""
    valve = Valve(100)
    valve.turn([3, 5], begun=True, left_bytes=5000)
    turns = [valve.turn([3, 5], begun=True, left_bytes=4000) for _ in range(6)]
    assert turns[:-1] == [[]] * 5
    assert turns[-1][-1] == Opening(None, 100)


def test_a_window_that_is_used_up_already() -> None:
    """If no window is left, the increment is 1, because 0 is not allowed (RFC 9113, 6.9)."""
    assert Valve(100).turn([3, 5], begun=True, left_bytes=0) == [Opening(3, 1)]


def test_a_first_stream_that_is_too_small() -> None:
    """If the first stream ends early, there is no choice to observe, so all windows are opened.

    With leave=True the load may end then.
    """
    for leave in (False, True):
        valve = Valve(100, leave=leave)
        valve.turn([3, 5], begun=True, left_bytes=5000)
        assert not valve.is_left
        assert valve.turn([5], begun=True, left_bytes=4000) == [Opening(5, WIDE_BYTES), Opening(None, WIDE_BYTES)]
        assert valve.is_left is leave


def test_it_ends() -> None:
    """After MOST_STEPS steps the connection's window is opened wide, however large the streams are."""
    valve = Valve(100)
    valve.turn([3, 5], begun=True, left_bytes=5000)
    steps = [valve.turn([3, 5], begun=True, left_bytes=0)[-1] for _ in range(MOST_STEPS + 1)]
    assert steps == [Opening(None, 100)] * MOST_STEPS + [Opening(None, WIDE_BYTES)]
    assert valve.turn([3, 5], begun=True, left_bytes=0) == []
