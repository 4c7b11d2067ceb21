"""Tests of a front's counters: calls and context switches of a real process, also of threads that have ended."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from priolab.common.descriptors import stat
from priolab.common.formats.counters import Counts, FrontReading
from priolab.common.procfs import threads
from priolab.experiments.hosts.counting import counting
from priolab.proxy.counters import FrontCounters
from tests.support.waiting import until

_CALLS, _SLEEPS = 20, 10
_MAY_NOT = "may not"
_IN_THREAD, _END_WAITING = b"t", b"w"
"""What the worker below can do: work in a new thread, and end the thread that waits."""
_WORKING = f"""
import os, socket, threading, time
near, far = socket.socketpair()
def work():
    for _ in range({_CALLS}):
        near.send(b"x")
        far.recv(1)
    for _ in range({_SLEEPS}):
        time.sleep(0.001)
def in_thread():
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
stopping = threading.Event()
waiting = threading.Thread(target=stopping.wait)
waiting.start()
while True:
    match os.read(0, 1):
        case {_IN_THREAD!r}: in_thread()
        case {_END_WAITING!r}: stopping.set(); waiting.join()
        case _: os._exit(0)
    os.write(1, b".")
"""


@contextmanager
def _worker() -> Iterator[tuple[int, Callable[[bytes], None]]]:
    """Yields the id of a process, and a function that has it work and returns when it waits again."""
    with subprocess.Popen([sys.executable, "-c", _WORKING], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin
        assert child.stdout
        into, out = child.stdin.fileno(), child.stdout.fileno()

        def work(what: bytes) -> None:
            os.write(into, what)
            assert os.read(out, 1) == b"."
            left = 1 if what == _END_WAITING else 2  # a thread may end a little after it was joined
            until(lambda: (stat(child.pid) or "?")[0] == "S" and len([*threads(child.pid)]) == left)

        work(_IN_THREAD)  # modules and memory are ready
        yield child.pid, work


def _spent(before: FrontReading, after: FrontReading) -> Counts:
    names = ("wakeups", "read_calls", "write_calls", "cpu_ns")
    return Counts(**{name: getattr(after.counts, name) - getattr(before.counts, name) for name in names})


@pytest.mark.usefixtures("bpf")
def test_calls_of_threads_that_have_ended_count() -> None:
    """The BPF program counts each call and each wake-up of a thread, also when the thread has ended."""
    with _worker() as (pid, work), counting(pid) as counters:
        before = counters.read(1)
        work(_IN_THREAD)
        after = counters.read(2)
    spent = _spent(before, after)
    own = 1  # the worker itself reads what to do, and writes that it is done
    assert (spent.read_calls, spent.write_calls) == (_CALLS + own, _CALLS + own)
    assert spent.wakeups is not None
    assert _SLEEPS < spent.wakeups < 3 * _SLEEPS
    assert spent.cpu_ns is not None
    assert spent.cpu_ns > 0
    assert not after.reasons


@pytest.mark.usefixtures("bpf")
def test_another_process_does_not_count() -> None:
    """Calls of a process that is no descendant of the front do not count."""
    with _worker() as (pid, _), _worker() as (_, others_work), counting(pid) as counters:
        before = counters.read(1)
        others_work(_IN_THREAD)
        spent = _spent(before, counters.read(2))
    assert (spent.read_calls, spent.write_calls, spent.wakeups) == (0, 0, 0)


def test_without_the_program_calls_are_unknown() -> None:
    """Without the BPF program, /proc has the wake-ups of running threads; calls are None, with the reason."""
    with _worker() as (pid, work):
        counters = FrontCounters(pid, _MAY_NOT, None)
        before = counters.read(1)
        work(_IN_THREAD)
        after = counters.read(2)
    assert before.counts.wakeups is not None
    assert after.counts.wakeups is not None
    assert after.counts.wakeups > before.counts.wakeups
    assert (after.counts.read_calls, after.counts.write_calls) == (None, None)
    assert after.reasons == {"read_calls": _MAY_NOT, "write_calls": _MAY_NOT}


def test_a_sum_without_an_ended_thread_is_unknown() -> None:
    """If a thread of an earlier reading has ended, /proc has lost its switches: they are None from then on."""
    with _worker() as (pid, work):
        counters = FrontCounters(pid, _MAY_NOT, None)
        assert counters.read(1).counts.wakeups is not None
        work(_END_WAITING)
        readings = [counters.read(load) for load in (2, 3)]
    for reading in readings:
        assert (reading.counts.wakeups, reading.counts.involuntary_switches) == (None, None)
        assert "ended" in reading.reasons["wakeups"]
        assert reading.counts.cpu_ns is not None, "the process's clock counts ended threads"


def test_a_front_that_is_not_to_be_seen_has_no_counts() -> None:
    """Without a process to read, every count is None, and has the reason."""
    reading = FrontCounters(None, _MAY_NOT, None).read(1)
    assert reading.counts == Counts()
    assert {*reading.reasons.values()} == {_MAY_NOT}
    assert {"wakeups", "involuntary_switches", "read_calls", "write_calls", "cpu_ns"} == set(reading.reasons)
