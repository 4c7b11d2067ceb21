"""The tuner as a program in the kernel, sock_ops.c, on a cgroup: it decides there, with no process to wake.

1. Connections made before it was attached are not tuned: the kernel asks it only about those it has seen begin.
2. A cgroup that is removed takes the program's hold on it along, as when systemd starts a service again. Its folder is
   looked at every second, or every tenth while it is gone; the one that is there then is attached to.
3. What was decided and could not be told, because the ring between the kernel and this was full, is counted and told.
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
from proxy.tuner.tuner import CannotTune, Note, Say, TunerKind

_DRAIN_NS, _GONE_NS = 10**9, 10**8
_RULE = struct.Struct("=5I")
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

    kind = TunerKind.BPF

    def __init__(
        self,
        program: Path,
        cgroup: Path,
        aim: Aim,
        note: Note,
        say: Say,
        *,
        port: int | None = None,
        dry_run: bool = False,
    ) -> None:
        """program: what compiler.py made. port: only connections to it. Raises CannotTune."""
        self._cgroup, self._note, self._say, self._dry_run = cgroup, note, say, dry_run
        self._lost = 0
        rule = _RULE.pack(aim.target_us, aim.floor_bytes, aim.ceiling_bytes, port or 0, dry_run)
        with ExitStack() as stack:
            self._loaded = stack.enter_context(Loaded(program))
            self._loaded.put("rules", _FIRST, rule)
            self._ring = self._loaded.ring("decisions")
            self._attached: tuple[int, int] | None = self._attach()
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._loaded.detach()  # what is decided until then is told
            self._tell()
        finally:
            self._stack.close()

    @property
    def readable(self) -> int:
        """See Tuner."""
        return self._ring.fileno()

    def look(self, now_ns: int) -> int:
        """Only tells, and sees to it that it is attached: it works by itself."""
        self._tell()
        self._follow()
        return now_ns + (_GONE_NS if self._attached is None else _DRAIN_NS)

    def _tell(self) -> None:
        for record in self._ring.take():
            self._note(read_record(record, dry_run=self._dry_run))
        lost = self._loaded.count("lost")
        if lost > self._lost:
            more, self._lost = lost - self._lost, lost
            self._say(f"{more} more decisions than could be noted down")

    def _follow(self) -> None:
        there = self._there()
        if there == self._attached:
            return
        if self._attached is not None:
            self._loaded.detach()
            self._attached = None
            self._say(f"cgroup {self._cgroup} is gone; waiting for another")
        if there is None:
            return
        try:
            self._attached = self._attach()
        except CannotTune:
            if self._there() == there:
                raise
        else:
            self._say(f"cgroup {self._cgroup} is there again; tuning")

    def _there(self) -> tuple[int, int] | None:
        """Which cgroup has the name now."""
        try:
            return _which(self._cgroup.stat())
        except OSError:
            return None

    def _attach(self) -> tuple[int, int]:
        """To the one that has the name now; which that is. Raises CannotTune."""
        try:
            descriptor = os.open(self._cgroup, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise CannotTune(f"{self._cgroup}: {error.strerror}") from error
        try:
            self._loaded.attach("tune", descriptor)
            return _which(os.fstat(descriptor))
        finally:
            os.close(descriptor)


def _which(folder: os.stat_result) -> tuple[int, int]:
    return folder.st_dev, folder.st_ino


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
