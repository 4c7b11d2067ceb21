"""Tests of the statistics of qdiscs as the kernel reports them."""

import struct
from pathlib import Path

from priolab.common.netlink import attribute
from priolab.netem import queue_journal
from priolab.netem.queue_journal import QueueJournal, Statistics


def test_statistics() -> None:
    """Packets, bytes and drops come from their places in struct tc_stats; an answer without it counts nothing."""
    stats = struct.pack("=Q7I", 1, 2, 3, 4, 5, 6, 7, 8)  # bytes, packets, drops, overlimits, bps, pps, qlen, backlog
    message, name = bytes(20), attribute(1, b"netem\0")  # struct tcmsg, TCA_KIND
    assert queue_journal._read(message + name + attribute(3, stats)) == Statistics(packets=7, bytes=8, dropped=3)
    assert queue_journal._read(message + name) == Statistics()
    assert queue_journal._read(message + name + attribute(3, stats[:20])) == Statistics()


def test_no_sample_while_a_batch_is_not_recorded(tmp_path: Path) -> None:
    """A batch may be noticed late. Until its samples are recorded the journal takes none, so their order is kept."""
    with QueueJournal({}, [], tmp_path / "queue.jsonl", 10) as journal:
        assert journal.look(100) == 110
        journal.leave_out(300, 2)
        assert journal.look(290) == 300
        assert [journal.look(305), journal.look(305)] == [315, 315], "no sample was due and taken"
        journal.record(298, [])
        assert journal.look(305) == 315
        journal.record(299, [])
        assert [journal.look(305), journal.look(305)] == [310, 310]
        journal.leave_out(400, 2)
        journal.give_up()
        assert journal.look(400) == 410
