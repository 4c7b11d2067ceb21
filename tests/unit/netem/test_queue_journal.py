"""Tests of the statistics of qdiscs as the kernel reports them."""

import json
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path

from priolab.common.netlink import attribute
from priolab.netem import queue_journal, rate_limiter, tc
from priolab.netem.link import Link
from priolab.netem.queue_journal import Qdiscs, QueueJournal, Statistics
from priolab.netem.tc import Stage

_LINK = Link(rate_bit_s=1_024_000, delay_ns=300_000_000, delay_up_ns=5_000_000, queue_packets=25)


class _Told(Qdiscs):
    """Qdiscs with given packets and drops, by device and handle."""

    def __init__(self, found: Mapping[tuple[str, int], tuple[int, int]]) -> None:
        self._found = found

    def close(self) -> None:
        pass

    def parsed(self, answers: Iterable[bytes]) -> dict[Stage, Statistics]:
        assert list(answers) == []
        return self.read()

    def read(self) -> dict[Stage, Statistics]:
        return {
            Stage(device=device, handle=handle): Statistics(packets=packets, bytes=1514 * packets, dropped=dropped)
            for (device, handle), (packets, dropped) in self._found.items()
        }


def _line(folder: Path, stages: tc.Stages, found: Mapping[tuple[str, int], tuple[int, int]]) -> Mapping[str, int]:
    file = folder / "queue.jsonl"
    with QueueJournal({"down": stages}, _Told(found), file, 1) as queues:
        queues.look(5)
    (line,) = file.read_text().splitlines()
    read: Mapping[str, int] = json.loads(line)
    return read


def test_each_packet_is_counted_once(tmp_path: Path) -> None:
    """With a gate the bottleneck has the gate's packets and the one that the sender holds, but not the delay line's."""
    stages = rate_limiter.stages("to-client")
    gate, sender = stages.bottleneck
    found = {(gate.device, gate.handle): (4, 2), (sender.device, sender.handle): (1, 0)}
    assert stages.delay_line is not None
    found[stages.delay_line.device, stages.delay_line.handle] = (4 + 7, 2)
    line = _line(tmp_path, stages, found)
    assert (line["packets"], line["delay_line_packets"], line["dropped"]) == (5, 7, 2)


def test_a_bottleneck_inside_the_delay_line(tmp_path: Path) -> None:
    """In a link of a constant rate the bottleneck is nested in the delay line, and is not counted twice."""
    line = _line(tmp_path, tc.down_stages(_LINK, "to-client"), {("to-client", 2): (9, 0), ("to-client", 3): (5, 1)})
    assert (line["packets"], line["delay_line_packets"], line["dropped"]) == (5, 4, 1)


def test_statistics() -> None:
    """Packets, bytes and drops come from their places in struct tc_stats; an answer without it counts nothing."""
    stats = struct.pack("=Q7I", 1, 2, 3, 4, 5, 6, 7, 8)  # bytes, packets, drops, overlimits, bps, pps, qlen, backlog
    message, name = bytes(20), attribute(1, b"netem\0")  # struct tcmsg, TCA_KIND
    assert queue_journal._read(message + name + attribute(3, stats)) == Statistics(packets=7, bytes=8, dropped=3)
    assert queue_journal._read(message + name) == Statistics()
    assert queue_journal._read(message + name + attribute(3, stats[:20])) == Statistics()


def test_no_sample_while_a_batch_is_not_recorded(tmp_path: Path) -> None:
    """A batch may be noticed late. Until its samples are recorded the journal takes none, so their order is kept."""
    with QueueJournal({}, _Told({}), tmp_path / "queue.jsonl", 10) as journal:
        assert journal.look(100) == 110
        journal.leave_out(300, 2)
        assert journal.look(290) == 300
        assert [journal.look(305), journal.look(305)] == [315, 315], "no sample was due and taken"
        journal.record(298, [None])
        assert journal.look(305) == 315
        journal.record(299, [None])
        assert [journal.look(305), journal.look(305)] == [310, 310]
        journal.leave_out(400, 2)
        journal.give_up()
        assert journal.look(400) == 410
