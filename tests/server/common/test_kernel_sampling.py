"""Tests of samples in batches, with the kernel's io_uring, on this machine's clock."""

import os
import socket
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

import pytest

from priolab.common.kernel_sampling import SAMPLES, Batches, batches
from priolab.common.netlink import Conversation, Inquiry, question

_GET_LINK = 18  # RTM_GETLINK
_ANY_LINK = bytes(16)  # struct ifinfomsg
_LOOPBACK = struct.pack("=BxHiII", 0, 0, 1, 0, 0)
_NO_LINK = struct.pack("=BxHiII", 0, 0, 999_999, 0, 0)
_INTERVAL_NS = 10**6
_PATIENCE_S = 10.0


class _Links:
    """A sampler of network interfaces."""

    def __init__(self, *inquiries: Inquiry) -> None:
        self.asked: Sequence[Inquiry] = inquiries
        self.samples: list[tuple[int, Sequence[Sequence[bytes] | None]]] = []
        self.until_ns = self.awaited = 0

    def inquiries(self) -> Sequence[Inquiry]:
        return self.asked

    def leave_out(self, until_ns: int, samples: int) -> None:
        self.until_ns, self.awaited = until_ns, samples

    def record(self, t_ns: int, answers: Sequence[Sequence[bytes] | None]) -> None:
        self.awaited -= 1
        self.samples.append((t_ns, answers))

    def give_up(self) -> None:
        self.awaited = 0


@pytest.fixture
def conversation() -> Iterator[Conversation]:
    """Yields a netlink socket."""
    with Conversation(socket.NETLINK_ROUTE) as made:
        yield made


@pytest.fixture
def started() -> Iterator[Callable[..., Batches]]:
    """Yields a function that makes the batches of the given samplers."""
    with ExitStack() as stack:

        def start(*samplers: _Links) -> Batches:
            made = stack.enter_context(batches(samplers, _INTERVAL_NS))
            assert made is not None
            return made

        yield start


def _until(made: Batches, sampler: _Links, count: int, descriptors: Sequence[int] = ()) -> list[int]:
    end_s = time.monotonic() + _PATIENCE_S
    readable: list[int] = []
    while len(sampler.samples) < count and not readable:
        assert time.monotonic() < end_s, f"{len(sampler.samples)} samples"
        readable = made.select(descriptors, 0.2)
    return readable


def test_a_batch(conversation: Conversation, started: Callable[..., Batches]) -> None:
    """A batch has twenty samples at whole intervals, with the same answers as one request after the other."""
    dump, one = question(_GET_LINK, _ANY_LINK, dump=True), question(_GET_LINK, _LOOPBACK, dump=False)
    links, loopback = (list(conversation.ask(asked)) for asked in (dump, one))
    sampler = _Links(conversation.inquiry(dump, 65536), conversation.inquiry(one, 4096))
    before_ns = time.monotonic_ns()
    made = started(sampler)
    assert _until(made, sampler, 2 * SAMPLES) == []
    assert len(sampler.samples) == 2 * SAMPLES
    assert sampler.awaited in (0, SAMPLES), "a third batch may have begun"
    times_ns = [t_ns for t_ns, _ in sampler.samples]
    assert times_ns == sorted(set(times_ns))
    assert times_ns[0] >= before_ns + _INTERVAL_NS
    assert times_ns[-1] <= time.monotonic_ns()
    assert {(t_ns - times_ns[0]) % _INTERVAL_NS for t_ns in times_ns} == {0}
    assert sampler.until_ns > times_ns[-SAMPLES]
    for _, (all_of_them, only_one) in sampler.samples:
        assert all_of_them is not None
        assert only_one is not None
        assert [message[4:8] for message in all_of_them] == [message[4:8] for message in links]
        assert [message[4:8] for message in only_one] == [message[4:8] for message in loopback]


