"""A part that deviates from the scenario, or reports something false, makes the run invalid, with one line.

Each lie is a program that is found in the place of the real one, does what that does, and lies besides. All lies but
the clients' begin when the lab has looked at everything: seven seconds after the front, in the middle of the load.
"""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import Lab

_LOAD = ("LOWAT=16384", "CONTROL=no", "RELOADS=0", "SIZE=300K")
_SHAPED = "tc qdisc change dev to-client parent"
_DATAGRAMS = (
    "import socket, time\n"
    "sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
    "for _ in range(100): sender.sendto(bytes(1000), ('198.18.0.2', 9)); time.sleep(0.05)"
)
_CONNECTION = (
    "import http.client, ssl\n"
    "connection = http.client.HTTPSConnection('198.18.1.2', context=ssl._create_unverified_context())\n"
    "connection.request('GET', '/'); connection.getresponse().read()\n"
    "connection.request('GET', '/nothing'); connection.getresponse().read()\n"
    "for _ in range(60): connection.request('GET', '/'); connection.getresponse().read()"
)


@dataclass(frozen=True, kw_only=True)
class Lie:
    """program: whose place is taken. where: the shell's test for the lab's own call. does: what the shell does then.

    seen: how the reason begins.
    """

    program: str
    where: str
    does: str
    seen: str


def _during(program: str, where: str, does: str, seen: str) -> Lie:
    return Lie(program=program, where=where, does=f"(sleep 7; {does}) </dev/null >/dev/null 2>&1 &", seen=seen)


def _at_front(does: str, seen: str) -> Lie:
    """In the front's place; nginx is also asked for its version."""
    return _during("nginx", 'case "$*" in *-c*) true;; *) false;; esac', does, seen)


def _at_link(does: str, seen: str) -> Lie:
    """In the link's place, whose qdiscs are made in one batch."""
    return _during("tc", '[ "$1" = -batch ]', does, seen)


def _origin(does: str, seen: str) -> Lie:
    """The origin itself; Node also makes images, outside."""
    return Lie(program="node", where='[ "${HOST#198.18.}" != "$HOST" ]', does=does, seen=seen)


def _served(was: str, becomes: str, seen: str) -> Lie:
    """The origin serves another page."""
    return _origin(f"""sed 's/{was}/{becomes}/' "$PAGE" >"$ACCESS_LOG.page"; export PAGE="$ACCESS_LOG.page\"""", seen)


def _skewed(clock: str, seen: str) -> Lie:
    """The origin's clock is another."""
    script = (
        "const real = process.hrtime.bigint.bind(process.hrtime), began = real();"
        f" process.hrtime.bigint = () => {{ const now = real(); return {clock}; }};"
    )
    return _origin(f"""set -- --require "$(dirname "$0")/clock.cjs" "$@"; : '{script}'""", seen)


def _set(name: str, value: str) -> str:
    return f"echo {value} >/proc/sys/net/ipv4/{name}"


_NO_LIMIT = _set("tcp_notsent_lowat", "4294967295")

