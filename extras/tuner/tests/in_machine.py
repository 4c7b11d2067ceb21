"""Does the work of `make tuner-machines` in a machine: python3 -m priolab.extras.tuner.tests.in_machine FOLDER.

Needs root. Only the standard library and the lab's own loader are imported. FOLDER has the program, the law as a BPF
program of its own, and its inputs. Results are written there: `replayed`, `decisions.jsonl`, and `sockets.json`.

1. Each record of the inputs is given to the law in the kernel, and the records that come back are written.
2. The lab's loader tunes a server by the law alone, and each decision is written with its inputs.
3. priority-tuner tunes a server that writes whenever its socket is writable, over a link of 8 Mbit/s and 20 ms: over
   several protocols, each with and without the tuner.
"""

import errno
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from priolab.common.formats.decisions import Decision
from priolab.extras.tuner.bed_writer import unsent_bytes
from priolab.proxy.tuner.in_kernel import InKernel, Rule
from tests.support.tuner.replay import replayed

_GROUP, _CLIENT = Path("/sys/fs/cgroup/tuner-trial"), "tuner-client"
_IPV4, _IPV4_MORE, _IPV6, _PORT = "198.18.0.1", "198.18.1.1", "fd00::1", 4000
_NAPPED_S, _SENT_S, _CHUNK = 0.4, 1.6, b"x" * 16384
_TCP_ULP, _SOL_TLS, _TLS_TX = 31, 282, 1
_NETWORK = f"""
ip netns add {_CLIENT}
ip link add front type veth peer name back netns {_CLIENT}
ip link add more type veth peer name most netns {_CLIENT}
ip address add {_IPV4}/24 dev front && ip address add {_IPV6}/64 dev front nodad && ip link set front up
ip address add {_IPV4_MORE}/24 dev more && ip link set more up
ip -n {_CLIENT} address add 198.18.0.2/24 dev back && ip -n {_CLIENT} address add fd00::2/64 dev back nodad
ip -n {_CLIENT} address add 198.18.1.2/24 dev most
ip -n {_CLIENT} link set lo up && ip -n {_CLIENT} link set back up && ip -n {_CLIENT} link set most up
for device in front more; do tc qdisc add dev $device root tbf rate 8mbit burst 20kb limit 60kb; done
for device in back most; do tc -n {_CLIENT} qdisc add dev $device root netem delay 20ms; done
echo 4096 4194304 4194304 >/proc/sys/net/ipv4/tcp_wmem
modprobe tls
"""
# Reads for some seconds; argument 3 is the protocol.
_READS = """
import socket, sys, time
host, port, protocol, seconds = sys.argv[1], *map(int, sys.argv[2:5])
family = socket.AF_INET6 if ":" in host else socket.AF_INET
with socket.socket(family, socket.SOCK_STREAM, protocol) as client:
    client.connect((host, port))
    end = time.monotonic() + seconds
    while time.monotonic() < end and client.recv(1 << 20):
        pass
"""


@dataclass(frozen=True, kw_only=True)
class Way:
    """A way to send.

    host, listens: the addresses that the client connects to, and that the server listens on. server, client: the
    numbers of their protocols. tls: True if the kernel encrypts. file: True if the server sends by sendfile(2).
    paths: how many the client has.
    """

    host: str = _IPV4
    listens: str = "0.0.0.0"
    server: int = 0
    client: int = 0
    tls: bool = False
    file: bool = False
    paths: int = 1


