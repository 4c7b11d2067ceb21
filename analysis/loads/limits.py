"""Computes what limited the transfer of a load, from its first byte of payload at the client to the last. Pure.

Rules:
1. The time at the client is divided at the samples of the front's socket; what arrives at the client left the front a
   delay before, if it found no packet in the bottleneck.
2. The link was the limit for the time that it needs for the bytes that arrived. Bytes that arrived faster than the
   link carries them had waited for a lost packet, so they count in the times before.
3. For the rest of each time, the link was idle. First the client's receive window was the limit, then the send buffer,
   for as long as the front's kernel says. A LOWAT that lets the front wake up too late counts as the send buffer.
4. What remains is the congestion window's, or that of pacing, if the kernel had unsent bytes at the time's beginning or
   the congestion window was full then. Otherwise it is flow control's, if the client's windows were used up, and else
   that of the front, which had nothing to send.
5. Slow start is the time in which the congestion window is smaller than its threshold, as in the kernel
   (tcp_in_slow_start). BBR has no such threshold.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from types import MappingProxyType

from priolab.analysis.loads.flow_control import Windows
from priolab.analysis.loads.metrics import PageLoad
from priolab.analysis.records.rate import Rate
from priolab.analysis.records.runs import Layers
from priolab.analysis.records.samples import latest
from priolab.common.amounts import rate
from priolab.common.formats.run import LimitsRecord
from priolab.common.formats.samples import FEWEST_LOOKS, SocketSample
from priolab.common.packets import PACKET_BYTES, framed

_SMALL = 0.005
"""A share that would be shown as 0 %."""

UNKNOWN = (
    f"the limit is not known, with fewer than {FEWEST_LOOKS} samples of the front's socket between first and last byte"
)


class Limit(StrEnum):
    """The limits of a transfer. They are in the order of the rules."""

    LINK = "link"
    RECEIVE_WINDOW = "receive_window"
    SEND_BUFFER = "send_buffer"
    CONGESTION_WINDOW = "congestion_window"
    FLOW_CONTROL = "flow_control"
    FRONT = "front"


_WORDS: Mapping[str, str] = MappingProxyType(
    {
        Limit.LINK: "the link",
        Limit.RECEIVE_WINDOW: "the client's TCP window",
        Limit.SEND_BUFFER: "the send buffer or LOWAT",
        Limit.CONGESTION_WINDOW: "the congestion window or pacing",
        Limit.FLOW_CONTROL: "the client's flow control",
        Limit.FRONT: "the front, which had nothing to send,",
    }
)


@dataclass(frozen=True, kw_only=True)
class Ends:
    """The link and the client of a run. rate: the link's, in absolute times; None if unlimited.

    windows: the client's flow control; None if it is not known or never the limit.
    """

    rate: Rate | None
    delay_ns: int
    windows: Windows | None

    def after_crossing(self, layers: Layers) -> "Ends":
        """Returns the same with the rate that cross traffic leaves."""
        if self.rate is None or not layers.cross:
            return self
        crossed = [(sample.t_ns, sample.packets * PACKET_BYTES) for sample in layers.cross]
        return Ends(rate=self.rate.without(crossed), delay_ns=self.delay_ns, windows=self.windows)


def limits(load: PageLoad, layers: Layers, ends: Ends) -> LimitsRecord | None:
    """Returns what limited a load; None if it lasted no time, or without ten samples of the front's socket in it."""
    payload = load.traffic(each.name for each in load.page.contents)
    begins_ns, ends_ns = payload.first_byte_ns, payload.last_byte_ns
    times = _times(layers.sockets, begins_ns - ends.delay_ns, ends_ns - ends.delay_ns)
    if len(times) < FEWEST_LOOKS:
        return None
    found = dict.fromkeys(Limit, 0.0)
    position = max(each.after.handed_bytes for each in times)
    for time, link_ns in zip(times, _link_ns(times, layers, ends), strict=True):
        found[Limit.LINK] += link_ns
        for limit, part_ns in time.idle(time.lasts_ns - link_ns, ends.windows, position):
            found[limit] += part_ns
    lasted_ns = ends_ns - begins_ns
    slow_start, after_ns = _slow_start(times, begins_ns, ends)
    return LimitsRecord(
        shares={limit.value: round(part_ns / lasted_ns, 4) for limit, part_ns in found.items()},
        largest=max(found, key=lambda limit: found[limit]).value,
        goodput_bit_s=payload.goodput_bit_s(begins_ns, load.rate),
        slow_start=slow_start,
        goodput_after_bit_s=None if after_ns is None else payload.goodput_bit_s(after_ns, load.rate),
    )


