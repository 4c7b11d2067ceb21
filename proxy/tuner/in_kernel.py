"""The tuner as a program in the kernel, sock_ops.c, on a cgroup: it decides there, with no process to wake.

Connections made before it was attached are not tuned: the kernel asks it only about those it has seen begin.
"""

import os
import socket
import struct
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from proxy.tuner.journal import DRY_RUN, SET, Decision, Event, refused
from proxy.tuner.law import Aim, Why
from proxy.tuner.libbpf import Loaded
from proxy.tuner.tuner import Kind, Note

_DRAIN_NS = 10**9
_ORDER = struct.Struct("=5I")
_DECISION = struct.Struct("=4Q16s4s9Ii4x")
_FIRST = struct.pack("=I", 0)
_EVENTS = {  # BPF_SOCK_OPS_*, <linux/bpf.h>
    5: Event.ESTABLISHED,
    8: Event.TIMEOUT,
    9: Event.RETRANSMISSION,
    12: Event.ROUND_TRIP,
}
_WHYS = (Why.UNKNOWN, Why.FLOOR, Why.RATE, Why.CEILING)


class InKernel:
    """See Tuner. Works on what the servers of a cgroup accept."""

    kind = Kind.BPF

    def __init__(
        self, program: Path, cgroup: Path, aim: Aim, note: Note, *, port: int | None = None, dry_run: bool = False
    ) -> None:
        """program: what compiler.py made. port: only connections to it. Raises CannotTune."""
        self._note, self._dry_run = note, dry_run
        order = _ORDER.pack(aim.target_us, aim.floor_bytes, aim.ceiling_bytes, port or 0, dry_run)
        with ExitStack() as stack:
            loaded = stack.enter_context(Loaded(program))
            loaded.put("orders", _FIRST, order)
            self._records = loaded.records("decisions")
            loaded.attach("tune", cgroup)
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tell()
        self._stack.close()

    def look(self, now_ns: int) -> int:
        """Only tells: it works by itself."""
        self._tell()
        return now_ns + _DRAIN_NS

    def _tell(self) -> None:
        for record in self._records():
            self._note(read_record(record, dry_run=self._dry_run))


def read_record(record: bytes, *, dry_run: bool) -> Decision:
    """One `struct decision`."""
    t_ns, delivery, acked, rate, address, peer_port, family, port, event, why, rtt_us, cwnd, mss, old, new, error = (
        _DECISION.unpack(record)
    )
    done = DRY_RUN if dry_run else SET
    return Decision(
        t_ns=t_ns,
        peer=socket.inet_ntop(family, address[:4] if family == socket.AF_INET else address),
        peer_port=int.from_bytes(peer_port, "big"),
        port=port,
        event=_EVENTS[event],
        delivery_rate_bytes_s=delivery,
        acked_rate_bytes_s=acked,
        rate_bytes_s=rate,
        rtt_ns=rtt_us * 1000,
        cwnd_segments=cwnd,
        mss_bytes=mss,
        old_bytes=old,
        new_bytes=new,
        why=_WHYS[why],
        outcome=refused(os.strerror(-error)) if error else done,
    )
