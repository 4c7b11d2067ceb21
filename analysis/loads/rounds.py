"""The round trips that a front needs to send a document on a connection that has sent little. Pure.

A front sends as much as the congestion window allows, and then waits a round trip for acknowledgments (RFC 5681, 3.1).
`most_rounds` is an upper bound for every congestion control and server of the lab:

1. A new connection may send ten segments. TLS and HTTP/2 use up to five for their set-up, if the document follows at
   once: the end of the handshake, two session tickets, SETTINGS and its acknowledgment.
2. The segments of a document need not be full: a server writes a record at a time, and a record of 1,400 bytes, which
   h2o writes, leaves the end of its segment empty. The end of the response may be a frame of its own.
3. From the second round on the window has at least sixteen segments: slow start doubles it, and HyStart ends slow start
   no sooner (tcp_cubic.c, hystart_low_window; RFC 9406, 4.3). Later loads may begin with a smaller window, after
   losses. Then the window counts as constant.
"""

from priolab.common.packets import INITIAL_WINDOW_SEGMENTS

_SET_UP_SEGMENTS = 5
_LEAST_IN_SEGMENT_BYTES = 1400 - 9
"""The payload in a segment with one record of 1,400 bytes, which holds one frame."""
_GROWN_SEGMENTS = 16


def segments_of(size_bytes: int, pieces: int) -> int:
    """Returns the most segments of a response: the set-up, headers, payload and end. pieces: its chunks."""
    return _SET_UP_SEGMENTS + 2 + size_bytes // _LEAST_IN_SEGMENT_BYTES + pieces


def most_rounds(segments: int, window_segments: int | None) -> int:
    """Returns the most round trips that the front waits while it sends so many segments.

    window_segments: the congestion window before; None on a new connection.
    """
    window, rounds, left = window_segments or INITIAL_WINDOW_SEGMENTS, 0, segments
    while left > window:
        left -= window
        rounds += 1
        if window_segments is None:
            window = _GROWN_SEGMENTS
    return rounds
