"""Tests of the messages of sock_diag(7): the request, and the fields of an answer."""

import struct
from collections.abc import Iterator, Sequence

import pytest

from priolab.common import socket_diag
from priolab.common.netlink import Conversation, attribute

_AT = {
    "mss_bytes": 16,
    "unacked_segments": 24,
    "lost_segments": 32,
    "rtt_us": 68,
    "ssthresh_segments": 76,
    "cwnd_segments": 80,
    "pacing_rate_bytes_s": 104,
    "bytes_acked": 120,
    "notsent_bytes": 144,
    "min_rtt_us": 148,
    "delivery_rate_bytes_s": 160,
    "busy_us": 168,
    "rwnd_limited_us": 176,
    "sndbuf_limited_us": 184,
    "bytes_sent": 200,
    "bytes_retrans": 208,
}
"""The places of a SocketSample's fields in struct tcp_info (<linux/tcp.h>)."""


def _answer(info: bytes) -> bytes:
    return bytes(72) + attribute(2, info) + attribute(4, b"cubic\0") + attribute(7, struct.pack("=9I", *range(9)))


def test_the_request() -> None:
    """The request asks for established TCP connections, with their tcp_info, congestion control and memory."""
    asked = f"02064a00 02000000 {'00' * 48}"
    assert socket_diag._request(dump=True) == bytes.fromhex(f"48000000 1400 0103 00000000 00000000 {asked}")
    assert socket_diag._request(dump=False) == bytes.fromhex(f"48000000 1400 0100 00000000 00000000 {asked}")


def test_each_field_of_an_answer() -> None:
    """Every field of a sample comes from its own place in tcp_info and in skmem."""
    for name, at in _AT.items():
        info = bytearray(232)
        struct.pack_into("=I", info, at, 7)
        sample = socket_diag._read(_answer(bytes(info)), 5)
        assert sample is not None
        assert {field for field in _AT if getattr(sample, field)} == {name}
        assert (sample.sndbuf_bytes, sample.wmem_queued_bytes, sample.congestion_control) == (3, 5, "cubic")


_NEGOTIATED = {
    "mss_bytes": 16,
    "ssthresh_segments": 76,
    "cwnd_segments": 80,
    "advertised_mss_bytes": 84,
    "reordering_segments": 88,
    "retransmitted_segments": 100,
    "delivered_segments": 192,
}
"""The places of Negotiated's fields in struct tcp_info."""


def test_what_was_negotiated() -> None:
    """Every field comes from its own place; both scales share a byte. A shorter tcp_info tells nothing."""
    for name, at in _NEGOTIATED.items():
        info = bytearray(232)
        info[5:7] = 0x07, 0x97
        struct.pack_into("=I", info, at, 7)
        found = socket_diag._negotiated(_answer(bytes(info)))
        assert found is not None
        assert (found.options, found.send_scale, found.receive_scale) == (7, 7, 9)
        assert {field for field in _NEGOTIATED if getattr(found, field)} == {name}
    assert socket_diag._negotiated(_answer(bytes(192))) is None


def test_bytes_that_the_server_has_not_read() -> None:
    """They are in the message's header."""
    answer = bytearray(_answer(bytes(232)))
    struct.pack_into("=I", answer, 56, 91)
    sample = socket_diag._read(bytes(answer), 5)
    assert sample is not None
    assert sample.unread_bytes == 91


def test_an_older_kernel() -> None:
    """Fields beyond the end of a shorter tcp_info are 0. Without tcp_info or skmem there is no sample."""
    sample = socket_diag._read(_answer(struct.pack("=16xI", 1448)), 5)
    assert sample is not None
    assert (sample.mss_bytes, sample.rtt_us, sample.bytes_sent) == (1448, 0, 0)
    assert socket_diag._read(bytes(72), 5) is None


def test_carried_bytes() -> None:
    """Carried bytes are those sent and those that the kernel still holds."""
    info = bytearray(232)
    struct.pack_into("=I", info, _AT["notsent_bytes"], 5)
    struct.pack_into("=Q", info, _AT["bytes_sent"], 2**40)
    assert socket_diag._carried_bytes(_answer(bytes(info))) == 2**40 + 5


@pytest.mark.parametrize(("took_ms", "is_from"), [((9, 0), 1), ((9, 9, 9), 2), ((0,), 0)])
def test_a_slow_answer(took_ms: Sequence[int], is_from: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that took longer than half a millisecond is asked for again, at most twice."""
    now_ns = 0
    asked: list[int] = []

    def answer(_: Conversation, __: bytes) -> Iterator[bytes]:
        nonlocal now_ns
        now_ns += took_ms[len(asked)] * 10**6
        asked.append(now_ns)
        yield _answer(struct.pack("=16xI", len(asked) - 1))

    monkeypatch.setattr(Conversation, "ask", answer)
    monkeypatch.setattr("time.monotonic_ns", lambda: now_ns)
    with socket_diag.SocketDiag("192.0.2.1", 443) as diag:
        diag._one = bytes(72)
        sample = diag.sample(0)
    assert sample is not None
    assert (sample.mss_bytes, sample.t_ns) == (is_from, asked[is_from])
    assert len(asked) == is_from + 1
