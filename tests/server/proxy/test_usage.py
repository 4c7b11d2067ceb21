"""Tests of the resources that a process has used, in all of its threads."""

import os
import subprocess
import sys

import pytest

from priolab.proxy.usage import Usage, usage

_WORKED_NS = 50_000_000
_WORKING = f"""
import threading, time
def work():
    while time.thread_time_ns() < {_WORKED_NS}:
        pass
    for _ in range(10):
        time.sleep(0.001)
    print("done", flush=True)
    threading.Event().wait()
input()
threading.Thread(target=work, daemon=True).start()
input()
"""


@pytest.mark.needs("processor-time")
def test_threads_count() -> None:
    """CPU time and context switches of a thread that still runs count for its process."""
    with subprocess.Popen(
        [sys.executable, "-c", _WORKING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin
        assert child.stdout
        before = usage(child.pid)
        child.stdin.write("begin\n")
        child.stdin.flush()
        assert child.stdout.readline() == "done\n"
        after = usage(child.pid)
        child.kill()
    assert before.voluntary_switches is not None
    assert after.voluntary_switches is not None
    assert after.voluntary_switches >= before.voluntary_switches + 10
    assert before.cpu_ns is not None
    assert after.cpu_ns is not None
    assert after.cpu_ns >= before.cpu_ns + _WORKED_NS


def test_a_process_that_has_ended_has_used_nothing_known() -> None:
    """For a process that has ended, every figure is None."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    nothing = Usage(cpu_ns=None, voluntary_switches=None, involuntary_switches=None, read_calls=None, write_calls=None)
    assert usage(child) == nothing
