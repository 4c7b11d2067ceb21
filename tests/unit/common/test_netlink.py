"""Netlink's answers: what belongs to the question, where it ends, and what the kernel refuses."""

import errno
import socket
import struct
from collections.abc import Sequence
from typing import Any

import pytest

from common.netlink import Conversation, attributes

_HEADER = struct.Struct("=IHHII")
_REQUEST, _DUMP = 0x1, 0x300
_ERROR, _DONE, _ANSWER = 2, 3, 20


_Message = tuple[int, int | None, bytes]


class _Socket:
    """A kernel that answers with what it was given; a number of None is the question's own."""

    def __init__(self, *received: Sequence[_Message]) -> None:
        self._received = list(received)
        self._number = 0

    def settimeout(self, _: float) -> None:
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
    """Over as many packets as it takes, whatever their lengths."""
    first = [(_ANSWER, None, b"one"), (_ANSWER, None, b"second")]
    last = [(_ANSWER, None, b"3"), (_DONE, None, _code(0))]
    assert _ask(monkeypatch, first, last, dump=True) == [b"one", b"second", b"3"]


def test_one_question_has_one_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without waiting for an end that never comes."""
    assert _ask(monkeypatch, [(_ANSWER, None, b"yes")], dump=False) == [b"yes"]


def test_what_was_left_of_an_earlier_answer_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the number of another question."""
    late = [(_ANSWER, 77, b"stale"), (_DONE, 77, _code(0))]
    assert _ask(monkeypatch, late, [(_ANSWER, None, b"fresh")], dump=False) == [b"fresh"]


@pytest.mark.parametrize("kind", [_ERROR, _DONE])
def test_a_refusal_is_an_error(monkeypatch: pytest.MonkeyPatch, kind: int) -> None:
    """Also one that comes at the end of a dump."""
    with pytest.raises(OSError, match="No such file") as caught:
        _ask(monkeypatch, [(kind, None, _code(-errno.ENOENT))], dump=kind == _DONE)
    assert caught.value.errno == errno.ENOENT


def test_an_acknowledgement_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """And no answer."""
    assert _ask(monkeypatch, [(_ERROR, None, _code(0))], dump=False) == []


def test_attributes_end_where_the_bytes_do() -> None:
    """Nested flags are taken off; a length that cannot be ends the list."""
    data = struct.pack("=HHI", 8, 5 | 0x8000, 7) + struct.pack("=HH2s2x", 6, 6, b"ab") + struct.pack("=HH", 0, 9)
    assert attributes(data) == {5: struct.pack("=I", 7), 6: b"ab"}
