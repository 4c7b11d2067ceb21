"""Tests of the way of a byte in the captures."""

from typing import Literal

from priolab.analysis.loads.capture_match import crossing
from priolab.common.formats.segments import Segment

_MSS = 1448


def _segment(end: Literal["client", "server"], t_ns: int, number: int, packets: int = 1) -> Segment:
    return Segment(end=end, t_ns=t_ns, position_bytes=number * _MSS, size_bytes=packets * _MSS)


def test_a_byte_that_was_not_lost() -> None:
    """The front's packet may be larger than the link's; the byte is complete when it arrives."""
    found = crossing([_segment("server", 5, 0, 3), *(_segment("client", 50 + n, n) for n in range(3))], 2 * _MSS, 10)
    assert found is not None
    assert (found.first_sent_ns, found.sent_ns, found.arrived_ns, found.complete_ns) == (5, 5, 51, 51)
    assert (found.was_lost, found.recovery_ns, found.packet_bytes) == (False, 0, _MSS)


def test_a_byte_that_was_lost() -> None:
    """The copy that arrived is the last that was sent long enough before; a later copy came too late to count."""
    sent = [_segment("server", t_ns, 0) for t_ns in (5, 105, 195)]
    found = crossing([*sent, _segment("client", 200, 0)], 1, 50)
    assert found is not None
    assert (found.sent_ns, found.arrived_ns, found.was_lost) == (105, 200, True)
    assert found.recovery_ns == 100


def test_a_copy_that_was_not_needed() -> None:
    """If all copies arrived, the first counts."""
    segments = [
        _segment("server", 5, 0),
        _segment("server", 80, 0),
        *(_segment("client", t_ns, 0) for t_ns in (150, 160)),
    ]
    found = crossing(segments, 1, 50)
    assert found is not None
    assert (found.sent_ns, found.was_lost) == (5, False)


def test_a_byte_behind_a_hole() -> None:
    """A byte that waits for one before it is complete when that has come, however the packets overlap."""
    segments = [
        _segment("server", 5, 0, 2),
        _segment("client", 50, 1),
        _segment("client", 150, 0, 2),
    ]
    found = crossing(segments, 2 * _MSS, 10)
    assert found is not None
    assert (found.arrived_ns, found.complete_ns, found.recovery_ns) == (50, 150, 100)


def test_a_byte_that_the_captures_lack() -> None:
    """Without the byte at both ends there is no answer."""
    assert crossing([_segment("server", 5, 0)], 1, 10) is None
    assert crossing([], 1, 10) is None
