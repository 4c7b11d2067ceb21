"""Tests of the passages between two fronts, in captures that the tests write themselves."""

import io
from collections.abc import Sequence
from pathlib import Path

import dpkt
import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection

from priolab.common.errors import StepFailed
from priolab.common.formats.files import write_json
from priolab.common.tcp_streams import Direction, Segment
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.run.upstream_timing import finish, passages

_FRONT, _SECOND = b"\xc6\x12\x04\x02", b"\xc6\x12\x05\x02"
_MS = 10**6
_AHEAD_NS = 10**18
"""CLOCK_REALTIME minus CLOCK_MONOTONIC."""
_FIRST = 2**32 - 5
"""The sequence number of a stream's first byte. The counter wraps after five bytes."""


class Capture:
    """A capture under construction."""

    def __init__(self) -> None:
        self._file = io.BytesIO()
        self._writer = dpkt.pcap.Writer(self._file, nano=True)

    def packet(self, t_ms: float, port: int, position: int | None, payload: bytes = b"", *, answer: bool) -> None:
        """Adds a packet of the connection from the front's port. position: that in the stream; None for a SYN."""
        sequence = (_FIRST - 1 if position is None else _FIRST + position) % 2**32
        ports = {"sport": 80, "dport": port} if answer else {"sport": port, "dport": 80}
        flags = dpkt.tcp.TH_SYN if position is None else dpkt.tcp.TH_ACK
        tcp = dpkt.tcp.TCP(**ports, seq=sequence, flags=flags, data=payload)
        ends = {"src": _SECOND, "dst": _FRONT} if answer else {"src": _FRONT, "dst": _SECOND}
        packet = dpkt.ip.IP(**ends, p=dpkt.ip.IP_PROTO_TCP, data=tcp)
        packet.len = len(packet)
        at_s = (_AHEAD_NS + round(t_ms * _MS)) / 10**9
        self._writer.writepkt(bytes(dpkt.ethernet.Ethernet(data=packet)), ts=at_s)

    def opening(self, port: int) -> None:
        """Adds the first two packets of a connection."""
        self.packet(0, port, None, answer=False)
        self.packet(0, port, None, answer=True)

    def file(self) -> io.BytesIO:
        """Returns the capture as a file to read."""
        return io.BytesIO(self._file.getvalue())


