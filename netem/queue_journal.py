"""Samples the link's queues with the shaper netem: reads the qdiscs' statistics and writes queue.jsonl.

The ferry writes the same lines itself (netem/ferry/process.py).

Rules:
1. A line is written when a queue has changed since the last sample.
2. `dropped` counts the packets that the bottleneck drops, but not the packets that the delay line loses because of
   `loss`.
"""

import socket
import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from priolab.common.formats.samples import QueueContents, queue_line
from priolab.common.netlink import Conversation, Finder, Inquiry, question
from priolab.netem import tc

_GET_QDISC, _STATS = 38, 3  # RTM_GETQDISC, TCA_STATS, <linux/rtnetlink.h>
_HEADER = struct.Struct("=B3xiI8x")  # struct tcmsg: family, index of the device, handle
_ANSWER_BYTES = 8192  # a qdisc has some 400 bytes
_TC_STATS = struct.Struct("=12xI12x2I")  # struct tc_stats, <linux/pkt_sched.h>: drops, qlen, backlog


class Statistics(NamedTuple):
    """The packets and bytes in a qdisc, and the packets that it has dropped so far; in the order of _TC_STATS."""

    dropped: int = 0
    packets: int = 0
    bytes: int = 0


_NOTHING = Statistics()
_FINDER = Finder(_HEADER.size, _STATS)


class Qdiscs:
    """A reader of the qdiscs' statistics in the network namespace of the thread that creates it. Raises OSError."""

    def __init__(self) -> None:
        self._names = dict(socket.if_nameindex())
        self._question = question(_GET_QDISC, bytes(_HEADER.size), dump=True)
        self._conversation = Conversation(socket.NETLINK_ROUTE)

    def close(self) -> None:
        """Closes the netlink socket."""
        self._conversation.__exit__()

    def read(self) -> dict[tc.Stage, Statistics]:
        """Reads the statistics of every qdisc. Raises OSError."""
        return self.parsed(self._conversation.ask(self._question))

    def inquiry(self) -> Inquiry:
        """Returns the request for the statistics, for a batch (common/kernel_sampling.py) that sends it."""
        return self._conversation.inquiry(self._question, _ANSWER_BYTES)

    def parsed(self, answers: Iterable[bytes]) -> dict[tc.Stage, Statistics]:
        """Returns the statistics in the kernel's answers."""
        return {self._stage(answer): _read(answer) for answer in answers}

    def _stage(self, answer: bytes) -> tc.Stage:
        _, device, handle = _HEADER.unpack_from(answer)
        return tc.Stage(self._names.get(device, ""), handle >> 16)


class QueueJournal:
    """Samples the queues of a link. A context manager; the exit closes the journal, and the Qdiscs."""

    def __init__(self, stages: Mapping[str, tc.Stages], qdiscs: Qdiscs, journal: Path, interval_ns: int | None) -> None:
        """Opens the journal. stages: the link's qdiscs by direction. qdiscs: reads the statistics of the link's place.

        interval_ns: the sampling interval; None turns sampling off.
        """
        self._directions = {direction: _Direction(of) for direction, of in stages.items()}
        self._qdiscs = qdiscs
        self._interval_ns = interval_ns
        self._next_ns = self._awaited = 0
        self._last = dict.fromkeys(stages, QueueContents())
        self._lines = journal.open("w")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()
        self._qdiscs.close()

    def look(self, now_ns: int) -> int | None:
        """Takes a sample if due. Returns the time of the next sample; None if sampling is off. Raises OSError."""
        if self._interval_ns is None:
            return None
        if now_ns < self._next_ns:
            return self._next_ns
        if self._awaited:
            return now_ns + self._interval_ns
        late_ns = now_ns - self._next_ns if self._next_ns else 0
        self._next_ns = now_ns - late_ns % self._interval_ns + self._interval_ns
        self._record(now_ns, self._qdiscs.read())
        return self._next_ns

    def inquiries(self) -> Sequence[Inquiry]:
        """Returns the request for a sample, in a list; none before the first call of `look`.

        That call receives the first dump. Only afterwards does the kernel put a whole dump into one message.
        """
        return [self._qdiscs.inquiry()] if self._next_ns else []

    def leave_out(self, until_ns: int, samples: int) -> None:
        """Takes no samples before until_ns, nor before a batch has recorded so many (common/kernel_sampling.py)."""
        self._next_ns, self._awaited = until_ns, samples

    def record(self, t_ns: int, answers: Sequence[Sequence[bytes] | None]) -> None:
        """Records a sample that a batch took at t_ns. answers: those to `inquiries`."""
        self._awaited -= 1
        (of,) = answers
        self._record(t_ns, self._qdiscs.parsed(of or ()))

    def give_up(self) -> None:
        """Waits for no further samples of a batch."""
        self._awaited = 0

    def _record(self, t_ns: int, found: Mapping[tc.Stage, Statistics]) -> None:
        for direction, queues in self._directions.items():
            contents = queues.contents(found)
            if contents != self._last[direction]:
                self._last[direction] = contents
                self._lines.write(queue_line(t_ns, direction, contents) + "\n")


class _Direction:
    """The qdiscs of one direction. A qdisc with another one inside it counts the packets of both."""

    def __init__(self, stages: tc.Stages) -> None:
        def pair(stage: tc.Stage) -> tuple[tc.Stage, tc.Stage | None]:
            within = stage._replace(handle=stage.handle + 1)
            return stage, within if within in (stages.delay_line, *stages.bottleneck) else None

        self._bottleneck = [pair(stage) for stage in stages.bottleneck]
        self._delay_line = [pair(stage) for stage in (stages.delay_line,) if stage is not None]

    def contents(self, found: Mapping[tc.Stage, Statistics]) -> QueueContents:
        """Returns what is in the bottleneck and in the delay line."""
        packets, size_bytes = _total(found, self._bottleneck)
        delay_line_packets, delay_line_bytes = _total(found, self._delay_line)
        return QueueContents(
            packets=packets,
            bytes=size_bytes,
            delay_line_packets=delay_line_packets,
            delay_line_bytes=delay_line_bytes,
            dropped=found.get(self._bottleneck[0][0], _NOTHING).dropped if self._bottleneck else 0,
        )


def _total(found: Mapping[tc.Stage, Statistics], pairs: Iterable[tuple[tc.Stage, tc.Stage | None]]) -> tuple[int, int]:
    """Returns packets and bytes of qdiscs, without those of the qdisc inside each."""
    packets = size_bytes = 0
    for stage, within in pairs:
        whole = found.get(stage, _NOTHING)
        inner = _NOTHING if within is None else found.get(within, _NOTHING)
        packets += max(0, whole.packets - inner.packets)
        size_bytes += max(0, whole.bytes - inner.bytes)
    return packets, size_bytes


def _read(answer: bytes) -> Statistics:
    """Returns the statistics in the kernel's answer for a qdisc; zeros if the answer has none."""
    (stats,) = _FINDER.payloads(answer)
    return Statistics._make(_TC_STATS.unpack_from(stats)) if len(stats) >= _TC_STATS.size else _NOTHING
