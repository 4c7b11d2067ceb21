"""Sessions in the guest: what a test asks happens at its time, and standing still changes nothing."""

import sys
import time

import pytest

from priolab.common.errors import ScenarioError, StepFailed
from priolab.testbed.sandbox.packet import Packet
from priolab.testbed.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.usefixtures("guest")

_SERVE = """
import socket
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.bind(("", 9))
print("Ready", flush=True)
while True:
    data, whence = here.recvfrom(99)
    here.sendto(data, whence)
"""
_SEND = """
import socket, sys, time
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(100):
    here.sendto(b"%d" % number, ("server", 9))
    time.sleep(0.01)
print("Done", flush=True)
"""
_ECHO = "import sys\nfor line in sys.stdin: print('heard', line, end='', flush=True)\nsys.exit(7)"


def _program(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def test_programs_and_time() -> None:
    """Time goes on when the test asks for it, to the instant that it asks for; a program's output stops it."""
    with Sandbox(DELAY="20ms") as sandbox, sandbox.session() as net:
        assert net.now == 0
        server = net.host("server").start(_program(_SERVE))
        net.until(server.prints("Ready"))
        ready = net.now
        time.sleep(0.3)
        net.advance("30s")
        assert net.now == ready + 30
        client = net.host("client").start(_program(_ECHO), stdin=True)
        client.send("one\n")
        net.until(client.prints("heard one"))
        with pytest.raises(AssertionError, match="ends: not within 10s"):
            net.until(client.ends, "10s")
        client.close_stdin()
        assert client.wait() == 7
        assert client.out == "heard one\n"
        server.signal("TERM")
        assert server.wait() == -15
        with pytest.raises(StepFailed, match="not found"):
            net.host("client").start(["no-such-program"])
        with pytest.raises(ScenarioError, match="client, server"):
            net.host("phone")
        with pytest.raises(ScenarioError, match="from the beginning"):
            net.link("client").set(RATE="1mbit")


_EVENTS = [("205ms", "LOSS_UP=100%"), ("305ms", "heal"), ("405ms", "partition client server"), ("505ms", "heal")]
_EVENTS += [("605ms", "DELAY_UP=35ms"), ("705ms", "hold client server"), ("805ms", "release")]


@pytest.mark.parametrize("pause_s", [0.0, 0.2])
def test_the_same_as_a_schedule(pause_s: float) -> None:
    """Packets that a session's calls lose, hold and delay are those that the same schedule does, at the same times."""
    server = _program(_SERVE)
    with Sandbox(DELAY="20ms", DELAY_UP="5ms", server=server, capture=True, fresh=True) as sandbox:
        with sandbox.session() as net:
            client = net.host("client").start(_program(_SEND))
            at = 0
            for when, event in _EVENTS:
                net.advance(f"{int(when[:-2]) - at}ms")
                at = int(when[:-2])
                time.sleep(pause_s)
                net.happen(event)
            client.wait()
        planned = sandbox.run(_program(_SEND), schedule=_EVENTS)
    print(net.result.events, planned.events)
    print(len(net.result.trace.hosts["client"]), len(planned.trace.hosts["client"]))
    for a, b in zip(net.result.packets("client"), planned.packets("client")):
        if a.at_ns != b.at_ns: print(a.at_ns, b.at_ns, a, b)
    assert net.result.trace.hosts == planned.trace.hosts
    assert net.result.trace.routers == planned.trace.routers