def _asking(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: maps.test\r\n\r\n".encode()


_HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"


def _both(up: Sequence[tuple[float, int, bytes]], down: Sequence[tuple[float, float, int, bytes]]) -> list[Capture]:
    """Returns the captures at the front and at the second front of one connection.

    up: (time, position, payload). down: (time sent, time arrived, position, payload), in order of the time sent.
    """
    front, second = Capture(), Capture()
    for capture in (front, second):
        capture.opening(40_001)
    events = [(t_ms, 0, position, payload, False) for t_ms, position, payload in up]
    events += [(came_ms, 1, position, payload, True) for _, came_ms, position, payload in down]
    for t_ms, _, position, payload, answer in sorted(events):
        front.packet(t_ms, 40_001, position, payload, answer=answer)
    for sent_ms, _, position, payload in down:
        second.packet(sent_ms, 40_001, position, payload, answer=True)
    return [front, second]


def test_two_responses_on_one_connection() -> None:
    """Each response's passage has the times of its first byte of payload, which comes after the head."""
    first, later = _asking("/image.jpg"), _asking("/script.js")
    size = len(_HEAD) + 6
    front, second = _both(
        [(1, 0, first), (50, len(first), later)],
        [(10, 20, 0, _HEAD), (12, 22, len(_HEAD), b"abcdef"), (60, 75, size, _HEAD + b"ghijkl")],
    )
    image, script = passages(front.file(), second.file(), _AHEAD_NS)
    assert (image.path, image.port, image.position_bytes) == ("/image.jpg", 40_001, len(_HEAD))
    times = [image.requested_ns, image.sent_ns, image.arrived_ns]
    assert times == pytest.approx([1 * _MS, 12 * _MS, 22 * _MS], abs=1000)
    assert (script.path, script.position_bytes) == ("/script.js", size + len(_HEAD))
    times = [script.requested_ns, script.sent_ns, script.arrived_ns]
    assert times == pytest.approx([50 * _MS, 60 * _MS, 75 * _MS], abs=1000)


def test_a_lost_packet_before_the_byte() -> None:
    """The front has a byte only when it has all bytes before it; the byte was sent when it was sent first."""
    front, second = _both(
        [(1, 0, _asking("/a"))],
        [
            (10, 400, 0, _HEAD),  # lost once: it arrives after its second transmission
            (11, 31, len(_HEAD), b"abc"),
            (12, 32, len(_HEAD), b"abcdef"),
            (13, 33, len(_HEAD) + 3, b"def"),
        ],
    )
    (found,) = passages(front.file(), second.file(), _AHEAD_NS)
    assert [found.sent_ns, found.arrived_ns] == pytest.approx([11 * _MS, 400 * _MS], abs=1000)


def test_a_chunked_response() -> None:
    """The next response is found behind a response without Content-Length."""
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    first, later = _asking("/a"), _asking("/b")
    front, second = _both([(1, 0, first), (2, len(first), later)], [(10, 20, 0, head + chunks + _HEAD + b"ghijkl")])
    found = passages(front.file(), second.file(), _AHEAD_NS)
    assert [(each.path, each.position_bytes) for each in found] == [
        ("/a", len(head)),
        ("/b", len(head + chunks + _HEAD)),
    ]


def test_http2() -> None:
    """Streams of one connection are told apart, also if their frames alternate."""
    asking, answering = (
        H2Connection(H2Configuration(client_side=True)),
        H2Connection(H2Configuration(client_side=False)),
    )
    asking.initiate_connection()
    answering.initiate_connection()
    names = [(":method", "GET"), (":scheme", "http"), (":authority", "maps.test")]
    for stream, path in ((1, "/image.jpg"), (3, "/script.js")):
        asking.send_headers(stream, [*names, (":path", path)], end_stream=True)
    up = asking.data_to_send()
    answering.receive_data(up)
    for stream in (1, 3):
        answering.send_headers(stream, [(":status", "200")])
    answering.send_data(1, b"i" * 1000)
    before = answering.data_to_send()
    answering.send_data(3, b"s" * 100, end_stream=True)
    answering.send_data(1, b"i" * 1000, end_stream=True)
    after = answering.data_to_send()
    front, second = _both([(1, 0, up)], [(10, 20, 0, before), (30, 45, len(before), after)])
    found = {each.path: each for each in passages(front.file(), second.file(), _AHEAD_NS)}
    assert found["/image.jpg"].position_bytes == len(before) - 1000
    script = found["/script.js"]
    assert script.position_bytes == len(before) + 9
    assert [script.sent_ns, script.arrived_ns] == pytest.approx([30 * _MS, 45 * _MS], abs=1000)


def test_what_is_not_complete_is_left_out() -> None:
    """A request without a response, a head without a body, and a connection whose beginning is missing: no passage."""
    front, second = _both([(1, 0, _asking("/a"))], [(10, 20, 0, _HEAD)])
    front.packet(30, 40_002, 0, _asking("/b"), answer=False)
    assert passages(front.file(), second.file(), _AHEAD_NS) == []


def test_bytes_that_arrive_twice() -> None:
    """Overlapping segments are joined without a repetition."""
    parts = ((0, b"abc"), (1, b"bcde"), (0, b"abc"), (7, b"h"), (4, b"efg"))
    segments = [Segment(t_ns=number, position_bytes=at, payload=part) for number, (at, part) in enumerate(parts)]
    stream = Direction(segments=segments).stream()
    assert stream.content == b"abcdefgh"
    assert [stream.arrived_ns(at) for at in range(8)] == [0, 0, 0, 1, 1, 4, 4, 4]


def test_the_captures_are_removed(tmp_path: Path) -> None:
    """The journal takes their place. Without a capture, or with one that is none, there is one line."""
    folder = RunFolder(tmp_path)
    folder.second.mkdir()
    write_json(folder.second / "clock.json", {"realtime_minus_monotonic_ns": _AHEAD_NS})
    front, second = _both([(1, 0, _asking("/a"))], [(10, 20, 0, _HEAD + b"abcdef")])
    (folder.second / "front.pcap").write_bytes(front.file().getvalue())
    (folder.second / "second.pcap").write_bytes(second.file().getvalue())
    finish(folder)
    assert sorted(each.name for each in folder.second.iterdir()) == ["clock.json", "passages.jsonl"]
    assert (folder.second / "passages.jsonl").read_text().count("\n") == 1
    with pytest.raises(StepFailed, match=r"front\.pcap: No such file"):
        finish(folder)
    for end in ("front", "second"):
        (folder.second / f"{end}.pcap").write_bytes(b"no capture at all, but long enough")
    with pytest.raises(StepFailed, match="they cannot be read"):
        finish(folder)
    assert not list(folder.second.glob("*.pcap"))