_MPTCP = 262
WAYS: Mapping[str, Way] = {
    "IPv4": Way(),
    "IPv6": Way(host=_IPV6, listens="::"),
    "IPv4 to a server that listens for both": Way(listens="::"),
    "sendfile": Way(file=True),
    "kTLS": Way(tls=True),
    "kTLS and sendfile": Way(tls=True, file=True),
    "MPTCP, one path": Way(server=_MPTCP, client=_MPTCP),
    "MPTCP, two paths": Way(server=_MPTCP, client=_MPTCP, paths=2),
    "MPTCP's server, TCP's client": Way(server=_MPTCP),
}
"""What is tried."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """The findings of a trial. lowats: of the tuner's decisions, by the last of each connection.

    most_unsent_bytes: after half of the time. sent_bytes: in all the time. trouble: why there are no numbers.
    """

    lowats: list[int]
    most_unsent_bytes: int = 0
    sent_bytes: int = 0
    trouble: str = ""


def _listening(way: Way) -> socket.socket:
    family = socket.AF_INET6 if ":" in way.listens else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, way.server)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((way.listens, _PORT))
    listener.listen()
    listener.settimeout(20)
    return listener


def _encrypt(connection: socket.socket) -> None:
    """Have the kernel encrypt what is sent, with a key of zeros, as TLS 1.2 with AES-128-GCM."""
    connection.setsockopt(socket.IPPROTO_TCP, _TCP_ULP, b"tls")
    connection.setsockopt(_SOL_TLS, _TLS_TX, struct.pack("=2H36x", 0x0303, 51))


def _send(connection: socket.socket, file: int | None) -> tuple[int, int]:
    """Send for some seconds whenever the socket is writable; return the most unsent bytes, and the sent ones."""
    connection.settimeout(0)
    writable = select.poll()
    writable.register(connection, select.POLLOUT)
    most = sent = 0
    began = time.monotonic()
    while (now := time.monotonic()) < began + _SENT_S:
        writable.poll(100)
        with suppress(BlockingIOError):
            sent += connection.send(_CHUNK) if file is None else os.sendfile(connection.fileno(), file, 0, 1 << 20)
        if now > began + _SENT_S / 2:
            most = max(most, unsent_bytes(connection))
    return most, sent


def _serve(way: Way) -> dict[str, Any]:
    """Serve one client, in the cgroup; return numbers of `Found`."""
    (_GROUP / "cgroup.procs").write_text(str(os.getpid()))
    with _listening(way) as listener:
        command = ["ip", "netns", "exec", _CLIENT, sys.executable, "-c", _READS, way.host, str(_PORT), str(way.client)]
        client = subprocess.Popen([*command, "30"], stdin=subprocess.DEVNULL)
        try:
            connection, _ = listener.accept()
            with connection, Path("/tmp/sent").open("w+b") as file:
                file.truncate(1 << 20)
                if way.tls:
                    _encrypt(connection)
                time.sleep(_NAPPED_S)  # a second path joins
                most, sent = _send(connection, file.fileno() if way.file else None)
                return {"most_unsent_bytes": most, "sent_bytes": sent}
        finally:
            client.kill()
            client.wait()


def _in_child(way: Way) -> dict[str, Any]:
    """Serve in a process of its own, so that this one stays outside of the cgroup."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            found = _serve(way)
        except (OSError, ValueError) as error:
            found = {"trouble": f"{errno.errorcode.get(getattr(error, 'errno', 0) or 0, '')} {error}".strip()}
        os.write(writer, json.dumps(found).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return dict(json.loads(said or '{"trouble": "the server died"}'))


@contextmanager
def _tuner(folder: Path, log: Path) -> Iterator[None]:
    """A tuner at work on the cgroup."""
    command = [str(folder / "priority-tuner"), "run", "--cgroup", str(_GROUP), "--log", str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        process.stdout.readline()
        try:
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.stdout.read()


def _tried(way: Way, folder: Path, *, tuned: bool) -> Found:
    endpoint = "198.18.1.2 dev most subflow"
    subprocess.run(["ip", "-n", _CLIENT, "mptcp", "endpoint", "flush"], check=False)
    if way.paths > 1:
        subprocess.run(["ip", "-n", _CLIENT, "mptcp", "endpoint", "add", *endpoint.split()], check=False)
        subprocess.run(["ip", "-n", _CLIENT, "mptcp", "limits", "set", "subflow", "2"], check=False)
        subprocess.run(["ip", "mptcp", "limits", "set", "subflow", "2"], check=False)
        subprocess.run(["ip", "mptcp", "endpoint", "flush"], check=False)
        subprocess.run(["ip", "mptcp", "endpoint", "add", _IPV4_MORE, "dev", "more", "signal"], check=False)
        subprocess.run(["ip", "-n", _CLIENT, "mptcp", "limits", "set", "add_addr_accepted", "2"], check=False)
    log = Path("/tmp/decisions.jsonl")
    log.unlink(missing_ok=True)
    if not tuned:
        return Found(lowats=[], **_in_child(way))
    with _tuner(folder, log):
        found = _in_child(way)
    decisions = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    lowats = {(each["peer"], each["peer_port"]): each["new_bytes"] for each in decisions}
    return Found(lowats=sorted(lowats.values()), **found)


def _live(folder: Path) -> None:
    """Tune a server by the law alone, and write each decision."""
    told: list[Decision] = []
    with InKernel(_GROUP, Rule(), told.append):
        _in_child(WAYS["IPv4"])
        _in_child(WAYS["IPv6"])
    (folder / "decisions.jsonl").write_text("".join(f"{each.to_json()}\n" for each in told))


def main() -> int:
    """Do all of it."""
    folder = Path(sys.argv[1])
    (folder / "replayed").write_bytes(replayed(folder / "law.o", (folder / "inputs").read_bytes()))
    _GROUP.mkdir()
    subprocess.run(["sh", "-e", "-c", _NETWORK], check=True)
    _live(folder)
    found = {}
    for name, way in WAYS.items():
        found[name] = {kind: asdict(_tried(way, folder, tuned=kind == "tuned")) for kind in ("unset", "tuned")}
        (folder / "sockets.json").write_text(json.dumps(found))
    _GROUP.rmdir()
    return 0


if __name__ == "__main__":
    sys.exit(main())
