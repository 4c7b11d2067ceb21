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


def _seen(packets: list[Packet]) -> list[tuple[int, str, object]]:
    return [(each.at_ns, str(each), each.arrived_ns) for each in packets]


def test_programs_and_time() -> None:
    """Time goes on when the test asks for it, to the instant that it asks for; a program's output stops it."""
    with Sandbox(DELAY="20ms") as sandbox, sandbox.session() as net:
        assert net.now == 0
        server = net.host("server").start(_program(_SERVE))
        assert net.until(server.prints("Ready"))
        ready = net.now
        time.sleep(0.3)
        net.advance("30s")
        assert net.now == pytest.approx(ready + 30, abs=1e-5)
        client = net.host("client").start(_program(_ECHO))
        client.send(b"one\n")
        assert net.until(client.prints("heard one"))
        assert not net.until(client.ends, "10s")
        client.send(None)
        assert client.wait() == 7
        server.signal("TERM")
        assert server.wait() == -15
        with pytest.raises(StepFailed, match="not found"):
            net.host("client").start(["no-such-program"])
        with pytest.raises(ScenarioError, match="client, server"):
            net.host("phone")
        with pytest.raises(ScenarioError, match="from its beginning"):
            net.link("client").set(RATE="1mbit")


@pytest.mark.parametrize("pause_s", [0.0, 0.2])
def test_the_same_as_a_schedule(pause_s: float) -> None:
    """Packets that a session's calls lose, hold and delay are those that the same schedule does, at the same times."""
    events = [("205ms", "LOSS_UP=100%"), ("305ms", "heal"), ("405ms", "partition client server"), ("505ms", "heal")]
    events += [("605ms", "DELAY_UP=35ms"), ("705ms", "hold client server"), ("805ms", "release")]
    server = _program(_SERVE)
    with Sandbox(DELAY="20ms", DELAY_UP="5ms", server=server, capture=True, fresh=True) as sandbox:
        with sandbox.session() as net:
            began_ns = net.now_ns
            client = net.host("client").start(_program(_SEND))
            at = 0
            for when, event in events:
                net.advance(f"{int(when[:-2]) - at}ms")
                at = int(when[:-2])
                time.sleep(pause_s)
                net.happen(event)
            assert net.until(client.prints("Done"))
            net.advance("1s")
        assert sandbox.last
        steered = [each for each in sandbox.last.packets("client") if each.direction == "out"]
        planned = sandbox.run(_program(_SEND), schedule=events)
    expected = [each for each in planned.packets("client") if each.direction == "out"]
    assert [each.at_ns - began_ns for each in steered] == [each.at_ns for each in expected]
    assert [each.lost for each in steered] == [each.lost for each in expected]
    assert [str(each.lost.cause) for each in steered if each.lost] == ["loss"] * 10 + ["partition"] * 10


def test_it_repeats() -> None:
    """The same calls give the same packets, whatever the test does between them."""

    def packets(pause_s: float) -> list[tuple[int, str, object]]:
        with Sandbox(DELAY="20ms", LOSS="5%", LOSS_UP="5%", capture=True, fresh=True) as sandbox:
            with sandbox.session() as net:
                server = net.host("server").start(_program(_SERVE))
                net.until(server.prints("Ready"))
                client = net.host("client").start(_program(_SEND))
                for _ in range(5):
                    net.advance("100ms")
                    time.sleep(pause_s)
                net.link("client").set(LOSS="30%")
                client.wait()
            assert sandbox.last
            return _seen([*sandbox.last.packets("client")])

    assert packets(0) == packets(0.3)
