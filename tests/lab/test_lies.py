"""A part that deviates from the scenario, or reports something false, makes the run invalid, with one line.

Each lie is a program that replaces a real program, does what the real program does, and deviates in one point. The lies
of the front and the link begin seven seconds after the program, in the middle of the load, when the lab has checked the
settings. The lies of the origin and the client begin with the program. The lies in the guest are arms of one
experiment, and each deviates only in its own arm.
"""

import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.support.lab import Done, Lab
from tests.support.punctuality import was_late
from tests.support.together import together

_LOAD = ("LOWAT=16384", "RELOADS=0", "SIZE=300K", "SAMPLE=100ms")
_TRIALS = 3
_OWN_ARM = "s|.* /mnt .*/\\([^/]*\\)[.]1$|\\1|p"
"""sed's command that takes the arm's name from /proc/self/mountinfo: in the guest the run folder is mounted on /mnt."""
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
    """A replaced program. program: the real program's name. where: the shell's condition for the lab's own call.

    does: the shell's commands if the condition is true. seen: the beginning of the run's reason. knobs: its arm's.
    """

    program: str
    where: str
    does: str
    seen: str
    knobs: tuple[str, ...] = ()


def _during(program: str, where: str, does: str, seen: str) -> Lie:
    return Lie(program=program, where=where, does=f"(sleep 7; {does}) </dev/null >/dev/null 2>&1 &", seen=seen)


def _at_front(does: str, seen: str) -> Lie:
    """Returns a lie in the front's place. A call of nginx for its version is no lie."""
    return _during("nginx", 'case "$*" in *-c*) true;; *) false;; esac', does, seen)


def _in_the_handshake(does: str, restores: str, seen: str, for_s: float = 0.8) -> Lie:
    """Returns a lie of the front's place that holds from before the client connects until soon after."""
    where = 'case "$*" in *-c*) true;; *) false;; esac'
    does = f"(sleep 5.5; {does}; sleep {for_s}; {restores}) </dev/null >/dev/null 2>&1 &"
    return Lie(program="nginx", where=where, does=does, seen=seen)


def _at_link(does: str, seen: str) -> Lie:
    """Returns a lie in the link's place, where a single call of tc makes all qdiscs."""
    return _during("tc", '[ "$1" = -batch ]', does, seen)


def _origin(does: str, seen: str) -> Lie:
    """Returns a lie of the origin. A call of Node outside the origin's place, which makes images, is no lie."""
    return Lie(program="node", where='[ "${HOST#198.18.}" != "$HOST" ]', does=does, seen=seen)


def _served(was: str, becomes: str, seen: str) -> Lie:
    """Returns a lie: the origin serves another page."""
    return _origin(f"""sed 's/{was}/{becomes}/' "$PAGE" >"$ACCESS_LOG.page"; export PAGE="$ACCESS_LOG.page\"""", seen)


def _skewed(clock: str, seen: str) -> Lie:
    """Returns a lie: the origin's clock is wrong."""
    script = (
        "const real = process.hrtime.bigint.bind(process.hrtime), began = real();"
        f" process.hrtime.bigint = () => {{ const now = real(); return {clock}; }};"
    )
    return _origin(f"""echo '{script}' >"$ACCESS_LOG.cjs"; set -- --require "$ACCESS_LOG.cjs" "$@\"""", seen)


def _set(name: str, value: str) -> str:
    return f"echo {value} >/proc/sys/net/ipv4/{name}"


def _restored(deviation: str, restoration: str, seconds: int = 3) -> str:
    """Returns commands that deviate for some seconds, so that no setting shows it afterwards."""
    return f"{deviation}; sleep {seconds}; {restoration}"


