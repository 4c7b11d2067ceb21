"""A ring of requests to the kernel: io_uring(7), as far as the lab needs it.

Rules:
1. The functions reading, sending and receiving return requests of a chain; `add` adds them. The argument `last` of
   `receiving` ends the chain. Each request of a chain begins when the one before it has succeeded. Only the end of a
   chain is reported. After a failure `enter` raises OSError, and the ring is of no more use.
2. Requests move on only while the process is inside `enter`, so between two calls nothing changes.
3. The ring holds addresses of the caller's buffers. They must exist until the ring is closed.
"""

import ctypes
import errno
import mmap
import os
import struct
from collections.abc import Iterator
from typing import NoReturn, Self

_NR_SETUP, _NR_ENTER = 425, 426  # on every architecture
# IORING_*, IOSQE_*, <linux/io_uring.h>
_SINGLE_ISSUER, _DEFER_TASKRUN = 1 << 12, 1 << 13
_GETEVENTS, _EXT_ARG = 1 << 0, 1 << 3
_LINK, _SILENT = 1 << 2, 1 << 6
_POLL_ADD, _READ, _SEND, _RECV = 6, 22, 26, 27
_SQES_AT = 0x1000_0000
_POLLIN = 1
_CURRENT_POSITION = 2**64 - 1

_PARAMS = struct.Struct("=3I28x")  # struct io_uring_params: entries of both queues, flags; then the offsets
_OFFSETS = struct.Struct("=7I12x")  # struct io_sqring_offsets, struct io_cqring_offsets
_SQE = struct.Struct("=BBHiQQIIQ24x")  # struct io_uring_sqe
_CQE = struct.Struct("=QiI")  # struct io_uring_cqe
_INDEX = struct.Struct("=I")
_WAIT = struct.Struct("=QIIQ")  # struct io_uring_getevents_arg
_TIME = struct.Struct("=qq")  # struct timespec
_WORD = 2**32
_UNNAMED = 2**64 - 1

_libc = ctypes.CDLL(None, use_errno=True)


def address(buffer: mmap.mmap | bytearray) -> int:
    """Returns the address of a buffer, which stays valid until the buffer is resized, closed or forgotten."""
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))


def reading(descriptor: int, buffer: int, size: int) -> bytes:
    """Returns a request of a chain: to read from the file's position. buffer: an address. size: in bytes."""
    return _SQE.pack(_READ, _LINK | _SILENT, 0, descriptor, _CURRENT_POSITION, buffer, size, 0, _UNNAMED)


def sending(descriptor: int, buffer: int, size: int) -> bytes:
    """Returns a request of a chain: to send a message. buffer: an address. size: in bytes."""
    return _SQE.pack(_SEND, _LINK | _SILENT, 0, descriptor, 0, buffer, size, 0, _UNNAMED)


def receiving(descriptor: int, buffer: int, size: int, *, last: int | None = None) -> bytes:
    """Returns a request of a chain: to receive a message.

    last: the name by which the end of the chain is reported; None if the chain goes on.
    """
    flags, name = (_LINK | _SILENT, _UNNAMED) if last is None else (0, last)
    return _SQE.pack(_RECV, flags, 0, descriptor, 0, buffer, size, 0, name)


class Ring:
    """A ring that a single thread uses. A context manager; the exit cancels the requests that are not complete."""

    def __init__(self, entries: int) -> None:
        """Makes a ring for that many requests, a power of two. Raises OSError if the kernel has no io_uring."""
        params = bytearray(_PARAMS.size + 2 * _OFFSETS.size)
        _PARAMS.pack_into(params, 0, 0, 0, _SINGLE_ISSUER | _DEFER_TASKRUN)
        self._descriptor = checked(_call(_NR_SETUP, entries, address(params)))
        self._entries, completions, _ = _PARAMS.unpack_from(params)
        _, self._tail_at, _, _, _, _, array_at = _OFFSETS.unpack_from(params, _PARAMS.size)
        offsets = _OFFSETS.unpack_from(params, _PARAMS.size + _OFFSETS.size)
        self._head_at, self._done_at, mask_at, _, _, self._cqes_at, _ = offsets
        size = max(array_at + _INDEX.size * self._entries, self._cqes_at + _CQE.size * completions)
        self._queues = mmap.mmap(self._descriptor, size)
        self._sqes = mmap.mmap(self._descriptor, _SQE.size * self._entries, offset=_SQES_AT)
        (self._mask,) = _INDEX.unpack_from(self._queues, mask_at)
        for index in range(self._entries):
            _INDEX.pack_into(self._queues, array_at + _INDEX.size * index, index)
        self._tail = self._pending = 0
        self._wait = bytearray(_WAIT.size)
        self._wait_time = bytearray(_TIME.size)
        self._addresses = address(self._wait), address(self._wait_time)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._queues.close()
        self._sqes.close()
        os.close(self._descriptor)

    def add(self, requests: bytes) -> None:
        """Adds requests, in the form in which reading, sending and receiving return them."""
        count = len(requests) // _SQE.size
        first = self._tail % self._entries
        before_end = min(count, self._entries - first) * _SQE.size
        self._sqes[_SQE.size * first : _SQE.size * first + before_end] = requests[:before_end]
        self._sqes[: len(requests) - before_end] = requests[before_end:]
        self._tail += count
        self._pending += count

    def poll(self, descriptor: int, name: int) -> None:
        """Adds a request to report `name` once, when the descriptor is readable. Not a part of the chain."""
        self.add(_SQE.pack(_POLL_ADD, 0, 0, descriptor, 0, 0, 0, _POLLIN, name))

    def enter(self, timeout_ns: int) -> list[tuple[int, int]]:
        """Hands the added requests to the kernel; waits for a report, or until the timeout or a signal.

        Returns (name, result) of each report so far; a negative result is an error number. Raises OSError.
        """
        _INDEX.pack_into(self._queues, self._tail_at, self._tail % _WORD)
        wait_at, time_at = self._addresses
        _TIME.pack_into(self._wait_time, 0, *divmod(timeout_ns, 10**9))
        _WAIT.pack_into(self._wait, 0, 0, 0, 0, time_at)
        added, self._pending = self._pending, 0
        flags = _GETEVENTS | _EXT_ARG
        result = _call(_NR_ENTER, self._descriptor, added, 1, flags, wait_at, _WAIT.size)
        if result < 0 and ctypes.get_errno() not in (errno.ETIME, errno.EINTR):
            checked(result)
        return list(self._reports())

    def _reports(self) -> Iterator[tuple[int, int]]:
        (head,) = _INDEX.unpack_from(self._queues, self._head_at)
        (done,) = _INDEX.unpack_from(self._queues, self._done_at)
        while head != done:
            name, result, _ = _CQE.unpack_from(self._queues, self._cqes_at + _CQE.size * (head & self._mask))
            if name == _UNNAMED:
                raise_error(-result)
            yield name, result
            head = (head + 1) % _WORD
        _INDEX.pack_into(self._queues, self._head_at, head)


def _call(number: int, *arguments: int) -> int:
    """Makes a system call. Without c_long each argument would have undefined upper bits."""
    result: int = _libc.syscall(*map(ctypes.c_long, (number, *arguments)))
    return result


def checked(result: int) -> int:
    """Returns the result of a system call. Raises OSError if the call failed."""
    if result < 0:
        raise_error(ctypes.get_errno())
    return result


def raise_error(code: int) -> NoReturn:
    """Raises OSError with an error number."""
    raise OSError(code, os.strerror(code))
