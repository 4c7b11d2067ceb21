"""Finds when each response passed from the second front to the front, in the captures of the packets between them.

Rules:
1. The fronts speak HTTP without TLS, so the captures alone tell which bytes belong to which response.
2. Times in captures are of CLOCK_REALTIME, those in passages.jsonl of CLOCK_MONOTONIC. second/clock.json has the
   difference.
3. The captures are removed, also after a failure.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import dpkt
import h11
from hpack import Decoder
from hyperframe.frame import DataFrame, Frame, HeadersFrame

from common.formats.passages import Passage
from experiments.errors import StepFailed
from experiments.results.run_folder import RunFolder, read_json
from experiments.testbed.places import SECOND_PORT
from experiments.testbed.tap import HOP_ENDS

_STEP = "the captures between the fronts"
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_HEAD_END = b"\r\n\r\n"
_FRAME_HEAD_BYTES = 9
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
    """The packets of one direction of a connection, as a capture has them, in order of time."""

    segments: Sequence[Segment]

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


@dataclass(kw_only=True)
class _Seen:
    """What a capture has of one direction of a connection. first: the sequence number of the stream's first byte."""

    first: int | None = None
    segments: list[Segment] = field(default_factory=list)


def connections(capture: BinaryIO) -> dict[int, tuple[Direction, Direction]]:
    """Returns the connections of a capture, by the front's port: the directions from the front and to the front.

    Connections whose beginning is not in the capture are left out. Raises ValueError if it is not a capture.
    """
    seen: dict[int, tuple[_Seen, _Seen]] = {}
    for at, packet in dpkt.pcap.Reader(capture):
        tcp = dpkt.ethernet.Ethernet(packet).data.data
        is_answer = tcp.sport == SECOND_PORT
        way = seen.setdefault(tcp.dport if is_answer else tcp.sport, (_Seen(), _Seen()))[is_answer]
        if tcp.flags & dpkt.tcp.TH_SYN:
            way.first = (tcp.seq + 1) % _SEQUENCES
        elif tcp.data and way.first is not None:
            position = (tcp.seq - way.first) % _SEQUENCES
            way.segments.append(Segment(t_ns=int(at * 10**9), position_bytes=position, payload=bytes(tcp.data)))
    return {
        port: (Direction(segments=up.segments), Direction(segments=down.segments)) for port, (up, down) in seen.items()
    }


@dataclass(frozen=True, kw_only=True)
class Response:
    """A response in a connection's streams: its path, the end of its request, and the begin of its body."""

    path: str
    request_end_bytes: int
    body_bytes: int


def responses(up: bytes, down: bytes) -> Iterator[Response]:
    """Yields the responses whose body has begun, in the order of their connection.

    up, down: the streams from the front and to the front.
    """
    return _over_http2(up, down) if up.startswith(_PREFACE) else _over_http1(up, down)


def _over_http1(up: bytes, down: bytes) -> Iterator[Response]:
    asked_bytes, answered_bytes = 0, 0
    while (end := up.find(_HEAD_END, asked_bytes)) >= 0:
        method, path, *_ = up[asked_bytes:end].split(None, 2)
        asked_bytes = end + len(_HEAD_END)
        head_end = down.find(_HEAD_END, answered_bytes)
        if head_end < 0:
            return
        reader = h11.Connection(h11.CLIENT)
        reader.send(h11.Request(method=method, target=path, headers=[("host", "second")]))
        reader.send(h11.EndOfMessage())
        reader.receive_data(down[answered_bytes:])
        while not isinstance(event := reader.next_event(), h11.EndOfMessage):
            if event is h11.NEED_DATA:
                break
        yield Response(path=path.decode(), request_end_bytes=asked_bytes, body_bytes=head_end + len(_HEAD_END))
        if event is h11.NEED_DATA:
            return
        answered_bytes = len(down) - len(reader.trailing_data[0])


def _over_http2(up: bytes, down: bytes) -> Iterator[Response]:
    decoder, asked = Decoder(), dict[int, tuple[str, int]]()
    for frame, position in _frames(up, len(_PREFACE)):
        if isinstance(frame, HeadersFrame):
            fields = {_text(name): _text(value) for name, value in decoder.decode(frame.data)}
            asked[frame.stream_id] = fields[":path"], position
    for frame, position in _frames(down, 0):
        if isinstance(frame, DataFrame) and frame.data and frame.stream_id in asked:
            path, request_end_bytes = asked.pop(frame.stream_id)
            yield Response(path=path, request_end_bytes=request_end_bytes, body_bytes=position - len(frame.data))


def _text(text: bytes | str) -> str:
    return text.decode() if isinstance(text, bytes) else text


def _frames(stream: bytes, position: int) -> Iterator[tuple[Frame, int]]:
    """Yields the complete frames of a stream from a position on, each with the position of its end."""
    view = memoryview(stream)
    while position + _FRAME_HEAD_BYTES <= len(view):
        frame, size = Frame.parse_frame_header(view[position : position + _FRAME_HEAD_BYTES])
        position += _FRAME_HEAD_BYTES
        if position + size > len(view):
            return
        frame.parse_body(view[position : position + size])
        position += size
        yield frame, position


def passages(at_front: BinaryIO, at_second: BinaryIO, ahead_ns: int) -> list[Passage]:
    """Returns the passages in two captures, in the order of the requests.

    ahead_ns: CLOCK_REALTIME minus CLOCK_MONOTONIC. Raises ValueError if a file is not a capture.
    """
    sent = connections(at_second)
    found = []
    for port, (up, down) in connections(at_front).items():
        asked, came = up.stream(), down.stream()
        for each in responses(asked.content, came.content):
            sent_ns = sent[port][1].first_ns(each.body_bytes) if port in sent else None
            if each.body_bytes < len(came.content) and sent_ns is not None:
                found.append(
                    Passage(
                        path=each.path,
                        port=port,
                        position_bytes=each.body_bytes,
                        requested_ns=asked.arrived_ns(each.request_end_bytes - 1) - ahead_ns,
                        sent_ns=sent_ns - ahead_ns,
                        arrived_ns=came.arrived_ns(each.body_bytes) - ahead_ns,
                    )
                )
    return sorted(found, key=lambda passage: passage.requested_ns)


def finish(folder: RunFolder) -> None:
    """Writes second/passages.jsonl, and removes the captures. Raises StepFailed if they cannot be read."""
    captures = [folder.second / f"{end}.pcap" for end in HOP_ENDS]
    try:
        _write(folder.second / "passages.jsonl", captures, read_json(folder.second / "clock.json"))
    except OSError as error:
        raise StepFailed(_STEP, f"{error.filename}: {error.strerror}") from error
    except (ValueError, dpkt.Error, h11.RemoteProtocolError) as error:
        raise StepFailed(_STEP, f"they cannot be read: {error}") from error
    finally:
        for each in captures:
            each.unlink(missing_ok=True)


def _write(journal: Path, captures: Sequence[Path], clock: Any) -> None:
    front, second = captures
    with front.open("rb") as at_front, second.open("rb") as at_second:
        found = passages(at_front, at_second, clock["realtime_minus_monotonic_ns"])
    journal.write_text("".join(f"{each.to_json()}\n" for each in found))