_STALLS = (
    "const {ServerResponse} = require(`http`), {end} = ServerResponse.prototype;"
    " ServerResponse.prototype.end = function (body) {"
    " if (!(body?.length > 100000)) return end.call(this, body);"
    " this.write(body.subarray(0, 200000)); setTimeout(() => end.call(this, body.subarray(200000)), 3000); };"
)
_PACED = (
    "import ctypes, os, socket, time\n"
    "getfd = lambda pid, fd: ctypes.CDLL(None).syscall(438, os.pidfd_open(pid), fd, 0)\n"
    "def pace(rate):\n"
    "    for pid in map(int, os.popen('pidof nginx').read().split()):\n"
    "        for fd in map(int, os.listdir(f'/proc/{pid}/fd')):\n"
    "            try:\n"
    "                held = socket.socket(fileno=getfd(pid, fd))\n"
    "                if held.getpeername()[0] == '198.18.0.2': held.setsockopt(1, 47, rate)\n"
    "            except OSError: pass\n"
    "pace(20000); time.sleep(3); pace(2**31 - 1)"
)
"""Sets SO_MAX_PACING_RATE of the front's connection with the client for a while; 438 is pidfd_getfd(2)."""
_NO_LIMIT = _set("tcp_notsent_lowat", "4294967295")