def test_a_descriptor_ends_the_wait(conversation: Conversation, started: Callable[..., Batches]) -> None:
    """A readable descriptor is returned while a batch goes on; the batch's complete samples are recorded at the end."""
    sampler = _Links(conversation.inquiry(question(_GET_LINK, _LOOPBACK, dump=False), 4096))
    made = started(sampler)
    made.set_interval(time.monotonic_ns(), 10**7)
    reading, writing = os.pipe()
    try:
        assert made.select([reading], 0.05) == []
        os.write(writing, b"now")
        assert _until(made, sampler, SAMPLES, [reading]) == [reading]
        assert os.read(reading, 10) == b"now"
        made.finish()
        assert 0 < len(sampler.samples) < SAMPLES
        assert sampler.awaited == 0, "after finish, no more come"
    finally:
        os.close(reading)
        os.close(writing)


def test_another_interval(conversation: Conversation, started: Callable[..., Batches]) -> None:
    """A change of the interval holds for the rest of a batch."""
    sampler = _Links(conversation.inquiry(question(_GET_LINK, _LOOPBACK, dump=False), 4096))
    made = started(sampler)
    made.set_interval(time.monotonic_ns(), 3600 * 10**9)
    assert made.select([], 0.01) == []
    made.set_interval(time.monotonic_ns(), _INTERVAL_NS)
    _until(made, sampler, SAMPLES)
    assert {(t_ns - sampler.samples[0][0]) % _INTERVAL_NS for t_ns, _ in sampler.samples} == {0}
    assert sampler.until_ns < time.monotonic_ns() + 3600 * 10**9


def test_a_sample_that_begins_just_before_the_interval_changes(
    conversation: Conversation, started: Callable[..., Batches]
) -> None:
    """It keeps the time at which the timer of the old interval expired."""
    sampler = _Links(conversation.inquiry(question(_GET_LINK, _LOOPBACK, dump=False), 4096))
    made = started(sampler)
    began_ns = time.monotonic_ns()
    made.set_interval(began_ns, 3600 * 10**9)
    assert made.select([], 0.01) == []
    made._buffer[made._samples_at : made._samples_at + 8] = (1).to_bytes(8, "little")  # as the kernel writes its count
    made.set_interval(time.monotonic_ns(), _INTERVAL_NS)
    _until(made, sampler, SAMPLES)
    first_ns, second_ns = sampler.samples[0][0], sampler.samples[1][0]
    assert first_ns >= began_ns + 3600 * 10**9
    assert second_ns < time.monotonic_ns()


def test_nothing_to_sample(conversation: Conversation, started: Callable[..., Batches]) -> None:
    """As long as one of the samplers has no request, there is no batch, and a wait ends with its timeout."""
    sampler = _Links(conversation.inquiry(question(_GET_LINK, _LOOPBACK, dump=False), 4096))
    made = started(sampler, _Links())
    assert made.select([], 0.05) == []
    made.finish()
    assert sampler.samples == []


def test_a_refused_request(conversation: Conversation, started: Callable[..., Batches]) -> None:
    """A request that the kernel refuses has no answers, and the batch goes on."""
    sampler = _Links(conversation.inquiry(question(_GET_LINK, _NO_LINK, dump=False), 4096))
    _until(started(sampler), sampler, SAMPLES)
    assert [answers for _, answers in sampler.samples] == [[None]] * SAMPLES


def test_an_answer_that_is_too_large(conversation: Conversation, started: Callable[..., Batches]) -> None:
    """An answer that its buffer cannot hold is an error."""
    sampler = _Links(conversation.inquiry(question(_GET_LINK, _LOOPBACK, dump=False), 64))
    with pytest.raises(OSError, match="does not fit"):
        _until(started(sampler), sampler, SAMPLES)


def test_a_descriptor_that_is_closed(conversation: Conversation, started: Callable[..., Batches]) -> None:
    """A batch whose request cannot be sent ends with the error."""
    inquiry = conversation.inquiry(question(_GET_LINK, _LOOPBACK, dump=False), 4096)
    sampler = _Links(Inquiry(descriptor=2**20, request=inquiry.request, answer_bytes=inquiry.answer_bytes))
    with pytest.raises(OSError, match="Bad file descriptor"):
        _until(started(sampler), sampler, SAMPLES)
