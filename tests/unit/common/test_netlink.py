"""Tests of netlink's answers: which answer a request, where they end, and errors of the kernel."""

import errno
import socket
import struct
from collections.abc import Sequence
from typing import Any

import pytest

from common.netlink import Conversation, attributes, question

_HEADER = struct.Struct("=IHHII")
_REQUEST, _DUMP = 0x1, 0x300
_ERROR, _DONE, _ANSWER = 2, 3, 20


_Message = tuple[int, int | None, bytes]


class _Socket:
    """A netlink socket that answers with given messages. A sequence number of None is replaced by the request's."""

    def __init__(self, *received: Sequence[_Message]) -> None:
        self._received = list(received)
        self._number = 0

    def setsockopt(self, *_: object) -> None:
        pass

    def close(self) -> None:
        pass

    def send(self, question: bytes) -> None:
        self._number = _HEADER.unpack_from(question)[3]

    def recv(self, _: int) -> bytes:
        made = b""
        for kind, number, payload in self._received.pop(0):
            own = self._number if number is None else number
            padding = b"\0" * (-len(payload) % 4)
            made += _HEADER.pack(_HEADER.size + len(payload), kind, 0, own, 0) + payload + padding
        return made


def _ask(monkeypatch: pytest.MonkeyPatch, *received: Sequence[_Message], dump: bool) -> list[bytes]:
    kernel = _Socket(*received)

    def made(*_: Any) -> _Socket:
        return kernel

    monkeypatch.setattr(socket, "socket", made)
    question = _HEADER.pack(_HEADER.size, _ANSWER, _REQUEST | (_DUMP if dump else 0), 0, 0)
    with Conversation(0) as conversation:
        return list(conversation.ask(question))


def _code(number: int) -> bytes:
    return struct.pack("=i", number)


def test_a_dump_goes_on_until_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dump may take several packets and messages of any length."""
    first = [(_ANSWER, None, b"one"), (_ANSWER, None, b"second")]
    last = [(_ANSWER, None, b"3"), (_DONE, None, _code(0))]
    assert _ask(monkeypatch, first, last, dump=True) == [b"one", b"second", b"3"]


def test_one_question_has_one_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request without a dump returns its answer without waiting for NLMSG_DONE."""
    assert _ask(monkeypatch, [(_ANSWER, None, b"yes")], dump=False) == [b"yes"]


def test_what_was_left_of_an_earlier_answer_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages with the sequence number of an earlier request are ignored."""
    late = [(_ANSWER, 77, b"stale"), (_DONE, 77, _code(0))]
    assert _ask(monkeypatch, late, [(_ANSWER, None, b"fresh")], dump=False) == [b"fresh"]


@pytest.mark.parametrize("kind", [_ERROR, _DONE])
def test_a_refusal_is_an_error(monkeypatch: pytest.MonkeyPatch, kind: int) -> None:
    """An error number raises OSError, also at the end of a dump."""
    with pytest.raises(OSError, match="No such file") as caught:
        _ask(monkeypatch, [(kind, None, _code(-errno.ENOENT))], dump=kind == _DONE)
    assert caught.value.errno == errno.ENOENT


def test_an_acknowledgement_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """An acknowledgement is neither an error nor an answer."""
    assert _ask(monkeypatch, [(_ERROR, None, _code(0))], dump=False) == []


def test_attributes_end_where_the_bytes_do() -> None:
    """The flag for nested attributes is removed from types, and an impossible length ends the list."""
    data = struct.pack("=HHI", 8, 5 | 0x8000, 7) + struct.pack("=HH2s2x", 6, 6, b"ab") + struct.pack("=HH", 0, 9)
    assert attributes(data) == {5: struct.pack("=I", 7), 6: b"ab"}


def test_a_kernel_that_does_not_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the receive timeout of the socket expires, `ask` raises TimeoutError."""

    class Silent(_Socket):
        def recv(self, _: int) -> bytes:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(socket, "socket", lambda *_: Silent())
    with pytest.raises(TimeoutError, match="did not answer a netlink request"):
        next(Conversation(0).ask(question(1, b"", dump=False)))
