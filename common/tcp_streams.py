"""The byte streams of TCP connections, put together from captured packets. Pure.

A byte that was captured twice counts when it was first captured.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

import dpkt

_SEQUENCES = 2**32


@dataclass(frozen=True, kw_only=True)
class Segment:
    """Payload of a packet. position_bytes: its position in the TCP stream of its direction."""

    t_ns: int
    position_bytes: int
    payload: bytes

    @property
    def end_bytes(self) -> int:
        """The position behind the payload."""
        return self.position_bytes + len(self.payload)


@dataclass(frozen=True, kw_only=True)
class Direction:
    """The packets of one direction of a connection, as a capture has them, in order of time.

    opened_ns: when the packet with SYN was captured.
    """

    segments: Sequence[Segment]
    opened_ns: int = 0

    def first_ns(self, position_bytes: int) -> int | None:
        """Returns when a packet with the byte at a position was first seen; None if there was none."""
        times_ns = (each.t_ns for each in self.segments if each.position_bytes <= position_bytes < each.end_bytes)
        return next(times_ns, None)

    def stream(self) -> "Stream":
        """Returns the bytes in their order, up to the first gap."""
        content, times, waiting = bytearray(), [], dict[int, Segment]()
        for segment in self.segments:
            known = waiting.get(segment.position_bytes)
            if known is None or known.end_bytes < segment.end_bytes:
                waiting[segment.position_bytes] = segment
            while (nearest := _next_of(waiting, len(content))) is not None:
                content += nearest.payload[len(content) - nearest.position_bytes :]
                times.append((len(content), segment.t_ns))
        return Stream(
            content=bytes(content), ends_bytes=[end for end, _ in times], times_ns=[t_ns for _, t_ns in times]
        )


def _next_of(waiting: dict[int, Segment], end_bytes: int) -> Segment | None:
    """Takes segments that begin at or before end_bytes out of `waiting`; returns the first that ends behind it."""
    for position in [position for position in waiting if position <= end_bytes]:
        segment = waiting.pop(position)
        if segment.end_bytes > end_bytes:
            return segment
    return None


@dataclass(frozen=True, kw_only=True)
class Stream:
    """The bytes of one direction of a connection.

    times_ns: for each position in ends_bytes, when all bytes before it were there.
    """

    content: bytes
    ends_bytes: Sequence[int]
    times_ns: Sequence[int]

    def arrived_ns(self, position_bytes: int) -> int:
        """Returns when the byte at a position, which is in the content, and all bytes before it were there."""
        return self.times_ns[bisect_left(self.ends_bytes, position_bytes + 1)]

    def pieces(self) -> list[tuple[int, bytes]]:
        """Returns the content cut into the pieces that became readable at once, each with its time."""
        begins = [0, *self.ends_bytes]
        return [
            (t_ns, self.content[begin:end])
            for t_ns, begin, end in zip(self.times_ns, begins, self.ends_bytes, strict=False)
        ]


@dataclass(kw_only=True)
class _Seen:
    """The captured part of one direction of a connection. first: the sequence number of the stream's first byte."""

    first: int | None = None
    opened_ns: int = 0
    segments: list[Segment] = field(default_factory=list)

    def direction(self) -> Direction:
        return Direction(segments=self.segments, opened_ns=self.opened_ns)


def connections(
    packets: Iterable[tuple[int, dpkt.tcp.TCP]], server_port: int
) -> dict[int, tuple[Direction, Direction]]:
    """Returns the connections of a capture, by the client's port: the directions to the server and from the server.

    packets: the packets in the order of the capture, each with its time. Bytes of connections whose beginning is not in
    the capture are left out. A later connection from the same port replaces an earlier one.
    """
    seen: dict[int, tuple[_Seen, _Seen]] = {}
    for t_ns, tcp in packets:
        is_answer = tcp.sport == server_port
        way = seen.setdefault(tcp.dport if is_answer else tcp.sport, (_Seen(), _Seen()))[is_answer]
        if tcp.flags & dpkt.tcp.TH_SYN:
            first = (tcp.seq + 1) % _SEQUENCES
            if way.first != first:
                way.first, way.opened_ns, way.segments = first, t_ns, []
        elif tcp.data and way.first is not None:
            position = (tcp.seq - way.first) % _SEQUENCES
            way.segments.append(Segment(t_ns=t_ns, position_bytes=position, payload=bytes(tcp.data)))
    return {port: (up.direction(), down.direction()) for port, (up, down) in seen.items()}


def captured(capture: BinaryIO, server_port: int) -> dict[int, tuple[Direction, Direction]]:
    """Returns the connections of a pcap file, as `connections` does. Raises ValueError if it is not a capture."""
    packets = ((int(at * 10**9), dpkt.ethernet.Ethernet(packet).data.data) for at, packet in dpkt.pcap.Reader(capture))
    return connections(packets, server_port)
