"""Tests of the picture of the queues, from answers of a kernel."""

import struct
from collections.abc import Iterator

from priolab.common.netlink import Conversation, attribute
from priolab.common.snapshot.queues import queues


class _Kernel(Conversation):
    """A kernel with one qdisc, whose answer has padding before the statistics, as in Linux 6.12."""

    def __init__(self) -> None:
        """Open no socket."""

    def ask(self, question: bytes) -> Iterator[bytes]:
        """Yield the qdisc."""
        assert question
        header = struct.pack("=BxxxiIII", 0, 3, 0x10000, 2**32 - 1, 0)
        options = attribute(2, struct.pack("=I", 25))
        yield header + attribute(1, b"pfifo\0") + options + attribute(9) + attribute(7, bytes(20))


def test_padding_and_statistics_are_no_settings() -> None:
    """The picture has what can be set, and nothing else."""
    assert queues(_Kernel(), {3: "to-client"}) == {
        "qdisc 1: of to-client, kind": "pfifo",
        "qdisc 1: of to-client, limit": "25",
    }
