"""HTTP/2's flow control as the front saw it: when the client's windows kept it from sending DATA. Pure.

The front may send as many bytes of DATA on the connection, and on each stream, as the client has allowed so far. What
it has sent follows from the bytes that its kernel accepted, because the client knows which payload each part of the TCP
stream holds. What the client allowed follows from the payload that it received: the lab's client enlarges its windows
by a fixed rule. For HTTP/2 the rule is that of the library h2, for SPDY/3.1 that of client/spdy/engine.py. Each
increase counts from the time at which it is at the front, a delay later.

The rules of browsers are not known, and QUIC's windows are not in the TCP stream. So for both nothing is known.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol as Interface

from priolab.analysis.loads.estimate import Estimate
from priolab.analysis.records.runs import Evidence
from priolab.common.formats.events import Event, Kind
from priolab.common.formats.plan import Protocol
from priolab.common.formats.samples import SocketSample
from priolab.common.formats.scenario import PROBE, ScenarioRecord

_CONNECTION = 0
_FEW_BYTES = 1024
_FIRST_WINDOW_BYTES = {Protocol.HTTP2: 65_535, Protocol.SPDY: 64 * 1024}
"""The least size of the connection's window: no setting makes it smaller."""


class _Rule(Interface):
    """A receiver's rule for enlarging a window."""

    def take(self, size_bytes: int) -> int:
        """Returns by how much the window is enlarged when size_bytes more of DATA have arrived."""


