"""The packets of a run as values, against tcpdump's own reading, the link's counters, and values computed by hand."""

import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from priolab.testbed.sandbox.packet import Cause, Packet
from priolab.testbed.sandbox.sandbox import Host, Sandbox

pytestmark = pytest.mark.usefixtures("guest")

_SERVE = f"{sys.executable} -m http.server 80"
_GET = [sys.executable, "-c", "import urllib.request as u; print(len(u.urlopen('http://server/data').read()))"]
_UDP = """
import socket, sys, time
family, count, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
socket_ = socket.socket(getattr(socket, family), socket.SOCK_DGRAM)
if not count:
    socket_.bind(("", 9))
    while socket_.recv(2**16):
        pass
for _ in range(count):
    socket_.sendto(bytes(size), ("server", 9))
    time.sleep(0.01)
time.sleep(0.5)
"""
_LINE = re.compile(r"Flags \[(\S+)\](?:, seq (\d+):)?.*length (\d+)(?:$|:)")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """Returns a folder with a file for the server."""
    (tmp_path / "data").write_bytes(bytes(300_000))
    return tmp_path


def _udp(family: str, count: int, size: int = 100) -> list[str]:
    return [sys.executable, "-c", _UDP, family, str(count), str(size)]


def _lost(packets: list[Packet]) -> Counter[str]:
    return Counter(str(each.lost.cause) for each in packets if each.lost)


def test_tcpdump_reads_the_same(here: Path) -> None:
    """The values have the flags and lengths that tcpdump prints, in its order of time, where nothing is cut."""
    with Sandbox(RATE="10mbit", DELAY="20ms", LOSS="2%", GSO=1, server=_SERVE, folder=here) as sandbox:
        result = sandbox.run(_GET, capture=True).check()
        again = sandbox.run(_GET, capture=here / "again.pcapng")
    assert result.seconds == again.seconds
    read = ["tcpdump", "-nr", str(here / "again.pcapng")]
    printed = subprocess.run(read, capture_output=True, text=True, check=True).stdout.splitlines()
    letters = {"SYN": "S", "FIN": "F", "PSH": "P", "RST": "R", "ACK": "."}
    expected = Counter(match.groups() for line in printed if (match := _LINE.search(line)))
    every = [*result.packets("client"), *result.packets("server")]
    found = Counter(
        ("".join(letters[flag] for flag in each.flags), str(each.sequence) if each.length else None, str(each.length))
        for each in every
    )
    assert len(every) == len(printed)
    assert found == expected


@pytest.mark.parametrize("offload", [1, 44])
def test_losses_and_drops(here: Path, offload: int) -> None:
    """Losses are those that the link counted, and TCP has sent again what was lost; the receiver has all the rest."""
    with Sandbox(RATE="10mbit", DELAY="20ms", LOSS="2%", QUEUE=10, GSO=offload, server=_SERVE, folder=here) as sandbox:
        result = sandbox.run(_GET, capture=True).check()
    sent = [each for each in result.packets("server") if each.direction == "out"]
    came = [each for each in result.packets("client") if each.direction == "in"]
    down = result.outcome.down
    assert down.dropped > 0
    assert down.lost > 0
    assert _lost(sent) == {"queue": down.dropped, "loss": down.lost}
    assert len(came) == len(sent) - down.dropped - down.lost
    assert sum(each.retransmission for each in sent) == result.retransmissions
    assert {each.lost.link for each in sent if each.lost} == {"client"}
    fastest = min(each.arrived_ns - each.at_ns for each in sent if each.arrived_ns and each.length == 1448)
    assert fastest == pytest.approx(20e6 + 1514 * 8 / 10e6 * 1e9, abs=2000)
    lost = {each.sequence for each in sent if each.lost}
    assert {each.sequence for each in sent if each.retransmission} >= lost


@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6"])
def test_datagrams_between_two_links(here: Path, family: str) -> None:
    """Each of two links loses its own: the first by its queue, the second by chance; equal datagrams are told apart."""
    with Sandbox(
        server=Host(_udp(family, 0), LOSS="10%", DELAY="30ms"),
        hosts={"phone": Host(_udp(family, 100), RATE_UP="50kbit", QUEUE=5)},
        ipv6=True,
        capture=True,
        folder=here,
    ) as sandbox:
        result = sandbox.run(_udp(family, 200)).check()
    beside = result.outcome.beside
    phone, client = ([each for each in result.packets(name) if each.protocol == "udp"] for name in ("phone", "client"))
    assert beside["phone"].up.dropped > 10
    assert _lost(phone)["queue"] == beside["phone"].up.dropped
    assert _lost(phone)["loss"] + _lost(client)["loss"] == beside["server"].down.lost
    assert {(each.lost.cause, each.lost.link) for each in phone if each.lost} == {
        (Cause.QUEUE, "phone"),
        (Cause.LOSS, "server"),
    }
    assert {each.arrived_ns - each.at_ns for each in client if each.arrived_ns} <= {30_000_000, 30_000_001}


