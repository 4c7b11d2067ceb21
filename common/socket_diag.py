"""Samples the front's socket of the client's connection through sock_diag(7).

Every process in the front's network namespace may use sock_diag(7), without access to the server's process. The
server's process is not affected.
"""

import socket
import struct
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Self

from priolab.common.formats.counters import Negotiated
from priolab.common.formats.samples import ConnectionSample, SocketSample
from priolab.common.netlink import Conversation, Finder, Inquiry, question

_NETLINK_SOCK_DIAG, _BY_FAMILY = 4, 20  # <linux/netlink.h>, <linux/sock_diag.h>
_ESTABLISHED = 1  # TCP_ESTABLISHED, <net/tcp_states.h>
_REQUEST = struct.Struct("=3BxI48x")  # struct inet_diag_req_v2: family, protocol, extensions, states, identity
_INFO, _CONGESTION, _MEMORY = 2, 4, 7  # INET_DIAG_*, <linux/inet_diag.h>
_EXTENSIONS = sum(1 << (number - 1) for number in (_INFO, _CONGESTION, _MEMORY))
_ANSWER_BYTES = 2048  # the answer with all three extensions has some 450 bytes
_HEADER_BYTES = 72  # struct inet_diag_msg
_UNREAD = struct.Struct("=56xI")  # idiag_rqueue in it
_IDENTITY_AT, _IDENTITY_BYTES = 4, 48  # struct inet_diag_sockid
_PEER_PORT = struct.Struct(">2xH")  # the identity begins with the front's port and the client's port
_PORTS = struct.Struct(">HH")
_PORT_AND_PEER = struct.Struct(">4xH2x16x4s")
_MEMORY_WORDS = struct.Struct("=9I")  # SK_MEMINFO_*, <linux/sock_diag.h>
_TCP_INFO = struct.Struct("=16xI4xI4xI32xI4xII20xQ8xQ8xI4xII8xQQQQ8xQQI8xI")  # struct tcp_info, <linux/tcp.h>
_TCP_INFO_FIELDS = (
    "mss_bytes",
    "unacked_segments",
    "lost_segments",
    "rtt_us",
    "ssthresh_segments",
    "cwnd_segments",
    "pacing_rate_bytes_s",
    "bytes_acked",
    "segments_sent",
    "notsent_bytes",
    "min_rtt_us",
    "delivery_rate_bytes_s",
    "busy_us",
    "rwnd_limited_us",
    "sndbuf_limited_us",
    "bytes_sent",
    "bytes_retrans",
    "duplicate_segments",
    "peer_window_bytes",
)
"""The fields of SocketSample that _TCP_INFO unpacks, in its order."""
_NEGOTIATED = struct.Struct("=5xBB9xI56xIIII8xI88xI")
"""The fields of struct tcp_info that Negotiated is read from: both scales share a byte."""
_PROMPT_NS = 500_000
"""The longest time for an answer. If one took longer, this process was interrupted, and its time is unknown."""
_TRIES = 3
_FINDER = Finder(_HEADER_BYTES, _INFO, _MEMORY, _CONGESTION)


class SocketDiag:
    """A sampler of the connection from `peer` (an IPv4 address) to `port`.

    It works in the network namespace of the thread that creates it.
    """

    def __init__(self, peer: str, port: int) -> None:
        """Opens the netlink socket. Raises OSError."""
        self._peer = socket.inet_aton(peer)
        self._port = port
        self._conversation = Conversation(_NETLINK_SOCK_DIAG)
        self._all, self._any = _request(dump=True), _request(dump=False)
        self._one: bytes | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._conversation.__exit__()

    def sample(self, now_ns: int) -> SocketSample | None:
        """Samples the connection; None without a connection. Raises OSError if the kernel does not answer.

        now_ns: the present time, CLOCK_MONOTONIC. If an answer takes long, this asks again, at most twice.
        """
        if self._one is None:
            self._one = self._find()
        if self._one is None:
            return None
        for _ in range(_TRIES):
            try:
                answer = next(self._conversation.ask(self._one), None)
            except FileNotFoundError:  # the connection has closed
                self._one = None
                return None
            asked_ns, now_ns = now_ns, time.monotonic_ns()
            if now_ns - asked_ns <= _PROMPT_NS:
                break
        return None if answer is None else _read(answer, now_ns)

    def state(self) -> tuple[SocketSample | None, Negotiated | None, int]:
        """Samples the connection that has carried most bytes, without reading the clock: the sample's time is 0.

        Returns the sample and what was negotiated, None without a connection; and the kernel's memory, in bytes, for
        all connections of the place. Raises OSError if the kernel does not answer.
        """
        self.look_around()
        answers = list(self._conversation.ask(self._all))
        identity = None if self._one is None else self._one[-_IDENTITY_BYTES:]
        ours = (each for each in answers if each[_IDENTITY_AT : _IDENTITY_AT + _IDENTITY_BYTES] == identity)
        chosen, memory_bytes = next(ours, None), sum(map(_memory_bytes, answers))
        if chosen is None:
            return None, None, memory_bytes
        return _read(chosen, 0), _negotiated(chosen), memory_bytes

    def inquiry(self) -> Inquiry | None:
        """Returns the request for a sample, for a batch that sends it; None as long as no connection is known."""
        return None if self._one is None else self._conversation.inquiry(self._one, _ANSWER_BYTES)

    def sample_in(self, answers: Sequence[bytes] | None, t_ns: int) -> SocketSample | None:
        """Returns the sample in the answers to `inquiry`, taken at t_ns; None if the connection has closed."""
        if not answers:
            self._one = None
            return None
        return _read(answers[0], t_ns)

    def connections(self) -> Iterator[ConnectionSample]:
        """Yields a sample of each connection from the peer. Raises OSError if the kernel does not answer."""
        answers = list(self._conversation.ask(self._all))
        t_ns = time.monotonic_ns()
        for answer in answers:
            if self._is_ours(answer) and (sample := _read(answer, t_ns)) is not None:
                peer_port = _PEER_PORT.unpack_from(answer, _IDENTITY_AT)[0]
                yield ConnectionSample(**vars(sample), peer_port=peer_port)

    def _is_ours(self, answer: bytes) -> bool:
        port, peer = _PORT_AND_PEER.unpack_from(answer)
        return bool((peer, port) == (self._peer, self._port))

    @property
    def peer_port(self) -> int | None:
        """The client's port of the sampled connection; None without a connection."""
        return None if self._one is None else _PEER_PORT.unpack_from(self._one, len(self._one) - _IDENTITY_BYTES)[0]

    def look_around(self) -> None:
        """Chooses the connection to sample from now on: the connection from the peer that has carried most bytes.

        Raises OSError if the kernel does not answer.
        """
        self._one = self._find()

    def _find(self) -> bytes | None:
        """Returns the netlink request for the connection that has carried most bytes; None without a connection."""
        found, most_bytes = None, -1
        for answer in self._conversation.ask(self._all):
            if self._is_ours(answer):
                carried_bytes = _carried_bytes(answer)
                if carried_bytes > most_bytes:
                    most_bytes = carried_bytes
                    # The request ends with the identity of the requested connection.
                    found = self._any[:-_IDENTITY_BYTES] + answer[_IDENTITY_AT : _IDENTITY_AT + _IDENTITY_BYTES]
        return found