LIES = {
    "LOWAT raised": _at_front(_NO_LIMIT, "front after the loads, net.ipv4.tcp_notsent_lowat: asked for 16384"),
    "LOWAT raised for a while": _at_front(
        f"{_NO_LIMIT}; sleep 1; {_set('tcp_notsent_lowat', '16384')}",
        "bytes unsent in the front's kernel: asked for at",
    ),
    "LOWAT lowered for a while": _at_front(
        f"{_set('tcp_notsent_lowat', '4096')}; sleep 3; {_set('tcp_notsent_lowat', '16384')}",
        "net.ipv4.tcp_notsent_lowat while the pages loaded: asked for 16384, observed 4096",
    ),
    "LOWAT set for a moment": replace(
        _in_the_handshake(
            _set("tcp_notsent_lowat", "4096"),
            _set("tcp_notsent_lowat", "4294967295"),
            "front when the connection stood, net.ipv4.tcp_notsent_lowat: asked for 4294967295, observed 4096",
            for_s=2.5,
        ),
        knobs=("LOWAT=none",),
    ),
    "no selective acknowledgments in the handshake": _in_the_handshake(
        _set("tcp_sack", "0"), _set("tcp_sack", "1"), "selective acknowledgments of the client's connection, from its"
    ),
    "a smaller first congestion window in the handshake": _in_the_handshake(
        "ip route change default via 198.18.1.1 initcwnd 2",
        "ip route change default via 198.18.1.1",
        "the congestion window of the client's connection, from its handshake: asked for from 10 to 12 segments, obs",
    ),
    "smaller packet buffers when the connection stands": _in_the_handshake(
        "ip link set dev wire gso_max_segs 2",
        "ip link set dev wire gso_max_segs 65535",
        "front when the connection stood, device wire, gso_max_segs: asked for 65535, observed 2",
        for_s=2.2,
    ),
    "a shorter queue for a while": _at_link(
        f"{_SHAPED} 2: handle 3: netem limit 3 rate 1024000bit; sleep 1;"
        f" {_SHAPED} 2: handle 3: netem limit 25 rate 1024000bit",
        "packets in the bottleneck toward the client soon after it had dropped one: asked for at least",
    ),
    "loss in the bottleneck for a moment": _at_link(
        f"{_SHAPED} 2: handle 3: netem limit 25 rate 1024000bit loss 20%; sleep 0.6;"
        f" {_SHAPED} 2: handle 3: netem limit 25 rate 1024000bit loss 0%",
        "packets in the bottleneck toward the client soon after it had dropped one: asked for at least",
    ),
    "a front that pauses": _at_front(
        "sleep 1; for i in 1 2; do kill -STOP $(pidof nginx); sleep 0.4; kill -CONT $(pidof nginx); sleep 0.01; done",
        "time for which the front had bytes that it did not hand over, although its kernel took some: asked for no",
    ),
    "a slow way to the origin while the kernel has bytes": replace(
        _at_front(
            "sleep 1.5; tc qdisc add dev to-origin root netem delay 400ms; sleep 3; tc qdisc del dev to-origin root",
            "time from the client's request for the second in load 1 to its arrival at the origin: asked for",
        ),
        knobs=(f"PAGE={Path(__file__).with_name('later.toml')}", "SIZE=716800"),
    ),
    "send buffer": _at_front(
        _set("tcp_wmem", '"4096 16384 65536"'), "front after the loads, net.ipv4.tcp_wmem: asked for"
    ),
    "segmentation": _at_front(
        "ip link set dev wire gso_max_segs 2", "front after the loads, device wire, gso_max_segs: asked for"
    ),
    "datagrams beside the load": _at_front(
        f'{sys.executable} -I -c "{_DATAGRAMS}"', "bytes that the link carried from the front during the loads: asked"
    ),
    "a second connection": _at_link(
        f'{sys.executable} -I -c "{_CONNECTION}"', "bytes that the link carried from the front during the loads: asked"
    ),
    "half the rate": _at_link(
        f"{_SHAPED} 2: handle 3: netem limit 25 rate 512000bit",
        "link after the loads, qdisc 3: of to-client, rate in bit/s: asked for 1024000, observed 512000",
    ),
    "half the rate for a while": _at_link(
        f"{_SHAPED} 2: handle 3: netem limit 25 rate 512000bit; sleep 4;"
        f" {_SHAPED} 2: handle 3: netem limit 25 rate 1024000bit",
        "rate of arrival while packets waited in the bottleneck: asked for the link's rate, within 3%, observed a "
        "deviation of -",
    ),
    "a slower delay line for a while": _at_link(
        _restored(
            f"{_SHAPED} 1: handle 2: netem limit 1000000 delay 300ms rate 900kbit",
            f"{_SHAPED} 1: handle 2: netem limit 1000000 delay 300ms rate 0",
        ),
        "arrival of the byte",
    ),
    "loss for a while": _at_link(
        _restored(
            f"{_SHAPED} 1: handle 2: netem limit 1000000 delay 300ms loss 4%",
            f"{_SHAPED} 1: handle 2: netem limit 1000000 delay 300ms loss 0%",
        ),
        "bytes that the front's kernel sent again: asked for at most",
    ),
    "a slow wire behind the front for a while": _at_front(
        _restored(
            "tc qdisc add dev wire root tbf rate 512kbit burst 3000 limit 4000000",
            "tc qdisc change dev wire root tbf rate 1gbit burst 3000 limit 4000000;"
            " sleep 1; tc qdisc del dev wire root",
        ),
        "arrival of the byte",
    ),
    "loss behind the front for a while": _at_front(
        _restored("tc qdisc add dev wire root netem loss 4%", "tc qdisc del dev wire root"),
        "bytes that the link carried from the front during the loads: asked for the",
    ),
    "late acknowledgments for a while": _at_link(
        _restored("tc qdisc add dev to-front root netem delay 50ms", "tc qdisc del dev to-front root"),
        "bytes acknowledged 1.0 ms after they had arrived at the client: asked for at least",
    ),
    "a front that stalls": _at_front(
        "sleep 1; " + _restored("kill -STOP $(pidof nginx)", "kill -CONT $(pidof nginx)"),
        "time for which the front had bytes that it did not hand over, although its kernel took some: asked for no",
    ),
    "a paced connection for a while": _at_front(
        f'{sys.executable} -I -c "{_PACED}"',
        "SO_MAX_PACING_RATE of the front's live socket (443 to 40000): asked for -1, observed 20000",
    ),
    "an origin that stalls": _origin(
        f"""echo '{_STALLS}' >"$ACCESS_LOG.cjs"; set -- --require "$ACCESS_LOG.cjs" "$@\"""",
        "time until the origin had handed over the image in load 1: asked for 0.0 ms",
    ),
    "another delay": _at_link(
        f"{_SHAPED} 1: handle 2: netem limit 1000000 delay 100ms",
        "link after the loads, qdisc 2: of to-client, delay in ns: asked for",
    ),
    "loss": _at_link(
        f"{_SHAPED} 1: handle 2: netem limit 1000000 delay 300ms loss 1%",
        "link after the loads, qdisc 2: of to-client, loss: asked for 0, observed 0.01",
    ),
    "another queue": _at_link(
        f"{_SHAPED} 2: handle 3: netem limit 100 rate 1024000bit",
        "link after the loads, qdisc 3: of to-client, limit: asked for 25, observed 100",
    ),
    "a queue in packets": replace(
        _at_link(
            f"{_SHAPED} 2: handle 3: netem limit 25 rate 1024000bit",
            "link before the loads, qdisc 3: of to-client, limit: asked for 37888 bytes, observed 25",
        ),
        knobs=("QUEUE=37kb",),
    ),
    "a queue in packets from the beginning": Lie(
        program="tc",
        where='[ "$1" = -batch ]',
        does=f"(sleep 0.1; {_SHAPED} 2: handle 3: netem limit 25 rate 1024000bit) </dev/null >/dev/null 2>&1 &",
        seen="calibration of queue_bytes: asked for 37860, observed 1500",
        knobs=("QUEUE=37kb",),
    ),
    "rate and limit of the link": _at_link(
        f"{_SHAPED} 1: handle 2: netem limit 1000000 delay 300ms rate 990kbit",
        "link after the loads, qdisc 2: of to-client, rate in bit/s: asked for 0, observed 990000",
    ),
    "a slow wire of the front": _at_front(
        "tc qdisc add dev wire root tbf rate 512kbit burst 3000 limit 4000000",
        "front after the loads, qdisc 800",
    ),
    "no selective acknowledgments": replace(
        _at_front("", "front before the loads, net.ipv4.tcp_sack: asked for 1, observed 0"),
        does=_set("tcp_sack", "0"),
    ),
    "another delay from the beginning": replace(
        _at_link("", "calibration of round_trip_ns: asked for 300"),
        does=f"(sleep 0.1; {_SHAPED} 1: handle 2: netem limit 1000000 delay 100ms) </dev/null >/dev/null 2>&1 &",
    ),
    "another discipline": replace(
        _at_link(
            "tc qdisc replace dev rate-down parent 3: handle 5: pfifo limit 24",
            "link after the loads, qdisc 4: of rate-down, kind: asked for fq_codel, observed None",
        ),
        knobs=("QDISC=fq_codel",),
    ),
    "fewer bursts": replace(
        _at_link(
            f"{_SHAPED} 1: handle 2: netem limit 1000000 delay 300ms loss gemodel 0.1% 20%",
            "link before the loads, qdisc 2: of to-client, loss model 2: asked for 0.00202",
        ),
        knobs=("LOSS=1%", "LOSS_BURST=5"),
    ),
    "VIA_LOWAT raised": replace(
        _during(
            "nginx",
            'case "$*" in *second-*) true;; *) false;; esac',
            _NO_LIMIT,
            "second front after the loads, net.ipv4.tcp_notsent_lowat: asked for 16384",
        ),
        knobs=("VIA=nginx", "VIA_LOWAT=16384"),
    ),
    "another delay between the fronts": replace(
        _during(
            "tc",
            '[ "$1" = -batch ] && ip -4 address | grep -q 198.18.5.1/',
            f"{_SHAPED} 1: handle 2: netem limit 1000000 delay 100ms",
            "link between the fronts before the loads, qdisc 2: of to-client, delay in ns: asked for 10000000",
        ),
        knobs=("VIA=nginx", "VIA_RATE=1mbps"),
    ),
    "a smaller page": _served("307200", "60000", "payload of the image in load 1: asked for 307200 bytes"),
    "no delay": _served("200000000", "0", "how long the origin held the script in load 1 back: asked for 200.0"),
    "a longer delay": _served("200000000", "400000000", "how long the origin held the script in load 1 back: asked"),
    "the origin's clock ahead": _skewed(
        "now + 300000000n", "time from the origin's response with the page in load 1 to the client"
    ),
    "the origin's clock behind": _skewed(
        "now - 300000000n", "time at which the origin received a request for the page: asked for during the page loads"
    ),
    "the origin's clock at half speed": _skewed(
        "began + (now - began) / 2n",
        "time at which the origin received a request for the page: asked for during the page loads",
    ),
}


