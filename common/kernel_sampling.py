"""Samples in batches: the kernel takes twenty samples by itself, at their times, and then wakes this process once.

A sample is a few netlink requests. In the guest each system call costs more than the sample itself. So the requests of
a batch wait in a ring (common/uring.py) for a timer.

Rules:
1. The time of a sample is the time at which the timer expired. In the guest this is exact, because the clock does not
   move while programs and kernel work. On other clocks samples are taken one by one, each with a reading of the clock.
2. The kernel needs io_uring, and timers that io_uring can read without a thread: Linux 6.10. Without them the function
   `batches` yields None.
"""

import ctypes
import mmap
import os
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import accumulate
from typing import Protocol

from priolab.common.netlink import Inquiry
from priolab.common.uring import Ring, address, checked, raise_error, reading, receiving, sending

SAMPLES = 20
"""The samples of a batch."""

_ENTRIES = 256
_REQUEST_BYTES = 256
_COUNT = struct.Struct("=Q")  # what a timer's descriptor reads: the number of times that it has expired
_LENGTH = struct.Struct("=I")  # a netlink message begins with its length
_BATCH = 2**32  # the name of a batch among the ring's reports; those of descriptors are smaller
_CLOEXEC, _ABSOLUTE, _MONOTONIC = 0o2000000, 1, 1  # TFD_CLOEXEC, TFD_TIMER_ABSTIME, CLOCK_MONOTONIC
_libc = ctypes.CDLL(None, use_errno=True)


class BatchSampler(Protocol):
    """A sampler whose requests the kernel can send."""

    def inquiries(self) -> Sequence[Inquiry]:
        """Returns the requests of a sample; none if the sampler has nothing to sample yet."""

    def leave_out(self, until_ns: int, samples: int) -> None:
        """Tells the sampler to take no samples before until_ns, because the kernel takes them in a batch.

        samples: how many the batch will record. Until it has, the sampler takes none either: a complete batch may be
        noticed after until_ns.
        """

    def record(self, t_ns: int, answers: Sequence[Sequence[bytes] | None]) -> None:
        """Records a sample. answers: for each request its payloads; None if the kernel refused the request."""

    def give_up(self) -> None:
        """Tells the sampler that the batch records no further samples."""


