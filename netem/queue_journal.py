"""The link's queue as tc's statistics have it, noted down by whoever asks: queue.jsonl, shaper netem.

The ferry writes the same lines itself (netem/ferry/process.py).

Rules:
1. A line when a queue has changed since the last look.
2. What the bottleneck drops is `dropped`; what loss takes in the delay line is not.
"""

import json
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self

from pyroute2.netlink import NETLINK_ROUTE
from pyroute2.netlink.rtnl import RTM_GETQDISC
from pyroute2.netlink.rtnl.tcmsg import tcmsg

from netem import shaper, tc
from netem.link import Link
from netlink.conversation import Conversation, attributes, layout, question

_STATS = 3  # TCA_STATS, <linux/rtnetlink.h>
_HEADER, _ = layout(tcmsg.fields)
_TC_STATS, _TC_STATS_NAMES = layout(tcmsg.stats.fields)


@dataclass(frozen=True, kw_only=True)
class Line:
    """What one direction holds. packets, bytes: in the bottleneck; delay_line_*: on their way to it."""

    packets: int = 0
    bytes: int = 0
    delay_line_packets: int = 0
    delay_line_bytes: int = 0
    dropped: int = 0


@dataclass(frozen=True, kw_only=True)
class _Statistics:
    packets: int = 0
    bytes: int = 0
    dropped: int = 0


_NOTHING = _Statistics()


class QueueJournal:
    """Asks in the network namespace this is made in; look by look. A context."""

    def __init__(self, link: Link, to_client: str, to_front: str, journal: Path, interval_ns: int | None) -> None:
        """to_client, to_front: the devices. interval_ns: None writes nothing. Raises OSError."""
        self._stages = shaper.stages(link, to_client, to_front)
        devices = {device for stages in self._stages.values() for device in stages.devices}
        self._numbers = {device: socket.if_nametoindex(device) for device in devices}
        self._interval_ns = interval_ns
        self._next_ns = 0
        self._last = dict.fromkeys(self._stages, Line())
        self._question = question(RTM_GETQDISC, tcmsg(), dump=True)
        self._conversation = Conversation(NETLINK_ROUTE)
        self._lines = journal.open("w", buffering=1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()
        self._conversation.__exit__()

    def look(self, now_ns: int) -> int | None:
        """Look if it is time; when it is the next time, None for never. Raises OSError."""
        if self._interval_ns is None:
            return None
        if now_ns < self._next_ns:
            return self._next_ns
        late_ns = now_ns - self._next_ns if self._next_ns else 0
        self._next_ns = now_ns - late_ns % self._interval_ns + self._interval_ns
        found = self._statistics()
        for direction, stages in self._stages.items():
            line = self._line(found, stages)
            if line != self._last[direction]:
                self._last[direction] = line
                self._lines.write(json.dumps({"t_ns": now_ns, "direction": direction} | asdict(line)) + "\n")
        return self._next_ns

    def _line(self, found: Mapping[tuple[int, int], _Statistics], stages: tc.Stages) -> Line:
        def of(stage: tc.Stage) -> _Statistics:
            return found.get((self._numbers[stage.device], stage.handle), _NOTHING)

        bottleneck = [of(stage) for stage in stages.bottleneck]
        line = Line(
            packets=sum(part.packets for part in bottleneck),
            bytes=sum(part.bytes for part in bottleneck),
            dropped=bottleneck[0].dropped if bottleneck else 0,
        )
        if stages.delay_line is None:
            return line
        # A qdisc counts its child's packets as its own.
        child = bottleneck[0] if bottleneck else _NOTHING
        delay_line = of(stages.delay_line)
        return replace(
            line,
            delay_line_packets=max(0, delay_line.packets - child.packets),
            delay_line_bytes=max(0, delay_line.bytes - child.bytes),
        )

    def _statistics(self) -> dict[tuple[int, int], _Statistics]:
        found = {}
        for answer in self._conversation.ask(self._question):
            _, _, _, device, handle, _, _ = _HEADER.unpack_from(answer)
            found[device, handle >> 16] = _read(attributes(answer, _HEADER.size).get(_STATS, b""))
        return found


def _read(data: bytes) -> _Statistics:
    if len(data) < _TC_STATS.size:
        return _NOTHING
    values = dict(zip(_TC_STATS_NAMES, _TC_STATS.unpack_from(data), strict=True))
    return _Statistics(packets=values["qlen"], bytes=values["backlog"], dropped=values["drop"])
