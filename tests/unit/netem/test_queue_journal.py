"""Tests of the statistics of qdiscs as the kernel reports them."""

import struct

from priolab.common.netlink import attribute
from priolab.netem import queue_journal
from priolab.netem.queue_journal import Statistics


def test_statistics() -> None:
    """Packets, bytes and drops come from their places in struct tc_stats; an answer without it counts nothing."""
    stats = struct.pack("=Q7I", 1, 2, 3, 4, 5, 6, 7, 8)  # bytes, packets, drops, overlimits, bps, pps, qlen, backlog
    message, name = bytes(20), attribute(1, b"netem\0")  # struct tcmsg, TCA_KIND
    assert queue_journal._read(message + name + attribute(3, stats)) == Statistics(packets=7, bytes=8, dropped=3)
    assert queue_journal._read(message + name) == Statistics()
    assert queue_journal._read(message + name + attribute(3, stats[:20])) == Statistics()
