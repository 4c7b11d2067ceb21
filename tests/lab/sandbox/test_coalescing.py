"""A host with COALESCE collects packets that arrive, as a network card does."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from priolab.testbed.sandbox.packet import Packet
from priolab.testbed.sandbox.sandbox import Result, Sandbox

pytestmark = pytest.mark.usefixtures("guest")

_SENDS = """
import socket, sys, time
near = socket.socket(type=socket.SOCK_DGRAM)
near.connect(("client", 99))
time.sleep(1)
begun = time.monotonic()
for at_ms in 0, 0.5, 1.2, 5:
    time.sleep(max(0, begun + at_ms / 1000 - time.monotonic()))
    near.send(b"%f" % at_ms)
"""
_HEARS = """
import socket, time
far = socket.socket(type=socket.SOCK_DGRAM)
far.bind(("", 99))
came = []
for _ in range(4):
    far.recv(100)
    came.append(time.monotonic())
print(*(round((each - came[0]) * 1000, 1) for each in came))
"""


def test_packets_wait_for_their_time(tmp_path: Path) -> None:
    """The first datagram after a pause is there at once, and those of the next 2 ms are at the end of these."""
    (tmp_path / "sends.py").write_text(_SENDS)
    (tmp_path / "hears.py").write_text(_HEARS)
    came = []
    for time in "0us", "2ms":
        with Sandbox(server=["python3", "sends.py"], wait="none", folder=tmp_path, COALESCE=time) as sandbox:
            came.append(sandbox.run(["python3", "hears.py"]).check().out.split())
    assert came == [["0.0", "0.5", "1.2", "5.0"], ["0.0", "2.0", "2.0", "5.0"]]


def test_a_download_is_the_same_with_fewer_acknowledgments(tmp_path: Path) -> None:
    """The same packets arrive, each at most that much later and none lost; those of a flow are passed on as one."""
    (tmp_path / "page").write_bytes(bytes(1_000_000))
    server = ["python3", "-m", "http.server", "80"]
    with Sandbox(server=server, folder=tmp_path, capture=True, RATE="100mbit", DELAY="5ms") as sandbox:
        plain, collected = (
            sandbox.run(["curl", "-s", "http://server/page"], COALESCE=time).check() for time in ("0us", "1ms")
        )
    assert [plain.losses, collected.losses] == [{}, {}]
    plain_came, came = _passed(plain, "in"), _passed(collected, "in")
    assert sum(each.length for each in plain_came) == sum(each.length for each in came)
    assert all(each.sent_ns is not None for each in came)
    assert plain.goodput_bit_s > collected.goodput_bit_s > plain.goodput_bit_s * 0.9
    assert len(_passed(collected, "out")) < len(_passed(plain, "out")) / 2


def _passed(result: Result, direction: str) -> Sequence[Packet]:
    return [each for each in result.packets("client") if each.direction == direction]