class Connections:
    """A sampler of all connections in the network namespace of the thread that creates it. A context manager."""

    def __init__(self, *, ipv6: bool = False) -> None:
        """Opens the netlink socket. ipv6: True for connections of IPv6, too. Raises OSError."""
        self._conversation = Conversation(_NETLINK_SOCK_DIAG)
        families = (socket.AF_INET, socket.AF_INET6) if ipv6 else (socket.AF_INET,)
        self._all = [_request(dump=True, family=family) for family in families]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._conversation.__exit__()

    def sample(self, t_ns: int) -> Iterator[tuple[int, ConnectionSample]]:
        """Yields the own port and a sample of each connection, with the time t_ns. Raises OSError."""
        for answer in chain.from_iterable(map(self._conversation.ask, self._all)):
            if (sample := _read(answer, t_ns)) is not None:
                port, peer_port = _PORTS.unpack_from(answer, _IDENTITY_AT)
                yield port, ConnectionSample(**vars(sample), peer_port=peer_port)


def _request(*, dump: bool, family: int = socket.AF_INET) -> bytes:
    request = _REQUEST.pack(family, socket.IPPROTO_TCP, _EXTENSIONS, 1 << _ESTABLISHED)
    return question(_BY_FAMILY, request, dump=dump)


def _tcp_info(data: bytes) -> dict[str, int]:
    """Unpacks a struct tcp_info into fields of SocketSample. Fields that an older kernel does not have are 0."""
    return dict(zip(_TCP_INFO_FIELDS, _TCP_INFO.unpack_from(data.ljust(_TCP_INFO.size, b"\0")), strict=True))


def _negotiated(answer: bytes) -> Negotiated | None:
    """Unpacks what the connection has from its handshake; None if it is closing, or the kernel does not tell it."""
    info = _FINDER.payloads(answer)[0]
    if len(info) < _NEGOTIATED.size:
        return None
    options, scales, mss_bytes, ssthresh, cwnd, advertised_bytes, reordering, *more = _NEGOTIATED.unpack_from(info)
    again, delivered = more
    return Negotiated(
        options=options,
        send_scale=scales & 0xF,
        receive_scale=scales >> 4,
        mss_bytes=mss_bytes,
        advertised_mss_bytes=advertised_bytes,
        cwnd_segments=cwnd,
        ssthresh_segments=ssthresh,
        reordering_segments=reordering,
        retransmitted_segments=again,
        delivered_segments=delivered,
    )


def _carried_bytes(answer: bytes) -> int:
    """Returns roughly the bytes that the server has handed to the kernel."""
    info = _tcp_info(_FINDER.payloads(answer)[0])
    return info["bytes_sent"] + info["notsent_bytes"]


def _memory_bytes(answer: bytes) -> int:
    """Returns the kernel's memory for a connection: received and to be sent, reserved, and for its options."""
    memory = _FINDER.payloads(answer)[1]
    received, _, _, _, reserved, queued, options, *_ = _MEMORY_WORDS.unpack_from(memory) if memory else bytes(9)
    return int(received + reserved + queued + options)


def _read(answer: bytes, t_ns: int) -> SocketSample | None:
    info, memory, congestion = _FINDER.payloads(answer)
    if not info or not memory:
        return None  # the connection is closing
    words = _MEMORY_WORDS.unpack_from(memory)
    return SocketSample(
        t_ns=t_ns,
        **_tcp_info(info),
        sndbuf_bytes=words[3],
        wmem_queued_bytes=words[5],
        congestion_control=congestion.split(b"\0")[0].decode(),
        unread_bytes=_UNREAD.unpack_from(answer)[0],
    )
