"""Finds when each response passed from the second front to the front, in the captures of the packets between them.

Rules:
1. The fronts speak HTTP without TLS, so the captures alone tell which bytes belong to which response.
2. Times in captures are of CLOCK_REALTIME, those in passages.jsonl of CLOCK_MONOTONIC. second/clock.json has the
   difference.
3. The captures are removed, also after a failure.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import dpkt
import h11
from hpack import Decoder
from hyperframe.frame import DataFrame, Frame, HeadersFrame

from priolab.common import tcp_streams
from priolab.common.errors import StepFailed
from priolab.common.formats.files import read_json
from priolab.common.formats.upstream_timing import Passage
from priolab.experiments.hosts.experiment_hosts import HOP_CAPTURES, SECOND_PORT
from priolab.experiments.results.run_folder import RunFolder

_STEP = "the captures between the fronts"
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_HEAD_END = b"\r\n\r\n"
_FRAME_HEAD_BYTES = 9


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
    sent = tcp_streams.captured(at_second, SECOND_PORT)
    found = []
    for port, (up, down) in tcp_streams.captured(at_front, SECOND_PORT).items():
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
    captures = [folder.second / f"{end}.pcap" for end in HOP_CAPTURES]
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
