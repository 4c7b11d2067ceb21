"""The tuner as a BPF program in the kernel, sock_ops.c, attached to a cgroup. Decisions need no wake-up of a process.

1. Connections that were established before the program was attached are not tuned, because the kernel does not call the
   program for them.
2. When a cgroup is removed, as when systemd restarts a service, the program is detached. So this process checks the
   cgroup's folder every second, or every tenth of a second while the cgroup is gone, and attaches the program again.
3. If the sysctls of network namespaces are limits (caution.py), this process writes them into the program's map every
   second, for the namespaces of the cgroup's processes. Sockets of other namespaces are not tuned.
4. To restore the TCP_NOTSENT_LOWAT of the servers, this process borrows the open sockets of the cgroup's processes. A
   socket that no longer has the tuner's value is left unchanged.
5. Decisions that did not fit into the ring buffer between the kernel and this process are counted and reported.
"""

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from priolab.common.formats.decisions import DRY_RUN, SET, Decision, Trigger, Why, refused
from priolab.common.tuning import TunerKind
from priolab.proxy.descriptors import borrow, sockets_of
from priolab.proxy.tuner.caution import Caution
from priolab.proxy.tuner.law import Aim
from priolab.proxy.tuner.libbpf import Loaded
from priolab.proxy.tuner.option import put_back
from priolab.proxy.tuner.tuner import CannotTune, Note, Say

PROGRAM = Path(__file__).with_name("priority_tuner.bpf.o")
"""The program in BPF, compiled from sock_ops.c by `make bpf`."""

_DRAIN_NS, _GONE_NS = 10**9, 10**8
_SYSCTLS_NS = 10**9
# The structures of maps.h.
_RULE = struct.Struct("=8IQ")
_DECISION = struct.Struct("=5Q16s4s9Ii4x")
_CONNECTION = struct.Struct("=44xII12x")  # own_bytes, lowat_bytes
_COUNTS, _UNLOGGED = 78, 5
_FIRST = struct.pack("=I", 0)
_EVENTS = {  # BPF_SOCK_OPS_*, <linux/bpf.h>
    5: Trigger.ESTABLISHED,
    8: Trigger.TIMEOUT,
    9: Trigger.RETRANSMISSION,
    12: Trigger.ROUND_TRIP,
}
_WHYS = (Why.UNKNOWN, Why.FLOOR, Why.RATE, Why.CEILING, Why.SYSCTL, Why.SERVER)


