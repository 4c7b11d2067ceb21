"""Tests of netlink's answers: which answer a request, where they end, and errors of the kernel."""

import errno
import socket
import struct
from collections.abc import Sequence
from typing import Any

import pytest

from priolab.common.netlink import Conversation, Finder, Inquiry, attribute, attributes, question

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


def test_attributes_are_found_wherever_they_are() -> None:
    """Attributes are found at the places of the message before, at others, and not at all."""
    finder = Finder(2, 5, 6)

    def found(*parts: bytes) -> list[bytes]:
        return finder.payloads(b"--" + b"".join(parts))

    one, five, six = attribute(1, b"other"), attribute(5, b"five"), attribute(6, b"six")
    for _ in range(2):
        assert found(one, five, six) == [b"five", b"six"]
        assert found(one, attribute(5, b"next"), six) == [b"next", b"six"]
        assert found(six, one, five) == [b"five", b"six"]
        assert found(one, attribute(5, b"longer, so that all moves"), six) == [b"longer, so that all moves", b"six"]
        assert found(one, attribute(7, b"five"), six) == [b"", b"six"]
        assert found(b"") == [b"", b""]


def test_a_kernel_that_does_not_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the receive timeout of the socket expires, `ask` raises TimeoutError."""

    class Silent(_Socket):
        def recv(self, _: int) -> bytes:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(socket, "socket", lambda *_: Silent())
    with pytest.raises(TimeoutError, match="did not answer a netlink request"):
        next(Conversation(0).ask(question(1, b"", dump=False)))


def _message(kind: int, payload: bytes) -> bytes:
    return _HEADER.pack(_HEADER.size + len(payload), kind, 0, 0, 0) + payload


def _inquiry(*answer_bytes: int) -> Inquiry:
    return Inquiry(descriptor=3, request=b"", answer_bytes=answer_bytes)


def test_answers_that_somebody_else_received() -> None:
    """The payloads of a request, and of a dump, whose messages end where the zeros of the buffer begin."""
    end = _message(_DONE, _code(0)).ljust(64, b"\0")
    dump = (_message(_ANSWER, b"one!") + _message(_ANSWER, b"two!")).ljust(256, b"\0")
    assert _inquiry(256, 64).answers([dump, end]) == [b"one!", b"two!"]
    assert _inquiry(256).answers([_message(_ANSWER, b"yes!").ljust(256, b"\0")]) == [b"yes!"]


def test_a_refusal_that_somebody_else_received() -> None:
    """A refused request has no answers: the connection that it asked about may have closed."""
    assert _inquiry(64).answers([_message(_ERROR, _code(-errno.ENOENT)).ljust(64, b"\0")]) is None


def test_a_buffer_that_is_too_small() -> None:
    """A message that was cut off is an error, and so is a dump without its end."""
    with pytest.raises(OSError, match="does not fit"):
        _inquiry(24).answers([_message(_ANSWER, bytes(12))[:24]])
    with pytest.raises(OSError, match="does not fit"):
        _inquiry(24, 64).answers([_message(_ANSWER, bytes(8)), _message(_ANSWER, bytes(8)).ljust(64, b"\0")])


def test_a_dump_has_a_second_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a dump is a message of its own, for which an Inquiry has a small buffer."""
    kernel = _Socket()
    kernel.fileno = lambda: 7  # type: ignore[attr-defined]
    monkeypatch.setattr(socket, "socket", lambda *_: kernel)
    with Conversation(0) as conversation:
        dump = conversation.inquiry(question(1, b"", dump=True), 512)
        assert (dump.descriptor, dump.answer_bytes) == (7, (512, 64))
        assert conversation.inquiry(question(1, b"", dump=False), 512).answer_bytes == (512,)
