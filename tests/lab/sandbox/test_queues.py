"""The queue of a sandbox's link holds the bytes that QUEUE says, whatever the packets' sizes, in both directions."""

from pathlib import Path
from typing import Any

import pytest

from priolab.testbed.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.usefixtures("guest")

_HEADERS_BYTES = 42
_ECHO = """
import socket
far = socket.socket(type=socket.SOCK_DGRAM)
far.bind(("", 99))
count, size, sender = map(int, far.recvfrom(2000)[0].split())
near = ("client", 98)
if sender:
    for _ in range(count):
        far.sendto(bytes(size), near)
else:
    far.settimeout(20)
    came = 0
    try:
        while len(far.recv(2000)) == size:
            came += 1
    except TimeoutError:
        far.sendto(b"%d" % came, near)
far.recv(1)
"""
_BURST = """
import socket, sys, time
count, size, away = map(int, sys.argv[1:])
near = socket.socket(type=socket.SOCK_DGRAM)
near.bind(("", 98))
near.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**24)
near.sendto(b"%d %d %d" % (count, size, not away), ("server", 99))
near.settimeout(60)
if away:
    time.sleep(1)  # until the request has left the queue
    for _ in range(count):
        near.sendto(bytes(size), ("server", 99))
    print(int(near.recv(100)))
    sys.exit()
came = 0
try:
    while len(near.recv(2000)) == size:
        came += 1
except TimeoutError:
    print(came)
"""


def _held(folder: Path, frame_bytes: int, *, count: int = 250, away: bool = False, **knobs: Any) -> int:
    """Return how many packets of this size the link delivers of those that come at once."""
    (folder / "echo.py").write_text(_ECHO)
    (folder / "burst.py").write_text(_BURST)
    with Sandbox(server=["python3", "echo.py"], wait=99, folder=folder, **knobs) as sandbox:
        words = map(str, (count, frame_bytes - _HEADERS_BYTES, int(away)))
        return int(sandbox.run(["python3", "burst.py", *words]).check().out)


@pytest.mark.parametrize(
    ("queue", "frame_bytes", "held"),
    [
        ("10000b", 100, 100),
        ("10kb", 100, 102),
        ("10kb", 1514, 6),
        ("200ms", 100, 250),
        ("1bdp", 100, 25),
        ("25", 100, 25),
    ],
)
def test_bytes_are_counted(tmp_path: Path, queue: str, frame_bytes: int, held: int) -> None:
    """At 1 Mbit/s 200 ms are 25,000 bytes, and with 10 ms each way the bandwidth-delay product is 2,500 bytes."""
    assert _held(tmp_path, frame_bytes, RATE="1mbit", QUEUE=queue, DELAY="10ms", DELAY_UP="10ms") == held


@pytest.mark.parametrize(("queue", "held"), [("10kb", 102), ("200ms", 125)])
def test_toward_the_server(tmp_path: Path, queue: str, held: int) -> None:
    """With RATE_UP the queue toward the server has its own bytes, with a time those of its own rate."""
    assert _held(tmp_path, 100, away=True, RATE="10mbit", RATE_UP="500kbit", QUEUE=queue, DELAY="10ms") == held


def test_with_rate_steps(tmp_path: Path) -> None:
    """The ferry, which makes a queue in bytes with rate steps, holds as many packets."""
    assert _held(tmp_path, 100, RATE="1mbit", RATE_STEPS="2mbit@1000s", QUEUE="10kb", DELAY="10ms") == 102


def test_a_burst_that_the_ferry_cannot_take(tmp_path: Path) -> None:
    """Packets that are lost before the queue make the run an error; netem takes them all."""
    assert _held(tmp_path, 60, count=9000, RATE="10mbit", QUEUE="600kb", DELAY="10ms") == 9000
    with pytest.raises(Exception, match=r"the link \(ferry\): \d+ packets came at once, more than it can take"):
        _held(tmp_path, 60, count=9000, RATE="10mbit", RATE_STEPS="2mbit@1000s", QUEUE="600kb", DELAY="10ms")
