"""Netlink messages (netlink(7)): encodes requests, sends them at the cost of two system calls each, parses answers."""

import os
import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

_HEADER = struct.Struct("=IHHII")  # struct nlmsghdr, <linux/netlink.h>
_ATTRIBUTE = struct.Struct("=HH")  # struct nlattr
_KIND = 0x3FFF  # NLA_TYPE_MASK
_ERROR, _DONE = 2, 3
# NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP, NLM_F_EXCL with NLM_F_CREATE
_REQUEST, _ACK, _DUMP, _NEW = 0x1, 0x4, 0x300, 0x600
_ANSWER_BYTES = 64 * 1024
_PATIENCE = struct.pack("@ll", 5, 0)  # struct timeval
_MOST_NUMBER = 2**32 - 1
_END_BYTES = 64
_SO_RCVBUFFORCE, _MANY_BYTES = 33, 4 * 2**20  # <asm-generic/socket.h>
_TOO_LARGE = "a netlink answer does not fit into its buffer"


def attribute(kind: int, *payload: bytes) -> bytes:
    """Encodes an attribute. kind: its type. payload: the value, or the attributes nested in it."""
    value = b"".join(payload)
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), kind) + value + bytes(-len(value) % 4)


def attributes(data: bytes, start: int = 0) -> dict[int, bytes]:
    """Parses the netlink attributes that begin at `start`; returns their payloads by attribute type."""
    return {kind: data[place] for kind, place in _places(data, start)}


def _places(data: bytes, start: int) -> Iterator[tuple[int, slice]]:
    """Yields the type of each attribute, and where its payload is."""
    while start + _ATTRIBUTE.size <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, start)
        if length < _ATTRIBUTE.size:
            break
        yield kind & _KIND, slice(start + _ATTRIBUTE.size, start + length)
        start += (length + 3) & ~3


class Finder:
    """Finds the same attributes in many messages. Parses a message only if they are at other places than before.

    They are taken to be at the same places as in the last message of that length if their headers are there.
    """

    def __init__(self, start: int, *kinds: int) -> None:
        """Finds attributes of these types. start: where the attributes of a message begin."""
        self._start = start
        self._kinds = kinds
        self._known: dict[int, tuple[list[slice], list[bytes], list[slice]]] = {}

    def payloads(self, data: bytes) -> list[bytes]:
        """Returns the payloads in the order of the types; an empty one for each attribute that is missing."""
        headers_at, headers, places = self._known.get(len(data), ([], [b""], []))
        if [data[place] for place in headers_at] != headers:
            found = dict(_places(data, self._start))
            places = [found.get(kind, slice(0)) for kind in self._kinds]
            if found.keys() >= {*self._kinds}:
                headers_at = [slice(place.start - _ATTRIBUTE.size, place.start) for place in places]
                self._known[len(data)] = headers_at, [data[place] for place in headers_at], places
        return [data[place] for place in places]


def question(kind: int, *payload: bytes, dump: bool) -> bytes:
    """Encodes a request that reads something, for `Conversation.ask`. kind: the message type.

    dump: True to read all objects.
    """
    return _encoded(kind, payload, _REQUEST | (_DUMP if dump else 0))


def order(kind: int, *payload: bytes, new: bool = True) -> bytes:
    """Encodes a request that changes something, for `Conversation.ask`.

    The only answer is an acknowledgement. kind: the message type. new: True to create an object, which must not exist
    yet.
    """
    return _encoded(kind, payload, _REQUEST | _ACK | (_NEW if new else 0))


def _encoded(kind: int, payload: tuple[bytes, ...], flags: int) -> bytes:
    message = b"".join(payload)
    return _HEADER.pack(_HEADER.size + len(message), kind, flags, 0, 0) + message


