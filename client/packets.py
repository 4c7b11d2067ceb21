"""Reads several packets of a TCP connection with one system call, recvmmsg(2), each with its arrival time.

In a guest each system call of a program takes the host some ten microseconds, and at 100 Mbit/s or more a client that
reads packet by packet makes most of a run's calls. recvmmsg(2) waits in the guest's kernel for one packet after the
other, at the same times as a program that reads them one by one.

Rules:
1. The caller asks for no more packets than it can need: the call returns only when all have arrived.
2. A slot has room for a full packet. A packet that is smaller fills a part of its slot; of bytes that became readable
   together, each slot gets a part.
"""

import ctypes
import os
import socket
from struct import Struct

from priolab.common.packets import SEGMENT_BYTES

_STAMP = Struct("@Nii2q")  # struct cmsghdr, and the struct timespec of SO_TIMESTAMPNS
_SIZE = Struct("=56xI4x")  # struct mmsghdr, of which the size of the message is needed
_SLOTS = 12
"""A TLS record of 16 KiB has no more packets."""

_libc = ctypes.CDLL(None, use_errno=True)


class _Iovec(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class _Header(ctypes.Structure):
    """A struct msghdr."""

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_length", ctypes.c_uint),
        ("iovec", ctypes.c_void_p),
        ("iovecs", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    )


class _Message(ctypes.Structure):
    """A struct mmsghdr."""

    _fields_ = (("header", _Header), ("size", ctypes.c_uint))


class Packets:
    """The reader of a socket that stamps arrivals (common/arrival.py)."""

    def __init__(self, receiver: socket.socket) -> None:
        self._descriptor = receiver.fileno()
        self._data = bytearray(_SLOTS * SEGMENT_BYTES)
        self._stamps = bytearray(_SLOTS * _STAMP.size)
        data, stamps = (ctypes.addressof(ctypes.c_char.from_buffer(each)) for each in (self._data, self._stamps))
        self._iovecs = (_Iovec * _SLOTS)(
            *(_Iovec(base=data + slot * SEGMENT_BYTES, length=SEGMENT_BYTES) for slot in range(_SLOTS))
        )
        headers = (
            _Header(
                iovec=ctypes.addressof(self._iovecs[slot]),
                iovecs=1,
                control=stamps + slot * _STAMP.size,
                control_length=_STAMP.size,
            )
            for slot in range(_SLOTS)
        )
        self._fresh = (_Message * _SLOTS)(*(_Message(header=header) for header in headers))
        self._messages = (_Message * _SLOTS)()

    def read(self, packets: int) -> list[tuple[memoryview, int]]:
        """Waits for packets; returns the bytes of each with its arrival time, CLOCK_REALTIME in nanoseconds.

        Returns fewer packets than asked for if the socket's timeout passes, and an empty list at the end of the stream.
        Raises OSError. The bytes are valid until the next call.
        """
        wanted = min(packets, _SLOTS)
        ctypes.memmove(self._messages, self._fresh, ctypes.sizeof(_Message) * wanted)
        received = _libc.recvmmsg(self._descriptor, self._messages, wanted, 0, None)
        if received < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        data = memoryview(self._data)
        found = []
        sizes = _SIZE.iter_unpack(memoryview(self._messages).cast("B"))
        for slot, (size,), (*_, seconds, nanoseconds) in zip(
            range(received), sizes, _STAMP.iter_unpack(self._stamps), strict=False
        ):
            if not size:
                break
            begin = slot * SEGMENT_BYTES
            found.append((data[begin : begin + size], seconds * 10**9 + nanoseconds))
        return found
