"""Records of the front, the link and the origin: the lines of their .jsonl files, each a JSON object."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from priolab.common.cost import Cost

FEWEST_LOOKS = 10
"""The fewest samples of the front's socket from which a ledger or a film is made. SAMPLE=none makes a single sample."""


@dataclass(frozen=True, kw_only=True)
class SocketSample:
    """A line of front/sockets.jsonl: a sample of the front's socket. Names are those of ss(8) and struct tcp_info.

    notsent_bytes: bytes in the kernel that have not been sent. unacked_segments: segments sent and not acknowledged.
    bytes_sent: all bytes sent, retransmissions included. bytes_retrans: retransmitted bytes. bytes_acked: acknowledged
    bytes, all of which the client's kernel has. busy_us: the time with data to send. rwnd_limited_us,
    sndbuf_limited_us: the parts of busy_us in which the client's window, or the send buffer, was the limit.
    sndbuf_bytes, wmem_queued_bytes: size and use of the send buffer with the kernel's overhead (skmem's tb and w in
    ss(8)). segments_sent: all segments sent so far, with and without data. duplicate_segments: segments that
    the client's kernel reported as received twice (RFC 2883), so that sending them again was needless.
    peer_window_bytes: the client's receive window. unread_bytes: bytes from the client that the server has not read.
    These four are 0 if the kernel, or an older record, lacks them.
    """

    t_ns: int
    notsent_bytes: int
    unacked_segments: int
    cwnd_segments: int
    ssthresh_segments: int
    mss_bytes: int
    rtt_us: int
    min_rtt_us: int
    delivery_rate_bytes_s: int
    pacing_rate_bytes_s: int
    busy_us: int
    rwnd_limited_us: int
    sndbuf_limited_us: int
    bytes_sent: int
    bytes_retrans: int
    bytes_acked: int
    lost_segments: int
    sndbuf_bytes: int
    wmem_queued_bytes: int
    congestion_control: str
    segments_sent: int = 0
    duplicate_segments: int = 0
    peer_window_bytes: int = 0
    unread_bytes: int = 0

    @property
    def sent_bytes(self) -> int:
        """Bytes of the TCP stream that have been sent at least once."""
        return self.bytes_sent - self.bytes_retrans

    @property
    def handed_bytes(self) -> int:
        """Bytes of the TCP stream that the server has handed to the kernel."""
        return self.sent_bytes + self.notsent_bytes

    def to_json(self) -> str:
        """Returns the line without a line break."""
        return _SOCKET_LINES[type(self)] % tuple(vars(self).values())


def counts_of(sample: SocketSample) -> dict[str, int]:
    """Returns the connection's counts in a sample, by their names in Counts (common/formats/counters.py)."""
    same = ("handed_bytes", "busy_us", "rwnd_limited_us", "sndbuf_limited_us")
    return {"retransmitted_bytes": sample.bytes_retrans, **{name: getattr(sample, name) for name in same}}


@dataclass(frozen=True, kw_only=True)
class ConnectionSample(SocketSample):
    """A line of second/connections.jsonl: a sample of a socket of the second front. peer_port: the front's port."""

    peer_port: int


@dataclass(frozen=True, kw_only=True)
class ProcessSample:
    """A line of front/process.jsonl: the front's process that serves the client, and TCP_NOTSENT_LOWAT of its socket.

    lowat_bytes: the socket's own value; 0 if the sysctl applies. peer_port: the client's port, of the connection that
    has carried most bytes; None if none is established. sampler: the total cost of the sampler. sysctl_bytes:
    net.ipv4.tcp_notsent_lowat of the front's place; None in older records.
    """

    t_ns: int
    pid: int
    peer_port: int | None
    lowat_bytes: int
    sampler: Cost
    sysctl_bytes: int | None = None

    def to_json(self) -> str:
        """Returns the line without a line break."""
        return json.dumps(vars(self), default=vars)


NEW_SOCKET = "a new socket"
"""The name in OptionsSample of a socket that nobody has changed."""


@dataclass(frozen=True, kw_only=True)
class OptionsSample:
    """A line of front/options.jsonl: the options of a socket when they are first seen, and when they have changed.

    socket: its name; the first line is that of NEW_SOCKET. options: their values by name (socket(7), ip(7), tcp(7)).
    """

    t_ns: int
    socket: str
    options: Mapping[str, str]

    def to_json(self) -> str:
        """Returns the line without a line break."""
        return json.dumps(vars(self))


@dataclass(frozen=True, kw_only=True)
class QueueContents:
    """The packets in one direction of the link. Sizes are those of whole Ethernet frames.

    packets, bytes: contents of the bottleneck. delay_line_packets, delay_line_bytes: contents of the delay line.
    dropped: packets that the bottleneck has dropped so far.
    """

    packets: int = 0
    bytes: int = 0
    delay_line_packets: int = 0
    delay_line_bytes: int = 0
    dropped: int = 0


@dataclass(frozen=True, kw_only=True)
class QueueSample(QueueContents):
    """A line of link/queue.jsonl: the packets in one direction of the link, `down` or `up`.

    The contents are those from t_ns until the next line of the same direction.
    """

    t_ns: int
    direction: str


def _format(kinds: Mapping[str, Any]) -> str:
    """Returns the format of a line with such keys; json.dumps takes three times as long. kinds: the types by key."""
    places = {int: "%d", str: '"%s"'}  # no text has letters that JSON escapes
    return "{" + ", ".join(f'"{name}": {places[kind]}' for name, kind in kinds.items()) + "}"


def _kinds(record: Any) -> dict[str, Any]:
    return {field.name: field.type for field in fields(record)}


_SOCKET_LINES = {record: _format(_kinds(record)) for record in (SocketSample, ConnectionSample)}
_QUEUE_LINE = _format({"t_ns": int, "direction": str} | _kinds(QueueContents))


def queue_line(t_ns: int, direction: str, contents: QueueContents) -> str:
    """Returns a line of link/queue.jsonl without a line break."""
    return _QUEUE_LINE % (t_ns, direction, *vars(contents).values())


@dataclass(frozen=True, kw_only=True)
class CrossSample:
    """A line of link/cross.jsonl: the cross traffic that has crossed the link.

    flows: the flows that are open. packets: the packets with data that have arrived at the client's kernel so far.
    bytes: the payload that the receiver has read so far, which lacks bytes behind a missing packet.
    """

    t_ns: int
    flows: int
    packets: int
    bytes: int

    def to_json(self) -> str:
        """Returns the line without a line break."""
        return json.dumps(vars(self))


@dataclass(frozen=True, kw_only=True)
class ServiceSpan:
    """A line of front/service.jsonl: a time, from t_ns until until_ns, in which the server was at work (SERVICE)."""

    t_ns: int
    until_ns: int

    def to_json(self) -> str:
        """Returns the line without a line break."""
        return json.dumps(vars(self))


@dataclass(frozen=True, kw_only=True)
class OriginRequest:
    """A line of origin/access.jsonl, as backend/origin.mjs writes it.

    path: path and query, as the front requested them.
    headers_ns: when the origin sent the response's headers alone; None if they went with the first byte. available_ns:
    when the origin could send the response, or its first chunk. handed_over_ns: when the origin had handed the whole
    response to its kernel. A time is None if the front closed the request before that time.
    """

    path: str
    received_ns: int
    headers_ns: int | None = None
    available_ns: int | None = None
    handed_over_ns: int | None = None
