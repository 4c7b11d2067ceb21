"""Waits of a thread, told from its system call; and what happens at a terminal, as frames."""

import struct
from collections.abc import Mapping

import pytest

from priolab.testbed.sandbox.blocked_syscall import Wait, wait_of
from priolab.testbed.sandbox.keystrokes import MOST_BYTES, Keystrokes, Size, of_keys, of_size

_TERMINALS = {0, 2, 70}
_NOBODY, _FIRST, _WITH_SOCKET, _HIGH = 0x10, 0x20, 0x30, 0x40
_POLL_OUT, _POLL_BOTH, _POLL_KEYS = 0x50, 0x60, 0x70
_FOREVER = 0xFFFF_FFFF
_MEMORY: Mapping[int, bytes] = {
    _NOBODY: bytes(16),
    _FIRST: b"\1".ljust(16, b"\0"),
    _WITH_SOCKET: b"\x09".ljust(16, b"\0"),
    _HIGH: (1 << 70).to_bytes(16, "little"),
    _POLL_OUT: struct.pack("=ihh", 0, 4, 0),
    _POLL_BOTH: struct.pack("=ihhihh", 0, 1, 0, 3, 1, 0),
    _POLL_KEYS: struct.pack("=ihh", 0, 3, 0),
}
_WATCHED = {5: frozenset({0}), 6: frozenset({0, 3}), 7: frozenset({3})}


def _line(number: int, *arguments: int) -> str:
    six = [*arguments, *[0] * (6 - len(arguments))]
    return " ".join([str(number), *map(hex, six), "0x7ffc0000", "0x4013b2ad"])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("running", Wait.ELSEWHERE),
        ("-1 0x7ffc0000 0x4013b2ad", Wait.ELSEWHERE),
        ("", Wait.ELSEWHERE),
        (_line(0, 0, 0x1000, 1), Wait.ALONE),  # read
        (_line(0, 3, 0x1000, 1), Wait.ELSEWHERE),
        (_line(230, 0, 0, 0x1000), Wait.ELSEWHERE),  # clock_nanosleep
        (_line(270, 1, _FIRST), Wait.ALONE),  # pselect6
        (_line(270, 71, _HIGH), Wait.ALONE),
        (_line(270, 70, _HIGH), Wait.ELSEWHERE),
        (_line(270, 1, _FIRST, 0, 0, 0x1000), Wait.ALSO),
        (_line(23, 4, _WITH_SOCKET), Wait.ALSO),  # select
        (_line(23, 4, _FIRST, _NOBODY, _NOBODY), Wait.ALONE),
        (_line(23, 4, _FIRST, _WITH_SOCKET), Wait.ALSO),
        (_line(7, _POLL_KEYS, 1, _FOREVER), Wait.ALONE),  # poll
        (_line(7, _POLL_KEYS, 1, 3000), Wait.ALSO),
        (_line(7, _POLL_BOTH, 2, _FOREVER), Wait.ALSO),
        (_line(7, _POLL_OUT, 1, _FOREVER), Wait.ELSEWHERE),
        (_line(271, _POLL_KEYS, 1, 0), Wait.ALONE),  # ppoll
        (_line(271, _POLL_KEYS, 1, 0x1000), Wait.ALSO),
        (_line(232, 5, 0x1000, 8, _FOREVER), Wait.ALONE),  # epoll_wait
        (_line(281, 6, 0x1000, 8, _FOREVER), Wait.ALSO),
        (_line(281, 7, 0x1000, 8, _FOREVER), Wait.ELSEWHERE),
        (_line(441, 5, 0x1000, 8, 0), Wait.ALONE),  # epoll_pwait2
        (_line(441, 5, 0x1000, 8, 0x1000), Wait.ALSO),
    ],
)
def test_who_waits_for_the_terminal(line: str, expected: Wait) -> None:
    """It waits for the terminal alone only if it waits for no other descriptor and no time."""
    found = wait_of(line, _TERMINALS.__contains__, lambda at, size: _MEMORY[at][:size], _WATCHED.__getitem__)
    assert found is expected


def test_frames_arrive_in_any_pieces() -> None:
    """Keys and sizes come out as they went in, however they were cut."""
    sent = of_keys(b"ls\r") + of_size(Size(rows=24, columns=300)) + of_keys(bytes(range(256)) * 4)
    assert len(of_keys(bytes(MOST_BYTES))) < 4096
    for step in (1, 5, len(sent)):
        typed = Keystrokes()
        heard = [each for at in range(0, len(sent), step) for each in typed.hear(sent[at : at + step])]
        assert heard == [b"ls\r", Size(rows=24, columns=300), bytes(range(256)) * 4]
        assert (typed.frames, typed.bytes) == (3, len(sent))
