"""Time passes for a program that asks without end, in few calls, and nothing that it waits for is late."""

from pathlib import Path

import pytest

from priolab.testbed.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.usefixtures("guest")

_SPEAKS = """
import socket, time
near = socket.socket(type=socket.SOCK_DGRAM)
near.connect(("client", 99))
time.sleep(5)
near.send(b"%f" % time.clock_gettime(time.CLOCK_MONOTONIC))
"""
_ASKS = """
import errno, os, select, socket, sys, time
far = socket.socket(type=socket.SOCK_DGRAM)
far.bind(("", 99))
far.setblocking(False)
poll = select.poll()
poll.register(far, select.POLLIN)
count, begun = 0, time.monotonic()
def again():
    global count
    count += 1
    if sys.argv[1] == "poll":
        return not poll.poll(0)
    os.sched_yield() if sys.argv[1] == "yield" else os.getppid()
    try:
        data = far.recv(100, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    return False
for _ in range(%d):
    again()
if %d:
    print(count, round((time.monotonic() - begun) * 1e6))
    sys.exit()
while again():
    pass
sent = float(far.recv(100))
print(count, round((time.monotonic() - sent) * 1e6))
"""
_WAITS = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3); print(3)"])
while child.poll() is None:
    pass
"""


@pytest.mark.parametrize("asks", ["poll", "yield"])
def test_what_it_waits_for_is_not_late(tmp_path: Path, asks: str) -> None:
    """A datagram after five seconds and 20 ms on the link is heard at once, after few calls. Two runs are the same."""
    (tmp_path / "speaks.py").write_text(_SPEAKS)
    (tmp_path / "asks.py").write_text(_ASKS % (0, 0))
    server = ["python3", "speaks.py"]
    with Sandbox(server=server, wait="none", folder=tmp_path, fresh=True, DELAY="20ms") as sandbox:
        runs = [sandbox.run(["python3", "asks.py", asks]).check().out for _ in range(2)]
    assert runs[0] == runs[1]
    count, took_us = map(int, runs[0].split())
    assert count < 200_000
    assert 20_000 <= took_us < 20_200


def test_the_first_thousand_calls_are_free(tmp_path: Path) -> None:
    """They take the time in which Python reads the clock for each, and no more."""
    (tmp_path / "asks.py").write_text(_ASKS % (990, 1))
    with Sandbox(folder=tmp_path) as sandbox:
        count, took_us = map(int, sandbox.run(["python3", "asks.py", "poll"]).check().out.split())
    assert count == 990
    assert took_us == pytest.approx(990 * 0.256, abs=5)


def test_a_program_that_spins_leaves_the_others_their_turn(tmp_path: Path) -> None:
    """A client that asks its own child's exit without end does not keep the child from its work."""
    (tmp_path / "waits.py").write_text(_WAITS)
    with Sandbox(folder=tmp_path) as sandbox:
        result = sandbox.run(["python3", "waits.py"]).check()
    assert result.out == "3\n"
    assert 3 < result.seconds < 3.2