class Http2Rule:
    """The rule of h2.windows.WindowManager, which enlarges a window to its full size when half of it is used up.

    An empty window is enlarged earlier. h2 itself is not imported, because that takes a tenth of a second.
    """

    def __init__(self, size_bytes: int) -> None:
        self._size_bytes, self._left_bytes, self._taken_bytes = size_bytes, size_bytes, 0

    def take(self, size_bytes: int) -> int:
        """Returns by how much the window is enlarged when size_bytes more of DATA have arrived."""
        self._left_bytes -= size_bytes
        self._taken_bytes += size_bytes
        is_empty = not self._left_bytes and self._taken_bytes > min(_FEW_BYTES, self._size_bytes // 4)
        if not is_empty and self._taken_bytes < self._size_bytes // 2:
            return 0
        more_bytes = min(self._taken_bytes, self._size_bytes - self._left_bytes)
        self._taken_bytes = 0
        self._left_bytes += more_bytes
        return more_bytes


class _SpdyRule:
    def __init__(self, size_bytes: int) -> None:
        self._size_bytes, self._taken_bytes = size_bytes, 0

    def take(self, size_bytes: int) -> int:
        self._taken_bytes += size_bytes
        if 2 * self._taken_bytes < self._size_bytes:
            return 0
        taken, self._taken_bytes = self._taken_bytes, 0
        return taken


_RULES: Mapping[Protocol, Callable[[int], _Rule]] = {Protocol.HTTP2: Http2Rule, Protocol.SPDY: _SpdyRule}


@dataclass(kw_only=True)
class _Window:
    """A window: what the client allowed by a time, and the DATA up to a position of the TCP stream, both in all."""

    rule: _Rule
    size_bytes: int
    allowed_ns: list[int] = field(default_factory=list)
    allowed_bytes: list[int] = field(default_factory=list)
    ends_bytes: list[int] = field(default_factory=list)
    sent_bytes: list[int] = field(default_factory=list)

    def sent(self, size_bytes: int, end_bytes: int) -> None:
        """DATA of this size is in the TCP stream before a position."""
        self.sent_bytes.append(size_bytes + (self.sent_bytes[-1] if self.sent_bytes else 0))
        self.ends_bytes.append(end_bytes)

    def received(self, size_bytes: int, t_ns: int) -> None:
        """A frame was complete at the client; an increase is at the front at t_ns."""
        if more := self.rule.take(size_bytes):
            self.allowed_ns.append(t_ns)
            self.allowed_bytes.append(more + (self.allowed_bytes[-1] if self.allowed_bytes else 0))

    def left_bytes(self, handed_bytes: int, t_ns: int) -> int:
        """Returns how much more the front may send at t_ns, if it has handed the stream up to a position over."""
        more = bisect_right(self.allowed_ns, t_ns)
        allowed = self.size_bytes + (self.allowed_bytes[more - 1] if more else 0)
        return allowed - self.before(handed_bytes)

    def before(self, position: int) -> int:
        """Returns the bytes of DATA before a position, those of a record that it cuts excluded."""
        done = bisect_right(self.ends_bytes, position)
        return self.sent_bytes[done - 1] if done else 0


class Windows:
    """The windows of a connection. Times are those at the front."""

    def __init__(
        self, events: Iterable[Event], protocol: Protocol, window_bytes: int, delay_up_ns: int, *, whole_bytes: int = 0
    ) -> None:
        """window_bytes: the size that the client offered for each stream. whole_bytes: connection; 0: the same."""
        self._rule, self._size_bytes, self._delay_up_ns = _RULES[protocol], window_bytes, delay_up_ns
        first_bytes = max(whole_bytes or window_bytes, _FIRST_WINDOW_BYTES[protocol])
        self._windows = {_CONNECTION: _Window(rule=self._rule(first_bytes), size_bytes=first_bytes)}
        frames: dict[int, tuple[int, int]] = {}
        for event in events:
            if event.stream_id is None or event.kind not in (Kind.DATA_HEADER, Kind.DATA, Kind.ENDED):
                continue
            length, left = frames.get(event.stream_id, (0, 0))
            if event.kind is Kind.DATA_HEADER:
                self._sent(event, left)  # what was left of the frame before is padding
                if length and left:
                    self._received(event, length)
                length = left = event.size_bytes or 0
            elif event.kind is Kind.DATA:
                self._sent(event, event.size_bytes or 0)
                left -= event.size_bytes or 0
            else:
                left = 0
            if length and not left:
                self._received(event, length)
                length = 0
            frames[event.stream_id] = length, left

    @property
    def changes_ns(self) -> Sequence[int]:
        """The times at which the front could send more."""
        return sorted(t_ns for window in self._windows.values() for t_ns in window.allowed_ns)

    def hold(self, handed_bytes: int, t_ns: int, position: int) -> bool:
        """True if the front, which has handed its stream up to handed_bytes over, may not send what comes next.

        That is so if the connection's window is used up, or the window of each stream with DATA before a position.
        """
        if self._windows[_CONNECTION].left_bytes(handed_bytes, t_ns) <= 0:
            return True
        ahead = [
            window
            for stream_id, window in self._windows.items()
            if stream_id != _CONNECTION and window.before(position) > window.before(handed_bytes)
        ]
        return bool(ahead) and all(window.left_bytes(handed_bytes, t_ns) <= 0 for window in ahead)

    def closed(self, stream_id: int, handed_bytes: int, t_ns: int) -> bool:
        """True if a stream's window is used up at t_ns, after handed_bytes of the TCP stream."""
        window = self._windows.get(stream_id)
        return window is not None and window.left_bytes(handed_bytes, t_ns) <= 0

    def _of(self, event: Event) -> tuple[_Window, _Window]:
        stream_id = event.stream_id or _CONNECTION
        if stream_id not in self._windows:
            self._windows[stream_id] = _Window(rule=self._rule(self._size_bytes), size_bytes=self._size_bytes)
        return self._windows[_CONNECTION], self._windows[stream_id]

    def _sent(self, event: Event, size_bytes: int) -> None:
        if size_bytes and event.tcp_bytes is not None:
            for window in self._of(event):
                window.sent(size_bytes, event.tcp_bytes)

    def _received(self, event: Event, size_bytes: int) -> None:
        for window in self._of(event):
            window.received(size_bytes, event.t_ns + self._delay_up_ns)


def may_enlarge(scenario: ScenarioRecord) -> bool:
    """True if the page may use up half of a window, which the client then enlarges."""
    return 2 * scenario.whole_page.total_bytes > min(scenario.window_bytes, scenario.whole_window_bytes)


def windows_of(evidence: Evidence, scenario: ScenarioRecord) -> Windows | None:
    """Returns the windows of a connection; None if they are not known, or too large for the page to use up."""
    if scenario.client != "h2" or scenario.plan == PROBE or evidence.protocol not in _RULES:
        return None
    if not may_enlarge(scenario):
        return None
    return Windows(
        evidence.events,
        evidence.protocol,
        scenario.window_bytes,
        scenario.delay_up_ns,
        whole_bytes=scenario.whole_window_bytes,
    )


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """A wait in the front. position: the first byte's. lowat_bytes: LOWAT, if it is a number and set."""

    sockets: Sequence[SocketSample]
    position: int
    lowat_bytes: int | None

    def held(self, windows: Windows, from_ns: int, until: Estimate) -> Estimate:
        """Returns how long, from an instant until another, only the windows kept the front from sending.

        While the kernel would accept no bytes anyway, the windows do not count. Between two samples the front has sent
        at least what it had at the first, and at most what it had at the second; and its kernel may have accepted no
        bytes if it did not at one of them.
        """

        def between(until_ns: int) -> list[int]:
            return [self._held_ns(windows, from_ns, until_ns, later) for later in (0, 1)]

        return Estimate(
            ns=sum(between(until.ns)) // 2, least_ns=min(between(until.least_ns)), most_ns=max(between(until.most_ns))
        )

    def _held_ns(self, windows: Windows, from_ns: int, until_ns: int, later: int) -> int:
        times = [sample.t_ns for sample in self.sockets]
        inside = {t_ns for t_ns in (*times, *windows.changes_ns) if from_ns < t_ns < until_ns}
        held_ns = 0
        for begin_ns, end_ns in pairwise(sorted({from_ns, *inside, until_ns})):
            index = max(0, bisect_right(times, begin_ns) - 1)
            both = self.sockets[index], self.sockets[min(index + 1, len(times) - 1)]
            is_full = (all if later else any)(map(self._is_full, both))
            if not is_full and windows.hold(both[later].handed_bytes, begin_ns, self.position):
                held_ns += end_ns - begin_ns
        return held_ns

    def _is_full(self, sample: SocketSample) -> bool:
        """True if the kernel accepts no more bytes."""
        if self.lowat_bytes is not None and sample.notsent_bytes >= self.lowat_bytes:
            return True
        return sample.sndbuf_bytes > 0 and sample.wmem_queued_bytes >= sample.sndbuf_bytes


def receive_window(sockets: Sequence[SocketSample], handed: Estimate, sent: Estimate) -> Estimate:
    """Returns how long TCP's receive window was the limit while a byte was unsent in the front's kernel.

    handed: when the front handed the byte over. sent: when the kernel sent it.
    """

    def limited_ns(t_ns: int, later: int) -> int:
        index = bisect_right(sockets, t_ns, key=lambda sample: sample.t_ns) - 1 + later
        return sockets[min(max(0, index), len(sockets) - 1)].rwnd_limited_us * 1000

    most_ns = limited_ns(sent.most_ns, 1) - limited_ns(handed.least_ns, 0)
    least_ns = limited_ns(sent.least_ns, 0) - limited_ns(handed.most_ns, 1)
    return Estimate.between(least_ns, most_ns).clipped(0, sent.ns - handed.ns)