def test_packets_repeat(here: Path) -> None:
    """The same run has the same packets, with their fates, but for the ports and first numbers of a kept guest."""
    with Sandbox(RATE="5mbit", DELAY="30ms", LOSS="3%", server=_SERVE, folder=here, fresh=True) as sandbox:
        first, second = (sandbox.run(_GET, capture=True).packets("server") for _ in range(2))
    assert first == second


def test_a_capture_changes_nothing(here: Path) -> None:
    """With a capture a run has the same output, times, counts and random numbers as without."""
    draw = "import os, sys; print(os.urandom(8).hex(), *range(3), file=sys.stderr)"
    command = ["sh", "-c", f"{sys.executable} -c '{draw}' && exec {shlex.join(_GET)}"]
    hosts = {"phone": Host(_udp("AF_INET", 20), RATE_UP="100kbit")}
    with Sandbox(RATE="5mbit", DELAY="30ms", LOSS="3%", server=_SERVE, hosts=hosts, folder=here, fresh=True) as sandbox:
        plain, captured = (sandbox.run(command, capture=capture).check() for capture in (None, True))
    assert (plain.outcome, plain.frames, plain.command) == (captured.outcome, captured.frames, captured.command)
    assert captured.packets("phone")


@pytest.mark.needs("fabric-netns")
def test_on_a_real_clock(here: Path) -> None:
    """In network namespaces of this machine packets are values, too."""
    with Sandbox(fabric="netns", DELAY="20ms", RATE="10mbit", server=_SERVE, folder=here, capture=True) as sandbox:
        result = sandbox.run(_GET).check()
    came = [each for each in result.packets("client") if each.direction == "in" and each.length]
    assert sum(each.length for each in came if not each.retransmission) >= 300_000
    assert all(each.arrived_ns - each.sent_ns >= 20_000_000 for each in came if each.sent_ns and each.arrived_ns)


def test_the_command_draws(here: Path) -> None:
    """`--timeline` writes a picture with a stroke for each packet of the range; the output is as without it."""
    server = f"{sys.executable} -m http.server 80"
    words = [sys.executable, "-m", "priolab.experiments", "sandbox", "DELAY=20ms", "--server", server]
    plain, drawn = (
        subprocess.run([*words, *more, "--", *_GET], cwd=here, capture_output=True, check=True)
        for more in ((), ("--timeline", "all.svg", "--between", "0s..0.025s"))
    )
    assert (plain.stdout, plain.stderr) == (drawn.stdout, drawn.stderr)
    picture = (here / "all.svg").read_text()
    # SYN and its answer at once; when that arrives after 20 ms, ACK and the request
    told = re.findall("<title>(.*?)</title>", picture)
    assert [each.split(": ")[1].split(",")[0] for each in told[:4]] == ["SYN", "SYN ACK", "ACK 1", "114 bytes"]
    assert all(float(each.split()[0]) <= 0.025 for each in told)


@pytest.mark.parametrize(
    ("begin", "end", "causes", "arrived"),
    [
        ("LOSS_UP=100%", "heal", {"loss": 20}, 80),
        ("partition client to server", "heal client", {"partition": 20}, 80),
        ("down server", "up server", {"down": 20}, 80),
        ("hold client server", "release", {}, 100),
        ("hold client server", None, {"hold": 79}, 21),
        ("MTU=576", "heal", {"mtu": 20}, 80),
    ],
)
def test_what_a_schedule_takes_away(begin: str, end: str | None, causes: dict[str, int], arrived: int) -> None:
    """A packet each 10 ms: those between 205 and 405 ms have their cause, and the picture has both events."""
    schedule = [("205ms", begin), *([("405ms", end)] if end else [])]
    server = _udp("AF_INET", 0)
    with Sandbox(DELAY="20ms", MTU_SILENT="on", server=server, hosts={"phone": ""}, capture=True) as sandbox:
        result = sandbox.run(_udp("AF_INET", 100, 600), schedule=schedule)
    packets = [each for each in result.packets("client") if each.direction == "out" and each.protocol == "udp"]
    lost = [each for each in packets if each.lost]
    assert _lost(lost) == causes
    assert {str(each.cause): count for each, count in result.losses.items()} == causes
    assert sum(each.arrived_ns is not None for each in packets) == arrived
    assert all(0.205 < each.time_s < (0.406 if end else 2) for each in lost)
    assert all(f" s: {event}<" in result.timeline().svg for _, event in schedule)


def test_times_of_packets_do_not_jump() -> None:
    """The time of day jumps forward and back, and the packets are 10 ms apart."""
    schedule = [("205ms", "clock +3600s"), ("405ms", "clock -7200s")]
    with Sandbox(DELAY="20ms", server=_udp("AF_INET", 0), capture=True) as sandbox:
        plain, jumped = (sandbox.run(_udp("AF_INET", 100), schedule=each) for each in ((), schedule))
    for host in ("client", "server"):
        expected = [each.at_ns for each in plain.packets(host)]
        assert [each.at_ns for each in jumped.packets(host)] == pytest.approx(expected, abs=10**6)