@dataclass(frozen=True, kw_only=True)
class _Time:
    """A time at the front, between two samples of its socket, or the part of it that belongs to the load."""

    from_ns: int
    until_ns: int
    before: SocketSample
    after: SocketSample

    @property
    def lasts_ns(self) -> int:
        return self.until_ns - self.from_ns

    @property
    def is_slow_start(self) -> bool:
        return self.before.cwnd_segments < self.before.ssthresh_segments

    def idle(self, idle_ns: float, windows: Windows | None, position: int) -> Iterator[tuple[Limit, float]]:
        """Yields the limits while the link was idle, with their times. position: the end of the load's stream."""
        for limit, limited_us in (
            (Limit.RECEIVE_WINDOW, self.after.rwnd_limited_us - self.before.rwnd_limited_us),
            (Limit.SEND_BUFFER, self.after.sndbuf_limited_us - self.before.sndbuf_limited_us),
        ):
            part_ns = min(idle_ns, limited_us * 1000)
            yield limit, part_ns
            idle_ns -= part_ns
        yield self._rest(windows, position), idle_ns

    def _rest(self, windows: Windows | None, position: int) -> Limit:
        if self.before.notsent_bytes or self.before.unacked_segments >= self.before.cwnd_segments:
            return Limit.CONGESTION_WINDOW
        if windows is not None and windows.hold(self.before.handed_bytes, self.from_ns, position):
            return Limit.FLOW_CONTROL
        return Limit.FRONT


def _times(sockets: Sequence[SocketSample], begins_ns: int, ends_ns: int) -> list[_Time]:
    """Returns the times between samples, from begins_ns to ends_ns, in order."""
    return [
        _Time(from_ns=max(before.t_ns, begins_ns), until_ns=min(after.t_ns, ends_ns), before=before, after=after)
        for before, after in pairwise(sockets)
        if before.t_ns < ends_ns and after.t_ns > begins_ns
    ]


def _link_ns(times: Sequence[_Time], layers: Layers, ends: Ends) -> list[float]:
    """Returns for how long the link sent what arrived in each time."""
    if ends.rate is None:
        return [0.0] * len(times)
    found, early_bytes = [], 0.0
    for time in reversed(times):
        from_ns, until_ns = time.from_ns + ends.delay_ns, time.until_ns + ends.delay_ns
        bytes_by = [each.tcp_bytes if each else 0 for each in (latest(layers.arrivals, t) for t in (from_ns, until_ns))]
        arrived = framed(bytes_by[1] - bytes_by[0], time.before.mss_bytes) + early_bytes
        most = ends.rate.carried_bytes(from_ns, until_ns)
        early_bytes = max(0.0, arrived - most)
        found.append(time.lasts_ns * (min(1.0, arrived / most) if most else 1.0))
    return found[::-1]


def _slow_start(times: Sequence[_Time], begins_ns: int, ends: Ends) -> tuple[float | None, int | None]:
    """Returns the share of slow start, and when it last ended at the client; None with BBR."""
    if any(time.before.congestion_control == "bbr" for time in times):
        return None, None
    slow = [time for time in times if time.is_slow_start]
    share = sum(time.lasts_ns for time in slow) / sum(time.lasts_ns for time in times)
    after_ns = slow[-1].until_ns + ends.delay_ns if slow else begins_ns
    return round(share, 4), after_ns


def sentence(record: LimitsRecord) -> str:
    """Puts into words what limited a transfer, the longest limit first; those of less than a percent are left out."""
    shares = sorted(record.shares.items(), key=lambda each: -each[1])
    told = [f"{_WORDS[Limit(name)]} for {share:.0%}" for name, share in shares if share >= _SMALL]
    whole = "" if record.goodput_bit_s is None else f" ({rate(record.goodput_bit_s)})"
    slow = ""
    if record.slow_start is not None and record.slow_start >= _SMALL:
        after = record.goodput_after_bit_s
        then = f", and then came {rate(after)}" if after else ""
        slow = f"; slow start lasted {record.slow_start:.0%} of it{then}"
    return f"from first to last byte{whole} the limit was {', '.join(told)} of the time{slow}"
