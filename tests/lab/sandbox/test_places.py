"""More than two hosts, each with its link, and both families of addresses."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from priolab.common.errors import LabError, ScenarioError
from priolab.testbed.sandbox.sandbox import Host, Sandbox

pytestmark = pytest.mark.usefixtures("guest")

_CONNECT = """
import socket, sys, time
for name in sys.argv[1:]:
    begun = time.monotonic()
    with socket.create_connection((name, 80)) as connection:
        print(name, connection.getpeername()[0], time.monotonic() - begun)
"""
_ACCEPT = """
import socket
dual = socket.has_dualstack_ipv6()
print("at work", flush=True)
family = socket.AF_INET6 if dual else socket.AF_INET
with socket.create_server(("", 80), family=family, dualstack_ipv6=dual) as server:
    while True:
        server.accept()[0].close()
"""
_CONTROLS = """
import socket, sys
if sys.argv[1] == "serve":
    connection, _ = socket.create_server(("server", 80)).accept()
else:
    connection = socket.create_connection(("server", 80))
    print(connection.recv(10).decode(), end=" ")
name = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 10).rstrip(b"\\0")
connection.send(name)
print(name.decode())
"""
_FAMILY = """
import os, signal, socket, sys
def end(number, _):
    print(name, "ends by", signal.Signals(number).name, flush=True)
    os._exit(0)
def in_order(*_):
    for worker in workers:
        os.kill(worker, signal.SIGHUP)
        os.waitpid(worker, 0)
    print("the first process ends", flush=True)
    os._exit(0)
name, workers = "the first process", []
for number in range(int(sys.argv[2])):
    workers += [os.fork()]
    if not workers[-1]:
        name = f"worker {number}"
        signal.signal(signal.SIGHUP, end)
        signal.signal(signal.SIGTERM, signal.SIG_IGN if sys.argv[1] == "deaf" else end)
        while True:
            signal.pause()
signal.signal(signal.SIGTERM, in_order if sys.argv[1] == "well" else end)
with socket.create_server(("", 80)) as server:
    while True:
        signal.pause()
"""
_ADDRESSES = {
    "ipv4": {"client": "198.18.0.2", "server": "198.18.1.2", "phone": "198.18.10.2"},
    "ipv6": {"client": "2001:db8:18::2", "server": "2001:db8:18:1::2", "phone": "2001:db8:18:10::2"},
}
_TRACE = "".join(f"{ms}\n" for ms in range(1, 11))


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """Returns a folder with the programs."""
    (tmp_path / "connect.py").write_text(_CONNECT)
    (tmp_path / "accept.py").write_text(_ACCEPT)
    (tmp_path / "family.py").write_text(_FAMILY)
    (tmp_path / "my.trace").write_text(_TRACE)
    return tmp_path


def _sandbox(here: Path, family: str, fabric: str = "virtual", **link: str) -> Sandbox:
    accept = [sys.executable, "accept.py"]
    return Sandbox(
        DELAY="10ms",
        server=Host(accept, DELAY_UP="5ms"),
        hosts={"phone": Host(accept, DELAY="80ms", **link), "empty": Host()},
        wait={"phone": 80},
        ipv6=family == "ipv6",
        folder=here,
        fabric=fabric,
        fresh=True,
    )


def _round_trips_s(out: str, addresses: Mapping[str, str]) -> dict[str, float]:
    lines = [line.split() for line in out.splitlines()]
    assert {name: address for name, address, _ in lines} == {name: addresses[name] for name, *_ in lines}
    return {name: float(took_s) for name, _, took_s in lines}


@pytest.mark.parametrize(
    ("family", "link"),
    [
        ("ipv4", {}),
        ("ipv6", {}),
        ("ipv6", {"RATE": "10mbit", "LOSS_BURST": "2", "LOSS": "0.1%"}),
        ("ipv4", {"RATE": "10mbit", "QDISC": "fq_codel"}),
        ("ipv4", {"RATE": "10mbit", "RATE_STEPS": "5mbit@1s"}),
        ("ipv4", {"REORDER": "1%"}),
        ("ipv4", {"TRACE": "my.trace"}),
        ("ipv6", {"RATE": "10mbit", "QDISC": "fq_codel"}),
        ("ipv6", {"RATE": "10mbit", "RATE_STEPS": "5mbit@1s"}),
        ("ipv6", {"REORDER": "1%"}),
        ("ipv6", {"TRACE": "my.trace"}),
    ],
    ids=str,
)
def test_each_place_has_its_link(
    here: Path, family: str, link: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every name resolves, preferably to IPv6, and a round trip has the delays of both links."""
    monkeypatch.chdir(here)
    with _sandbox(here, family, **link) as sandbox:
        result = sandbox.run([sys.executable, "connect.py", "server", "phone"]).check()
    took_s = _round_trips_s(result.out, _ADDRESSES[family])
    assert took_s == pytest.approx({"server": 0.010 + 0.005, "phone": 0.010 + 0.080}, abs=0.001)
    assert result.written("phone", "out") == b"at work\n"
    assert [each.between for each in result.connections] == [("client", "phone"), ("client", "server")]
    assert [*result.outcome.beside] == ["server", "phone", "empty"]
    assert result.outcome.beside["phone"].down.bytes > 0
    assert result.outcome.beside["empty"].up.bytes == 0


