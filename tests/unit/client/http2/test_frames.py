"""Tests of the frame scanner, which reports DATA as it arrives, wherever the bytes are cut."""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from hyperframe.frame import DataFrame, Frame, HeadersFrame, PingFrame, SettingsFrame, WindowUpdateFrame
from hypothesis import given
from hypothesis import strategies as st

from priolab.client.data_frames import DataHeader, DataPiece
from priolab.client.http2.frames import FrameScanner


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A frame as bytes, with the size of its DATA payload."""

    wire: bytes
    stream_id: int
    payload_bytes: int
    data_length: int | None


def sent(frame: Frame) -> Sent:
    wire = frame.serialize()
    data = frame if isinstance(frame, DataFrame) else None
    return Sent(
        wire=wire,
        stream_id=frame.stream_id,
        payload_bytes=len(data.data) if data else 0,
        data_length=len(wire) - 9 if data else None,
    )


def padded(stream_id: int, payload: bytes, pad_length: int) -> DataFrame:
    return DataFrame(stream_id, data=payload, pad_length=pad_length, flags=["PADDED"])


STREAMS = st.integers(min_value=0, max_value=3).map(lambda number: 2 * number + 1)
PAYLOADS = st.binary(max_size=60)
OTHERS = st.one_of(
    st.just(SettingsFrame(0, settings={4: 65_535})),
    st.just(PingFrame(0, opaque_data=b"\0\0\1\0\0\0\0\0")),
    st.builds(HeadersFrame, STREAMS, data=PAYLOADS, flags=st.just(["END_HEADERS"])),
    st.builds(lambda stream_id: WindowUpdateFrame(stream_id, window_increment=7), STREAMS),
)
FRAMES = st.one_of(
    st.builds(DataFrame, STREAMS, data=PAYLOADS),
    st.builds(lambda stream_id: DataFrame(stream_id, flags=["END_STREAM"]), STREAMS),
    st.builds(padded, STREAMS, PAYLOADS, st.integers(min_value=0, max_value=255)),
    OTHERS,
)


@st.composite
def cut_streams(draw: st.DrawFn) -> tuple[list[Sent], list[bytes]]:
    """Draws frames, and their bytes cut at arbitrary places."""
    frames = [sent(frame) for frame in draw(st.lists(FRAMES, max_size=8))]
    wire = b"".join(frame.wire for frame in frames)
    cuts = draw(st.lists(st.integers(min_value=0, max_value=len(wire)), max_size=20))
    edges = [0, *sorted(cuts), len(wire)]
    return frames, [wire[start:end] for start, end in pairwise(edges)]


def scan(chunks: list[bytes]) -> list[DataHeader | DataPiece]:
    scanner = FrameScanner()
    return [seen for chunk in chunks for seen in scanner.feed(chunk)]


@given(cut_streams())
def test_totals_do_not_depend_on_the_cuts(stream: tuple[list[Sent], list[bytes]]) -> None:
    """Each stream has exactly its payload, without padding, wherever the bytes are cut."""
    frames, chunks = stream
    totals: Counter[int] = Counter()
    for seen in scan(chunks):
        if isinstance(seen, DataPiece):
            assert seen.size_bytes > 0
            totals[seen.stream_id] += seen.size_bytes
    expected: Counter[int] = Counter()
    for frame in frames:
        expected[frame.stream_id] += frame.payload_bytes
    assert totals == +expected


@given(cut_streams())
def test_each_data_frame_is_announced_once_with_its_length(stream: tuple[list[Sent], list[bytes]]) -> None:
    """Each DATA frame, even if empty, is announced once, in order, with its length field.

    Other frames are not announced.
    """
    frames, chunks = stream
    headers = [seen for seen in scan(chunks) if isinstance(seen, DataHeader)]
    assert headers == [
        DataHeader(stream_id=frame.stream_id, length_bytes=frame.data_length)
        for frame in frames
        if frame.data_length is not None
    ]


@given(cut_streams())
def test_byte_by_byte_sees_the_same_as_at_once(stream: tuple[list[Sent], list[bytes]]) -> None:
    """Fed byte by byte, the scanner reports the same payload for each stream as fed at once."""
    wire = b"".join(stream[1])
    single = scan([wire[place : place + 1] for place in range(len(wire))])
    at_once = scan([wire])

    def per_stream(seen: list[DataHeader | DataPiece]) -> Counter[int]:
        return Counter(
            piece.stream_id for piece in seen if isinstance(piece, DataPiece) for _ in range(piece.size_bytes)
        )

    assert per_stream(single) == per_stream(at_once)


def test_payload_is_reported_before_its_frame_is_complete() -> None:
    """The first payload byte of a frame is reported at once, not when the frame's last byte arrives."""
    wire = DataFrame(5, data=bytes(16_384)).serialize()
    scanner = FrameScanner()
    assert list(scanner.feed(wire[:9])) == [DataHeader(stream_id=5, length_bytes=16_384)]
    assert list(scanner.feed(wire[9:10])) == [DataPiece(stream_id=5, size_bytes=1)]
    assert list(scanner.feed(wire[10:100])) == [DataPiece(stream_id=5, size_bytes=90)]
    assert list(scanner.feed(wire[100:])) == [DataPiece(stream_id=5, size_bytes=16_293)]


def test_reserved_bit_is_no_part_of_the_stream() -> None:
    """The highest bit of the stream identifier is ignored (RFC 9113, section 4.1)."""
    wire = bytearray(DataFrame(7, data=b"x").serialize())
    wire[5] |= 0x80
    assert {seen.stream_id for seen in scan([bytes(wire)])} == {7}