@dataclass(frozen=True, kw_only=True)
class Inquiry:
    """A netlink request that is sent on the socket of a Conversation, but not by the Conversation.

    descriptor: the socket's descriptor. request: the bytes to send. answer_bytes: the sizes of the buffers for the
    messages received in answer to the request. The answer to a dump needs a second, small buffer for the end of the
    dump.
    """

    descriptor: int
    request: bytes
    answer_bytes: Sequence[int]

    def answers(self, received: Sequence[bytes]) -> list[bytes] | None:
        """Parses the received messages; returns their payloads.

        received: a buffer for each of answer_bytes; zeros follow the messages in it. Returns None if the kernel refused
        the request, as for a socket that has closed. Raises OSError if a buffer was too small.
        """
        payloads, kind = [], None
        for data in received:
            for kind, _, payload in _messages(data, whole=True):
                if kind == _ERROR:
                    return None
                if kind != _DONE:
                    payloads.append(payload)
        if len(self.answer_bytes) > 1 and kind != _DONE:
            raise OSError(_TOO_LARGE)
        return payloads


class Conversation:
    """A netlink socket in the network namespace of the thread that creates it. A context manager."""

    def __init__(self, family: int) -> None:
        """Opens the socket. family: the netlink protocol, such as NETLINK_ROUTE. Raises OSError."""
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, family)
        # A timeout of Python's own would take several system calls for each request.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _PATIENCE)
        self._number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, question: bytes) -> Iterator[bytes]:
        """Sends a request and yields the payload of each answer, without netlink's header.

        A request without NLM_F_DUMP has a single answer. Answers to an earlier request that were not read are skipped.
        Raises OSError, also if the kernel refuses the request.
        """
        self._number = self._number % _MOST_NUMBER + 1
        length, kind, flags, _, port = _HEADER.unpack_from(question)
        asked = _HEADER.pack(length, kind, flags, self._number, port) + question[_HEADER.size :]
        self._socket.send(asked)
        is_dump = flags & _DUMP == _DUMP
        while True:
            for kind, number, payload in _messages(self._received()):
                if number != self._number:
                    continue
                if kind in (_DONE, _ERROR):
                    (code,) = struct.unpack_from("=i", payload)
                    if code < 0:
                        raise OSError(-code, os.strerror(-code))
                    return
                yield payload
                if not is_dump:
                    return

    def inquiry(self, question: bytes, answer_bytes: int) -> Inquiry:
        """Prepares a request that is sent on this socket by other means than `ask`.

        answer_bytes: the most bytes of an answer. `ask` must have received a dump before: only then does the kernel use
        messages as large as the buffers.
        """
        *_, flags, _, _ = _HEADER.unpack_from(question)
        sizes = (answer_bytes, _END_BYTES) if flags & _DUMP == _DUMP else (answer_bytes,)
        return Inquiry(descriptor=self._socket.fileno(), request=question, answer_bytes=sizes)

    def _received(self) -> bytes:
        try:
            return self._socket.recv(_ANSWER_BYTES)
        except BlockingIOError:
            raise TimeoutError("the kernel did not answer a netlink request within 5 s") from None


class Announcements:
    """Messages that the kernel sends by itself, in the network namespace of the thread that creates this. A context."""

    def __init__(self, family: int, groups: int) -> None:
        """Opens the socket. family: the netlink protocol. groups: the multicast groups, a bit for each."""
        self._socket = socket.socket(
            socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK, family
        )
        with suppress(PermissionError):  # an ordinary user has the usual size
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _MANY_BYTES)
        self._socket.bind((0, groups))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def fileno(self) -> int:
        """Returns the socket's descriptor."""
        return self._socket.fileno()

    def read(self) -> Iterator[bytes]:
        """Yields the payload of each message that has come. Raises OSError if some were lost."""
        while True:
            try:
                data = self._socket.recv(_ANSWER_BYTES)
            except BlockingIOError:
                return
            for _, _, payload in _messages(data):
                yield payload


def _messages(data: bytes, *, whole: bool = False) -> Iterator[tuple[int, int, bytes]]:
    """Yields (message type, number of the request, payload) of each message.

    whole: True to raise OSError if the last message is not complete.
    """
    at = 0
    while at + _HEADER.size <= len(data):
        length, kind, _, number, _ = _HEADER.unpack_from(data, at)
        if length < _HEADER.size:
            return
        if whole and at + length > len(data):
            raise OSError(_TOO_LARGE)
        yield kind, number, data[at + _HEADER.size : at + length]
        at += (length + 3) & ~3