@pytest.mark.parametrize("family", _ADDRESSES)
def test_it_repeats(here: Path, family: str) -> None:
    """Two new guests give the same output, counts and packets; no host sends packets of its own."""
    done = []
    with _sandbox(here, family, JITTER="5ms", LOSS="1%") as sandbox:
        for name in ("first", "again"):
            capture = here / f"{name}.pcapng"
            result = sandbox.run([sys.executable, "connect.py", *["phone"] * 20], capture=capture)
            done.append((result, capture.read_bytes()))
    assert done[0] == done[1]
    assert b"\xff\x02" not in done[0][1]  # no address of a multicast group


@pytest.mark.usefixtures("netns")
@pytest.mark.parametrize("family", _ADDRESSES)
def test_on_a_real_clock(here: Path, family: str) -> None:
    """The same on this machine's clock, which may be late."""
    with _sandbox(here, family, "netns", RATE="100mbit") as sandbox:
        result = sandbox.run([sys.executable, "connect.py", "server", "phone"]).check()
    took_s = _round_trips_s(result.out, _ADDRESSES[family])
    assert took_s["server"] > 0.015
    assert took_s["phone"] > 0.090


@pytest.mark.parametrize("fabric", ["virtual", pytest.param("netns", marks=pytest.mark.needs("fabric-netns"))])
def test_the_congestion_control(here: Path, fabric: str) -> None:
    """CC is that of the server, --set chooses another for the client, and else both have cubic in every fabric."""
    (here / "controls.py").write_text(_CONTROLS)
    serve, ask = ([sys.executable, "controls.py", does] for does in ("serve", "ask"))
    with Sandbox(server=serve, folder=here, fabric=fabric) as sandbox:
        assert sandbox.run(ask).check().out == "cubic cubic\n"
        assert sandbox.run(ask, CC="reno").check().out == "reno cubic\n"
    setting = [("client", "net.ipv4.tcp_congestion_control", "reno")]
    with Sandbox(server=serve, folder=here, fabric=fabric, sysctls=setting) as sandbox:
        assert sandbox.run(ask).check().out == "cubic reno\n"


def test_sixteen_hosts(here: Path) -> None:
    """The last of sixteen is reached as the first is."""
    places = {f"p{number}": Host() for number in range(13)} | {"phone": Host(f"{sys.executable} accept.py")}
    with Sandbox(hosts=places, wait={"phone": "any"}, folder=here) as sandbox:
        result = sandbox.run([sys.executable, "connect.py", "phone"]).check()
    assert result.out.startswith("phone 198.18.23.2 ")


def test_endings(here: Path) -> None:
    """A host whose program fails does not end the run, but one that is waited for, or is not found, does."""
    with pytest.raises(ScenarioError, match=r"^host=tablet is not allowed; allowed: client, server, phone$"):
        Sandbox(hosts={"phone": ""}, wait={"tablet": 80})
    with pytest.raises(ScenarioError, match=r"^phone\.CC=bbr is not allowed; allowed: the knobs of a link: "):
        Sandbox(hosts={"phone": Host("call", CC="bbr")})
    with Sandbox(hosts={"phone": ["sh", "-c", "echo no luck; exit 4"]}, folder=here) as sandbox:
        result = sandbox.run("sleep 1").check()
        assert result.outcome.codes == {"phone": 4, "client": 0}
        assert result.written("phone", "out") == b"no luck\n"
    with (
        Sandbox(hosts={"phone": ["sh", "-c", "echo no luck; exit 4"]}, wait={"phone": "any"}, folder=here) as sandbox,
        pytest.raises(LabError, match=r"the host phone ended with exit code 4 before it listened: no luck$"),
    ):
        sandbox.run("true")
    with (
        Sandbox(hosts={"phone": "nothing"}, folder=here) as sandbox,
        pytest.raises(LabError, match=r"the host phone's program nothing is not found; install it, such as "),
    ):
        sandbox.run("true")


def test_ends_in_order(here: Path) -> None:
    """At the end a program alone gets SIGTERM, and then what is left of its children. The server is the last one."""
    family = [sys.executable, "family.py"]
    further = {"careless": Host([*family, "ill", "1"]), "deaf": Host([*family, "deaf", "1"])}
    with Sandbox(server=[*family, "well", "2"], hosts=further, wait=dict.fromkeys(further, 80), folder=here) as sandbox:
        results = [sandbox.run("sleep 1", schedule=each).check() for each in ([], [("0s", "restart server")])]
    first, anew = (
        [(each.place, line) for each in result.frames for line in each.data.decode().splitlines()] for result in results
    )
    assert first == [
        ("deaf", "the first process ends by SIGTERM"),
        ("careless", "the first process ends by SIGTERM"),
        ("careless", "worker 0 ends by SIGTERM"),
        ("server", "worker 0 ends by SIGHUP"),
        ("server", "worker 1 ends by SIGHUP"),
        ("server", "the first process ends"),
    ]
    assert anew == first
