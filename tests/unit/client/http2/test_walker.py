"""Tests of the division of a recorded HTTP/2 stream into frames, wherever the bytes are cut."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from priolab.client.data_frames import DataPiece
from priolab.client.http2.walker import PREFACE, Begun, Ended, FrameKind, FrameWalker


def _frame(kind: int, payload: bytes, *, flags: int = 0, stream_id: int = 0) -> bytes:
    return len(payload).to_bytes(3) + bytes([kind, flags]) + stream_id.to_bytes(4) + payload


_STREAM = b"".join(
    (
        PREFACE,
        _frame(FrameKind.SETTINGS, bytes(12)),
        _frame(FrameKind.HEADERS, b"headers", flags=0x5, stream_id=1),
        _frame(FrameKind.DATA, bytes([3]) + b"payload" + bytes(3), flags=0x8, stream_id=3),
        _frame(FrameKind.DATA, bytes([0]), flags=0x8, stream_id=3),
        _frame(FrameKind.DATA, b"", flags=0x1, stream_id=3),
        _frame(FrameKind.PRIORITY_UPDATE, (5).to_bytes(4) + b"u=1"),
        _frame(0xAB, b"unknown"),
    )
)


@given(st.lists(st.integers(0, len(_STREAM)), max_size=12))
def test_cuts_change_nothing(cuts: list[int]) -> None:
    """Frames, their ends and payload without padding are the same for any cuts. The preface is no frame."""
    walker = FrameWalker(preface=True)
    at = [0, *sorted(cuts), len(_STREAM)]
    seen = [each for start, end in pairwise(at) for each in walker.feed(_STREAM[start:end])]
    ended = [(each.frame.name, each.payload) for each in seen if isinstance(each, Ended)]
    assert ended == [
        ("SETTINGS", bytes(12)),
        ("HEADERS", b"headers"),
        ("DATA", b""),
        ("DATA", b""),
        ("DATA", b""),
        ("PRIORITY_UPDATE", bytes([0, 0, 0, 5]) + b"u=1"),
        ("type 0xab", b"unknown"),
    ]
    assert sum(isinstance(each, Begun) for each in seen) == len(ended)
    assert sum(each.size_bytes for each in seen if isinstance(each, DataPiece)) == len(b"payload")
    frames = [each.frame for each in seen if isinstance(each, Ended)]
    assert [frame.stream_id for frame in frames if frame.ends_stream] == [1, 3]
    assert [frame.stream_id for frame in frames if frame.ends_headers] == [1]
