"""The tuner of LOWAT=auto: sock_ops.c, a program in the kernel, attached to the cgroup of a front.

The program decides without this process, which loads it, writes its rule, and reports its decisions. It tunes only
connections that are established afterwards.
"""

import os
import socket
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from priolab.common.formats.decisions import DRY_RUN, SET, Decision, Trigger, Why, refused
from priolab.common.tuning import TARGET_NS
from priolab.proxy.tuner.libbpf import CannotTune, Loaded

PROGRAM = Path(__file__).with_name("priority_tuner.bpf.o")
"""The program in BPF, compiled from sock_ops.c by `make bpf`."""

_DRAIN_NS = 10**9
# The structures of maps.h.
_RULE = struct.Struct("=8IQ2I")
_DECISION = struct.Struct("=5Q16s4s9Ii4x")
_PORTS_BYTES, _ALL = 8192, 65536
_COUNTS, _UNLOGGED = 78, 5
_FIRST = bytes(4)
_EVENTS = {  # BPF_SOCK_OPS_*, <linux/bpf.h>
    5: Trigger.ESTABLISHED,
    8: Trigger.TIMEOUT,
    9: Trigger.RETRANSMISSION,
    12: Trigger.ROUND_TRIP,
}
_WHYS = (Why.UNKNOWN, Why.FLOOR, Why.RATE, Why.CEILING, Why.SYSCTL, Why.SERVER)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """The rule of the program, as `struct rule` of maps.h explains. Its defaults are those of the law (law.h).

    target_us: the longest time for which a byte may stay unsent. cautious: True for the rules of caution.h. hold_ns:
    how long a cautious tuner waits before it lowers a value. namespaces: by cookie, the network namespaces whose
    connections are tuned, and the sysctl tcp_notsent_lowat there, which a cautious tuner never exceeds; empty for all.
    """

    target_us: int = TARGET_NS // 1000
    floor_bytes: int = 4096
    ceiling_bytes: int = 64 * 2**20
    port: int = 0
    dry_run: bool = False
    cautious: bool = False
    hold_ns: int = 10**9
    namespaces: Mapping[int, int] = field(default_factory=dict)

    def packed(self) -> bytes:
        """Returns `struct rule`. Decisions are logged."""
        aim = self.target_us, self.floor_bytes, self.ceiling_bytes
        kinds = bool(self.port), self.dry_run, self.cautious, bool(self.namespaces), True
        return _RULE.pack(*aim, *kinds, self.hold_ns, 0, _ALL)

    def ports(self) -> bytes:
        """Returns `struct ports`."""
        return (1 << self.port).to_bytes(_PORTS_BYTES, "little")


class InKernel:
    """The program at work on a cgroup. A context; at its end sockets keep their values."""

    def __init__(self, cgroup: Path, rule: Rule, note: Callable[[Decision], None]) -> None:
        """Attaches the program to the cgroup and its descendants. Raises CannotTune.

        note: receives each decision.
        """
        self._note, self._dry_run = note, rule.dry_run
        self._loaded = Loaded(PROGRAM)
        try:
            self._loaded.put("ports", _FIRST, rule.ports())
            self._loaded.put("rules", _FIRST, rule.packed())
            for cookie, sysctl_bytes in rule.namespaces.items():
                self._loaded.put("sysctls", struct.pack("=Q", cookie), struct.pack("=I", sysctl_bytes))
            self._ring = self._loaded.ring("decisions")
            self._loaded.attach("tune", cgroup)
        except BaseException:
            self._loaded.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        try:
            self._loaded.detach()  # no decisions come after this
            self._report()
        finally:
            self._loaded.close()

    def look(self, now_ns: int) -> int:
        """Reports decisions; returns the time at which to call it again. Raises CannotTune if decisions were lost.

        The program tunes connections even without these calls.
        """
        self._report()
        return now_ns + _DRAIN_NS

    def _report(self) -> None:
        for record in self._ring.take():
            self._note(read_record(record, dry_run=self._dry_run))
        lost = self._loaded.numbers("counts", _FIRST, _COUNTS)[_UNLOGGED]
        if lost:
            raise CannotTune(f"{lost} decisions were not recorded, because the ring buffer was full")


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