class InKernel:
    """A Tuner for the connections that the processes of a cgroup accept."""

    kind = TunerKind.BPF

    def __init__(
        self,
        cgroup: Path,
        aim: Aim,
        note: Note,
        say: Say,
        *,
        port: int | None = None,
        dry_run: bool = False,
        caution: Caution | None = None,
    ) -> None:
        """Attaches the program to the cgroup. Raises CannotTune.

        note: receives each decision. say: receives messages for the user.
        port: tunes only connections to this port; None for any port. dry_run: True to decide without setting values.
        caution: the settings of a cautious tuner; None for a tuner that is not cautious.
        """
        self._cgroup, self._note, self._say, self._dry_run = cgroup, note, say, dry_run
        self._lost = 0
        self._caution, self._sysctls = caution, caution.sysctls if caution else None
        self._next_sysctls_ns = 0
        numbers = (aim.target_us, aim.floor_bytes, aim.ceiling_bytes, port or 0, dry_run)
        cautious = caution is not None, self._sysctls is not None
        rule = _RULE.pack(*numbers, *cautious, True, caution.hold_ns if caution else 0)  # noqa: FBT003 - it logs
        with ExitStack() as stack:
            self._claim = stack.enter_context(ExitStack())
            self._loaded = stack.enter_context(Loaded(PROGRAM))
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
            self._loaded.detach()  # no decisions come after this
            self._tell()
        finally:
            self._stack.close()

    def restore(self) -> int:
        """Ends tuning; open connections get back the LOWAT that the server set.

        Returns the number of these connections.
        """
        self._loaded.detach()
        return 0 if self._dry_run else sum(self._restored(pid) for pid in _processes(self._cgroup))

    @property
    def readable(self) -> int:
        """The descriptor of the ring buffer of decisions; readable when there are decisions to report."""
        return self._ring.fileno()

    def look(self, now_ns: int) -> int:
        """Reports decisions and keeps the program attached. The program tunes connections even without these calls."""
        self._tell()
        self._follow()
        if now_ns >= self._next_sysctls_ns:
            self._tell_sysctls()
            self._next_sysctls_ns = now_ns + _SYSCTLS_NS
        return now_ns + (_GONE_NS if self._attached is None else _DRAIN_NS)

    def _tell(self) -> None:
        for record in self._ring.take():
            self._note(read_record(record, dry_run=self._dry_run))
        lost = self._loaded.numbers("counts", _FIRST, _COUNTS)[_UNLOGGED]
        if lost > self._lost:
            more, self._lost = lost - self._lost, lost
            self._say(f"{more} decisions were not recorded, because the ring buffer was full")

    def _follow(self) -> None:
        there = self._there()
        if there == self._attached:
            return
        if self._attached is not None:
            self._loaded.detach()
            self._claim.close()
            self._attached = None
            self._say(f"cgroup {self._cgroup} is gone; tuning continues when it exists again")
        if there is None:
            return
        try:
            self._attached = self._attach()
        except CannotTune:
            if self._there() == there:
                raise
        else:
            self._say(f"cgroup {self._cgroup} exists again; tuning continues")

    def _there(self) -> tuple[int, int] | None:
        """Returns the identity of the cgroup that now has the path; None if no cgroup has the path."""
        try:
            return _which(self._cgroup.stat())
        except OSError:
            return None

    def _attach(self) -> tuple[int, int]:
        """Attaches the program to the cgroup now at the path; returns the cgroup's identity. Raises CannotTune."""
        try:
            if self._caution:
                self._claim.enter_context(self._caution.claim(self._cgroup))
            descriptor = os.open(self._cgroup, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            self._claim.close()
            raise CannotTune(f"{self._cgroup}: {error.strerror}") from error
        try:
            self._tell_sysctls()
            self._loaded.attach("tune", descriptor)
            return _which(os.fstat(descriptor))
        finally:
            os.close(descriptor)

    def _tell_sysctls(self) -> None:
        """Writes the sysctls of the network namespaces of the cgroup's processes into a map. Raises CannotTune."""
        if self._sysctls:
            for number, sysctl_bytes in self._sysctls.of_processes(_processes(self._cgroup)).items():
                self._loaded.put("sysctls", struct.pack("=Q", number), struct.pack("=I", sysctl_bytes))

    def _restored(self, pid: int) -> int:
        """Gives a process's connections back the LOWAT that the server set; returns the number of these connections."""
        count = 0
        try:
            for descriptor, inode in sockets_of(pid).items():
                borrowed = borrow(pid, descriptor, inode)
                if borrowed is not None:
                    with borrowed:
                        count += self._put_back(borrowed)
        except OSError as error:
            self._say(f"process {pid}: {error.strerror}; its connections keep their present LOWAT")
        return count

    def _put_back(self, borrowed: socket.socket) -> bool:
        connection = self._loaded.get("connections", struct.pack("=i", borrowed.fileno()), _CONNECTION.size)
        if connection is None:
            return False
        own_bytes, lowat_bytes = _CONNECTION.unpack(connection)
        return put_back(borrowed, lowat_bytes, own_bytes)


def _processes(cgroup: Path) -> Iterator[int]:
    """Yields the ids of the processes in a cgroup and its descendants, as far as this process can see them."""
    for folder, _, _ in os.walk(cgroup):
        try:
            yield from {int(pid) for pid in Path(folder, "cgroup.procs").read_text().split()} - {0}
        except OSError:
            continue  # the cgroup has gone, or has only threads


def _which(folder: os.stat_result) -> tuple[int, int]:
    return folder.st_dev, folder.st_ino


def read_record(record: bytes, *, dry_run: bool) -> Decision:
    """Unpacks a `struct decision` of sock_ops.c. dry_run: True if the program does not set values."""
    t_ns, delivery, acked, highest, rate, address, peer_port, family, *more = _DECISION.unpack(record)
    port, event, why, rtt_us, cwnd, mss, old, new, error = more
    done = DRY_RUN if dry_run else SET
    return Decision(
        t_ns=t_ns,
        peer=socket.inet_ntop(family, address[:4] if family == socket.AF_INET else address),
        peer_port=int.from_bytes(peer_port, "big"),
        port=port,
        event=_EVENTS[event],
        delivery_rate_bytes_s=delivery,
        acked_rate_bytes_s=acked,
        highest_rate_bytes_s=highest,
        rate_bytes_s=rate,
        rtt_ns=rtt_us * 1000,
        cwnd_segments=cwnd,
        mss_bytes=mss,
        old_bytes=old,
        new_bytes=new,
        why=_WHYS[why],
        outcome=refused(os.strerror(-error)) if error else done,
    )
