"""Conversion in several threads. Many are in a process of their own, because msgspec alone ends it by SIGSEGV."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from priolab.common.formats.conversion import convert, decode, decode_lines

_MANY = """
import os, sys, threading
from collections.abc import Mapping
import msgspec
from priolab.common.formats.conversion import convert

sys.setswitchinterval(1e-6)
for number in range(100):
    fields = [(f"field_{each}", "Mapping[str, int]", 0) for each in range(5)]
    inner = msgspec.defstruct("Inner", fields, module=__name__)
    kind = msgspec.defstruct("Kind", [("parts", Mapping[str, inner])])
    together = threading.Barrier(8)
    made = []

    def once():
        together.wait()
        made.append(convert({"parts": {"a": {"field_1": {"b": number}}}}, kind))

    threads = [threading.Thread(target=once) for _ in range(8)]
    for thread in threads:
        thread.start()
    if number % 10 == 0 and not (child := os.fork()):
        convert({"parts": {}}, kind)
        os._exit(0)
    for thread in threads:
        thread.join()
    assert [each.parts["a"].field_1 for each in made] == [{"b": number}] * 8
    if number % 10 == 0:
        assert os.waitpid(child, 0)[1] == 0
print("all the same")
"""


def test_threads_that_meet_a_type_at_once() -> None:
    """Eight threads, and a child that is forked meanwhile, convert to a hundred new types."""
    done = subprocess.run([sys.executable, "-c", _MANY], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "all the same\n"), done.stderr


@dataclass(frozen=True)
class _Waiting:
    """A value that is not made before another thread has made one, and which waits at most ten seconds for it."""

    number: int

    def __post_init__(self) -> None:
        _BEGUN.set()
        if not _MADE.wait(10):
            raise ValueError("no other thread could convert")


_BEGUN, _MADE = threading.Event(), threading.Event()


def test_a_value_may_wait_for_another_thread() -> None:
    """Nothing is locked while a value is made: functools.cached_property of Python 3.11, for one, has a lock, too."""
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(convert, {"number": 1}, _Waiting)
        assert _BEGUN.wait(10)
        assert decode(b"[1, 2]", list[int]) == [1, 2]
        assert convert([3], tuple[int, ...]) == (3,)
        assert decode_lines(b"4\n5\n", int) == [4, 5]
        _MADE.set()
        assert waiting.result() == _Waiting(1)