def _arm(name: str) -> str:
    return name.replace(" ", "-").replace("'", "")


def _stand_in(program: str, lies: Path, programs: Path) -> None:
    """Writes a program that tells the lie of its arm, if the lie is told by this program, and becomes the real one."""
    real = shutil.which(program, path="/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin") or program
    file = programs / program
    lie = f"""{lies}/$(sed -n '{_OWN_ARM}' /proc/self/mountinfo).{program}"""
    file.write_text(f'#!/bin/sh\nlie="{lie}"\nif [ -e "$lie" ]; then . "$lie"; fi\nexec {real} "$@"\n')
    file.chmod(0o755)


@pytest.fixture(scope="module")
def told(guest: None, tmp_path_factory: pytest.TempPathFactory) -> Done:  # noqa: ARG001
    """Returns an experiment with an arm for each lie."""
    root = tmp_path_factory.mktemp("lies")
    programs = root / "programs"
    programs.mkdir()
    for name, lie in LIES.items():
        (root / f"{_arm(name)}.{lie.program}").write_text(f"if {lie.where}; then\n{lie.does}\nfi\n")
        _stand_in(lie.program, root, programs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{programs}:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        return together(root / "results", {_arm(name): lie.knobs for name, lie in LIES.items()}, *_LOAD)


@pytest.mark.parametrize("name", LIES)
def test_a_lie_makes_the_run_invalid(name: str, told: Done) -> None:
    """The run is invalid, and its reason begins with the setting and the value that was asked for."""
    assert told.code == 1
    assert told.summary is not None
    arm = told.arm(_arm(name))
    assert (arm["status"], arm["verdict"]) == ("invalid", None)
    assert arm["reason"].startswith(LIES[name].seen)


@pytest.mark.usefixtures("guest")
def test_smaller_packet_buffers_in_the_handshake(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit of segmentation that the device has during the handshake alone stays that of the connection."""
    limit = "ip link set dev wire gso_max_segs"
    does = f'case "$*" in *-c*) (sleep 5.5; {limit} 2; sleep 0.8; {limit} 65535) </dev/null >/dev/null 2>&1 & ;; esac'
    (tmp_path / "nginx").write_text(f'#!/bin/sh\n{does}\nexec /usr/sbin/nginx "$@"\n')
    (tmp_path / "nginx").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    done = lab.run_unseen("FABRIC=virtual", "CONTROL=no", "LOWAT=16384", "RELOADS=0")
    assert done.summary is not None, done.err
    (arm,) = done.summary["arms"]
    assert arm["status"] == "invalid"
    assert arm["reason"].startswith(
        "most bytes unsent in the front's kernel, which are more than LOWAT=16384 by a packet"
    )


@pytest.mark.usefixtures("guest")
def test_another_parameter_of_the_congestion_control(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds in all places of a guest, so this guest is of its own."""
    beta = "/sys/module/tcp_cubic/parameters/beta"
    does = f'case "$*" in *-c*) (sleep 7; echo 100 >{beta}) </dev/null >/dev/null 2>&1 & ;; esac'
    (tmp_path / "nginx").write_text(f'#!/bin/sh\n{does}\nexec /usr/sbin/nginx "$@"\n')
    (tmp_path / "nginx").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    done = lab.run_unseen("FABRIC=virtual", "CONTROL=no", *_LOAD)
    assert done.summary is not None, done.err
    (arm,) = done.summary["arms"]
    assert arm["status"] == "invalid"
    assert arm["reason"].startswith("client after the loads, module tcp_cubic, beta: asked for 717, observed 100")


CLOCKS = {
    "ahead": (
        "now + 300_000_000",
        "time at which the origin received a request for the page: asked for during the page loads",
    ),
    "behind": (
        "now - 300_000_000",
        "time from the origin's response with the page in load 1 to the client: asked for at least",
    ),
    "half speed": (
        "began + (now - began) // 2",
        "time from the origin's response with the page in load 1 to the client: asked",
    ),
}


@pytest.mark.usefixtures("netns")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "ahead" else pytest.mark.release) for name in CLOCKS]
)
def test_a_client_whose_clock_is_another(name: str, lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the client's clock is wrong, the run is invalid. In namespaces the client is a process of its own."""
    clock, seen = CLOCKS[name]
    (tmp_path / "sitecustomize.py").write_text(
        "import sys, time\n"
        "if sys.orig_argv[2:4] == ['-m', 'priolab.client']:\n"
        "    real, began = time.monotonic_ns, None\n"
        "    def monotonic_ns():\n"
        "        global began\n"
        "        now = real()\n"
        "        began = began or now  # not when the process starts, which takes long on a busy machine\n"
        f"        return {clock}\n"
        "    time.monotonic_ns = monotonic_ns\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for _ in range(_TRIALS):
        done = lab.run_here("FABRIC=netns", "SHAPER=ferry", "LOWAT=16384", "CONTROL=no", "RELOADS=0", "SIZE=50K")
        assert done.summary is not None
        (arm,) = done.summary["arms"]
        assert (arm["status"], arm["verdict"]) == ("invalid", None)
        if not was_late(arm["reason"]):  # which a busy machine is told first
            break
    assert arm["reason"].startswith(seen) or was_late(arm["reason"])