class Batches:
    """Batches of the samples of several samplers, at common times."""

    def __init__(self, ring: Ring, timer: int, samplers: Sequence[BatchSampler], interval_ns: int) -> None:
        """Prepares batches. timer: a descriptor of timerfd_create(2). interval_ns: the time between two samples."""
        self._ring = ring
        self._timer = timer
        self._samplers = samplers
        self._interval_ns = interval_ns
        self._first_ns = self._expired = 0
        self._inquiries: list[Sequence[Inquiry]] = []
        self._chain = self._blank = b""
        self._recorded = SAMPLES
        self._begun_ns: int | None = None
        self._buffer = mmap.mmap(-1, mmap.PAGESIZE)
        self._polled: set[int] = set()

    def set_interval(self, now_ns: int, interval_ns: int) -> None:
        """Changes the interval of the samples from now on."""
        self._record()
        if self._recorded < SAMPLES and (
            count := self._count()
        ):  # its timer has expired, but its answers are not there
            self._begun_ns = self._first_ns + (self._expired + count - 1) * self._interval_ns
        self._interval_ns = interval_ns
        if self._first_ns:
            self._start_timer(now_ns)
            self._leave_out(SAMPLES - self._recorded)

    def select(self, descriptors: Sequence[int], timeout_s: float) -> list[int]:
        """Waits until a descriptor is readable, a batch is complete, or the time is over; returns what is readable.

        Raises OSError if the kernel could not take a sample.
        """
        if self._recorded == SAMPLES:
            self._begin()
        for descriptor in descriptors:
            if descriptor not in self._polled:
                self._polled.add(descriptor)
                self._ring.poll(descriptor, descriptor)
        readable = []
        for name, result in self._ring.enter(round(timeout_s * 10**9)):
            if name == _BATCH:
                if result < 0:
                    raise_error(-result)
                self._record()
            else:
                self._polled.discard(name)
                readable.append(name)
        return readable

    def finish(self) -> None:
        """Records the complete samples of an unfinished batch. The samplers wait for no others."""
        self._record()
        for sampler in self._samplers:
            sampler.give_up()

    def _start_timer(self, now_ns: int) -> None:
        self._first_ns, self._expired = now_ns + self._interval_ns, 0
        times = (*divmod(self._interval_ns, 10**9), *divmod(self._first_ns, 10**9))
        setting = (ctypes.c_long * 4)(*times)  # struct itimerspec
        checked(_libc.timerfd_settime(self._timer, _ABSOLUTE, setting, None))

    def _begin(self) -> None:
        """Hands a batch to the kernel, if every sampler has something to sample."""
        inquiries = [sampler.inquiries() for sampler in self._samplers]
        if not all(inquiries):
            return
        if not self._first_ns:
            self._start_timer(time.monotonic_ns())
        if inquiries != self._inquiries:
            self._prepare(inquiries)
        self._recorded = 0
        # Answers end where zeros begin; a sample is complete when its last answer has a header.
        self._buffer[:] = self._blank
        self._ring.add(self._chain)
        self._leave_out(SAMPLES)

    def _prepare(self, inquiries: list[Sequence[Inquiry]]) -> None:
        """Prepares what all batches of these requests have in common: the chain, and the buffer before a batch."""
        self._inquiries = inquiries
        asked = [inquiry for of_sampler in inquiries for inquiry in of_sampler]
        self._places(asked)
        requests = b"".join(inquiry.request.ljust(_REQUEST_BYTES, b"\0") for inquiry in asked)
        self._blank = requests.ljust(len(self._buffer), b"\0")
        self._chain = b"".join(request for number in range(SAMPLES) for request in self._requests(number, asked))

    def _leave_out(self, samples: int) -> None:
        """Tells the samplers to take no samples themselves while the kernel takes so many samples for them."""
        until_ns = self._first_ns + (self._expired + samples) * self._interval_ns
        for sampler in self._samplers:
            sampler.leave_out(until_ns, samples)

    def _places(self, asked: Sequence[Inquiry]) -> None:
        """Divides the buffer: first the requests `asked`, then for each sample the timer's count and the answers."""
        sizes = (_COUNT.size, *(size for inquiry in asked for size in inquiry.answer_bytes))
        *self._offsets, self._sample_bytes = accumulate(sizes, initial=0)
        self._samples_at = _REQUEST_BYTES * len(asked)
        needed = self._samples_at + SAMPLES * self._sample_bytes
        if len(self._buffer) < needed:
            self._buffer = mmap.mmap(-1, needed)

    def _requests(self, number: int, asked: Sequence[Inquiry]) -> Iterator[bytes]:
        """Yields the requests of a sample to the kernel. number: the sample's number in the batch."""
        base, at = address(self._buffer), self._samples_at + number * self._sample_bytes
        yield reading(self._timer, base + at, _COUNT.size)
        offsets = iter(self._offsets[1:])
        for index, inquiry in enumerate(asked):
            yield sending(inquiry.descriptor, base + index * _REQUEST_BYTES, len(inquiry.request))
            for size in inquiry.answer_bytes:
                offset = next(offsets)
                ends = number == SAMPLES - 1 and offset == self._offsets[-1]
                yield receiving(inquiry.descriptor, base + at + offset, size, last=_BATCH if ends else None)

    def _record(self) -> None:
        """Passes the complete samples to the samplers."""
        while self._recorded < SAMPLES:
            at = self._samples_at + self._recorded * self._sample_bytes
            if not _LENGTH.unpack_from(self._buffer, at + self._offsets[-1])[0]:
                break
            t_ns = self._time_ns()
            self._recorded += 1
            offsets = iter(self._offsets[1:])
            for sampler, inquiries in zip(self._samplers, self._inquiries, strict=True):
                answers = [
                    inquiry.answers(
                        [self._buffer[(start := at + next(offsets)) : start + size] for size in inquiry.answer_bytes]
                    )
                    for inquiry in inquiries
                ]
                sampler.record(t_ns, answers)

    def _time_ns(self) -> int:
        """Returns the time of the next sample to be recorded, which may have begun before the interval changed."""
        if (begun_ns := self._begun_ns) is not None:
            self._begun_ns = None
            return begun_ns
        self._expired += self._count()
        return self._first_ns + (self._expired - 1) * self._interval_ns

    def _count(self) -> int:
        """Returns how often the timer had expired when the next sample to be recorded began; 0 if it has not begun."""
        count: int = _COUNT.unpack_from(self._buffer, self._samples_at + self._recorded * self._sample_bytes)[0]
        return count


@contextmanager
def batches(samplers: Sequence[BatchSampler], interval_ns: int) -> Iterator[Batches | None]:
    """Yields the batches of these samplers; None if the kernel cannot take samples in batches."""
    with ExitStack() as stack:
        try:
            ring = stack.enter_context(Ring(_ENTRIES))
        except OSError:
            yield None
            return
        timer = checked(_libc.timerfd_create(_MONOTONIC, _CLOEXEC))
        stack.callback(os.close, timer)
        yield Batches(ring, timer, samplers, interval_ns)
