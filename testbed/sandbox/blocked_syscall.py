"""Tells from a system call of a sleeping thread whether the thread waits for a terminal.

The line is that of /proc/PID/task/TID/syscall (proc(5)): the call's number on x86-64, and its arguments.
"""

import struct
from collections.abc import Callable, Iterator
from enum import IntEnum

_READS = (0, 19)  # read, readv
_SELECT, _PSELECT = 23, 270
_POLL, _PPOLL = 7, 271
_EPOLLS = (232, 281)  # epoll_wait, epoll_pwait
_EPOLL2 = 441  # epoll_pwait2
_POLLED = struct.Struct("=ihh")  # struct pollfd
_POLLIN = 1
_MOST_POLLED = 1024
_ARGUMENTS = 6


class Wait(IntEnum):
    """The wait of a thread. Of several threads, the highest counts."""

    ELSEWHERE = 0
    """It does not wait for the terminal."""
    ALSO = 1
    """It waits for the terminal, and for something else: another descriptor, or a time."""
    ALONE = 2
    """It waits for the terminal alone."""


def wait_of(
    line: str,
    is_terminal: Callable[[int], bool],
    memory: Callable[[int, int], bytes],
    watched: Callable[[int], frozenset[int]],
) -> Wait:
    """Returns what the thread waits for. Raises OSError if the thread has gone on meanwhile.

    is_terminal: tells if a descriptor of the thread is its terminal. memory: returns bytes of the thread's memory at an
    address. watched: returns the descriptors that an epoll descriptor of the thread watches.
    """
    words = line.split()
    if len(words) <= _ARGUMENTS:  # it runs, or is not in a system call
        return Wait.ELSEWHERE
    call, first, second, third, fourth, fifth, _ = (int(word, 0) for word in words[: _ARGUMENTS + 1])
    if call in _READS:
        return Wait.ALONE if is_terminal(first) else Wait.ELSEWHERE
    if call in (_SELECT, _PSELECT):
        sets = [frozenset(_members(memory, each, first)) for each in (second, third, fourth)]
        return _judged(sets[0], is_terminal, more=any(sets[1:]) or fifth != 0)
    if call in (_POLL, _PPOLL):
        asked = memory(first, _POLLED.size * min(second, _MOST_POLLED))
        polled = frozenset(each for each, events, _ in _POLLED.iter_unpack(asked) if events & _POLLIN)
        return _judged(polled, is_terminal, more=third != 0 if call == _PPOLL else not _endless(third))
    if call in _EPOLLS or call == _EPOLL2:
        return _judged(watched(first), is_terminal, more=fourth != 0 if call == _EPOLL2 else not _endless(fourth))
    return Wait.ELSEWHERE


def _judged(descriptors: frozenset[int], is_terminal: Callable[[int], bool], *, more: bool) -> Wait:
    terminals = {each for each in descriptors if is_terminal(each)}
    if not terminals:
        return Wait.ELSEWHERE
    return Wait.ALSO if more or descriptors - terminals else Wait.ALONE


def _endless(milliseconds: int) -> bool:
    """True for a negative int, as which poll(2) takes its time."""
    return bool(milliseconds & 1 << 31)


def _members(memory: Callable[[int, int], bytes], address: int, count: int) -> Iterator[int]:
    """Yields the members of an fd_set."""
    if address:
        bits = int.from_bytes(memory(address, (count + 7) // 8), "little")
        yield from (each for each in range(count) if bits >> each & 1)