LIES = {
    "LOWAT raised": _at_front(_NO_LIMIT, "net.ipv4.tcp_notsent_lowat after the loads: asked for 16384"),
    "LOWAT raised for a while": _at_front(
        f"{_NO_LIMIT}; sleep 1; {_set('tcp_notsent_lowat', '16384')}",
        "bytes unsent in the front's kernel: asked for at",
    ),
    "send buffer": _at_front(_set("tcp_wmem", '"4096 16384 65536"'), "tcp_wmem after the loads: asked for"),
    "segmentation": _at_front("ip link set dev wire gso_max_segs 2", "gso_segments after the loads: asked for"),
    "datagrams beside the load": _at_front(
        f'{sys.executable} -I -c "{_DATAGRAMS}"', "bytes that the link carried from the front during the loads: asked"
    ),
    "a second connection": _at_link(
        f'{sys.executable} -I -c "{_CONNECTION}"', "bytes that the link carried from the front during the loads: asked"
    ),
    "half the rate": _at_link(
        f"{_SHAPED} 2: handle 3: netem limit 25 rate 512000bit", "the link after the loads, rate in bit/s: asked for"
    ),
    "half the rate for a while": _at_link(
        f"{_SHAPED} 2: handle 3: netem limit 25 rate 512000bit; sleep 4;"
        f" {_SHAPED} 2: handle 3: netem limit 25 rate 1024000bit",
        "rate of arrival while packets waited: asked for that of the link, within 3%, observed -",
    ),
    "another delay": _at_link(
        f"{_SHAPED} 1: handle 2: netem limit 1000000 delay 100ms", "the link after the loads, delay down in ns: asked"
    ),
    "loss": _at_link(
        f"{_SHAPED} 1: handle 2: netem limit 1000000 delay 300ms loss 1%", "the link after the loads, loss down: asked"
    ),
    "another queue": _at_link(
        f"{_SHAPED} 2: handle 3: netem limit 100 rate 1024000bit", "the link after the loads, queue in packets: asked"
    ),
    "a smaller page": _served("307200", "60000", "payload of the image in load 1: asked for 307200 bytes"),
    "no delay": _served("200000000", "0", "how long the origin held the script in load 1 back: asked for 200.0"),
    "a longer delay": _served("200000000", "400000000", "how long the origin held the script in load 1 back: asked"),
    "the origin's clock ahead": _skewed(
        "now + 300000000n", "from the origin's response, the page in load 1, to the client"
    ),
    "the origin's clock behind": _skewed(
        "now - 300000000n", "the origin's time of a request for the page: asked for within the loads"
    ),
    "the origin's clock at half speed": _skewed(
        "began + (now - began) / 2n", "the origin's time of a request for the page: asked for within the loads"
    ),
}


def _stand_in(lie: Lie, folder: Path) -> None:
    real = shutil.which(lie.program, path="/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin") or lie.program
    file = folder / lie.program
    file.write_text(f'#!/bin/sh\nif {lie.where}; then\n{lie.does}\nfi\nexec {real} "$@"\n')
    file.chmod(0o755)
    if "clock.cjs" in lie.does:
        (folder / "clock.cjs").write_text(lie.does.partition(": '")[2].removesuffix("'"))


@pytest.mark.usefixtures("guest")
@pytest.mark.parametrize("name", LIES)
def test_a_lie_makes_the_run_invalid(name: str, lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what was asked, and what was seen."""
    programs = tmp_path / "programs"
    programs.mkdir()
    _stand_in(LIES[name], programs)
    monkeypatch.setenv("PATH", f"{programs}:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    done = lab.run_unseen("FABRIC=virtual", *_LOAD)
    assert done.code == 1
    assert done.summary is not None
    (arm,) = done.summary["arms"]
    assert (arm["status"], arm["verdict"]) == ("invalid", None)
    assert arm["reason"].startswith(LIES[name].seen)


CLOCKS = {
    "ahead": ("now + 300_000_000", "the origin's time of a request for the page: asked for within the loads"),
    "behind": (
        "now - 300_000_000",
        "from the origin's response, the page in load 1, to the client: asked for at least",
    ),
    "half speed": (
        "began + (now - began) // 2",
        "from the origin's response, the page in load 1, to the client: asked",
    ),
}


@pytest.mark.usefixtures("netns")
@pytest.mark.parametrize("name", CLOCKS)
def test_a_client_whose_clock_is_another(name: str, lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a real clock, where the client is a program of its own."""
    clock, seen = CLOCKS[name]
    (tmp_path / "sitecustomize.py").write_text(
        "import sys, time\n"
        "if sys.orig_argv[2:4] == ['-m', 'client']:\n"
        "    real, began = time.monotonic_ns, time.monotonic_ns()\n"
        "    def monotonic_ns():\n"
        "        now = real()\n"
        f"        return {clock}\n"
        "    time.monotonic_ns = monotonic_ns\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = lab.run_unseen("FABRIC=netns", "SHAPER=ferry", "LOWAT=16384", "CONTROL=no", "RELOADS=0", "SIZE=50K")
    assert done.summary is not None
    (arm,) = done.summary["arms"]
    assert (arm["status"], arm["verdict"]) == ("invalid", None)
    assert arm["reason"].startswith(seen) or arm["reason"].startswith("how late ")
