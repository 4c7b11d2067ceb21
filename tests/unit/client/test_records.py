"""Tests of the division of a stream of bytes into TLS records with times and positions."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from priolab.client.records import Record, RecordSplitter

_SIZES = st.lists(st.integers(0, 2**14 + 256), min_size=1, max_size=6)


def record(size: int, filler: int = 7) -> bytes:
    return bytes([23, 3, 3]) + size.to_bytes(2) + bytes([filler]) * size


def test_a_record_carries_both_its_times_and_its_end() -> None:
    """A record has the arrival times of its first and last byte; its end position counts headers, too."""
    splitter = RecordSplitter()
    whole = record(10) + record(20)
    assert list(splitter.feed(whole[:3], 100)) == []
    first, second = [*splitter.feed(whole[3:20], 200), *splitter.feed(whole[20:], 300)]
    assert first == Record(data=whole[:15], end_bytes=15, started_ns=100, received_ns=200)
    assert second == Record(data=whole[15:], end_bytes=40, started_ns=200, received_ns=300)
    assert splitter.received_bytes == 40


def test_a_stream_without_tls() -> None:
    """What is fed at once is passed on at once, with its position."""
    splitter = RecordSplitter(tls=False)
    first, second = [*splitter.feed(b"ab", 100), *splitter.feed(b"c", 200)]
    assert first == Record(data=b"ab", end_bytes=2, started_ns=100, received_ns=100)
    assert second == Record(data=b"c", end_bytes=3, started_ns=200, received_ns=200)
    assert (splitter.missing_bytes, splitter.has_begun) == (0, False)


def test_a_record_that_begins_with_a_packet_begins_then() -> None:
    """A record that begins with a packet has the packet's time, not that of the previous record's end."""
    splitter = RecordSplitter()
    list(splitter.feed(record(5), 100))
    (second,) = splitter.feed(record(5), 400)
    assert (second.started_ns, second.received_ns) == (400, 400)


@given(sizes=_SIZES, cuts=st.lists(st.integers(0, 100_000), max_size=12))
def test_wherever_the_stream_is_cut(sizes: list[int], cuts: list[int]) -> None:
    """Records and their end positions are the same wherever the stream is cut."""
    stream = b"".join(record(size, index) for index, size in enumerate(sizes))
    edges = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    splitter = RecordSplitter()
    found: list[Record] = []
    for number, (start, end) in enumerate(pairwise(edges)):
        found += splitter.feed(stream[start:end], number)
    assert [len(made.data) - 5 for made in found] == sizes
    assert b"".join(made.data for made in found) == stream
    assert [made.end_bytes for made in found] == [sum(sizes[: n + 1]) + 5 * (n + 1) for n in range(len(sizes))]
    assert all(made.started_ns <= made.received_ns for made in found)


def test_what_is_no_record_is_handed_on() -> None:
    """Bytes with a length that TLS forbids are passed on, so that TLS can report the error."""
    splitter = RecordSplitter()
    garbage = b"HTTP/1.1 400 Bad Request\r\n"
    (handed,) = splitter.feed(garbage, 1)
    assert handed.data == garbage
    assert [made.data for made in splitter.feed(b"more", 2)] == [b"more"]
