"""Tests of the statistics of qdiscs as the kernel reports them."""

import struct

from netem import queue_journal
from netem.queue_journal import Statistics


def test_statistics() -> None:
    """Packets, bytes and drops come from their places in struct tc_stats; an answer without it counts nothing."""
    stats = struct.pack("=Q7I", 1, 2, 3, 4, 5, 6, 7, 8)  # bytes, packets, drops, overlimits, bps, pps, qlen, backlog
    assert queue_journal._read(stats) == Statistics(packets=7, bytes=8, dropped=3)
    assert queue_journal._read(b"") == Statistics()
