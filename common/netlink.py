"""Repeated netlink requests at the cost of two system calls each.

pyroute2 knows the protocols but takes half a millisecond to parse an answer, too much for a request every ten. So it
only encodes the request, once, and tells the layout of answers (`layout`); a few struct calls parse them.
"""

import os
import socket
import struct
from collections.abc import Iterator, Sequence
from typing import Any, Self

_HEADER = struct.Struct("=IHHII")  # struct nlmsghdr, <linux/netlink.h>
_ATTRIBUTE = struct.Struct("=HH")  # struct nlattr
_KIND = 0x3FFF  # NLA_TYPE_MASK
_ERROR, _DONE = 2, 3
# NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP, NLM_F_EXCL with NLM_F_CREATE
_REQUEST, _ACK, _DUMP, _NEW = 0x1, 0x4, 0x300, 0x600
_ANSWER_BYTES = 64 * 1024
_PATIENCE_S = 5.0
_MOST_NUMBER = 2**32 - 1


def layout(fields: Sequence[tuple[str, str]]) -> tuple[struct.Struct, tuple[str, ...]]:
    """The struct that unpacks a structure declared by pyroute2, and the names of its fields."""
    return struct.Struct("=" + "".join(kind for _, kind in fields)), tuple(name for name, _ in fields)


def attributes(data: bytes, start: int = 0) -> dict[int, bytes]:
    """Parses netlink attributes from `start` on, by kind."""
    found: dict[int, bytes] = {}
    while start + _ATTRIBUTE.size <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, start)
        if length < _ATTRIBUTE.size:
            break
        found[kind & _KIND] = data[start + _ATTRIBUTE.size : start + length]
        start += (length + 3) & ~3
    return found


def question(kind: int, message: Any, *, dump: bool) -> bytes:
    """Encodes a pyroute2 message as a request for `Conversation.ask`. kind: the message type."""
    return _encoded(kind, message, _REQUEST | (_DUMP if dump else 0))


def order(kind: int, message: Any, *, new: bool = True) -> bytes:
    """Encodes a pyroute2 message that changes something. new: the object must not exist yet.

    The kernel acknowledges it and answers nothing else; see `Conversation.ask`.
    """
    return _encoded(kind, message, _REQUEST | _ACK | (_NEW if new else 0))


def _encoded(kind: int, message: Any, flags: int) -> bytes:
    message["header"]["type"] = kind
    message["header"]["flags"] = flags
    message.encode()
    return bytes(message.data)


class Conversation:
    """A netlink socket in the network namespace that the thread is in when this is made. A context."""

    def __init__(self, family: int) -> None:
        """family: NETLINK_ROUTE and the like. Raises OSError."""
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, family)
        self._socket.settimeout(_PATIENCE_S)
        self._number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, question: bytes) -> Iterator[bytes]:
        """Sends a request and yields the answers' payloads, without netlink's header.

        A request without NLM_F_DUMP has a single answer. Unread answers to an earlier request are skipped. Raises
        OSError, also if the kernel refuses the request.
        """
        self._number = self._number % _MOST_NUMBER + 1
        length, kind, flags, _, port = _HEADER.unpack_from(question)
        asked = _HEADER.pack(length, kind, flags, self._number, port) + question[_HEADER.size :]
        self._socket.send(asked)
        is_dump = flags & _DUMP == _DUMP
        while True:
            for kind, number, payload in _messages(self._socket.recv(_ANSWER_BYTES)):
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


def _messages(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yields (kind, number of the request, payload) of each message."""
    at = 0
    while at + _HEADER.size <= len(data):
        length, kind, _, number, _ = _HEADER.unpack_from(data, at)
        if length < _HEADER.size:
            return
        yield kind, number, data[at + _HEADER.size : at + length]
        at += (length + 3) & ~3
