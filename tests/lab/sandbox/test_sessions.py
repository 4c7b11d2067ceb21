"""Sessions in the guest: what a test asks happens at its time, and standing still changes nothing."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from priolab.common.descriptors import process_ids
from priolab.common.errors import ScenarioError, StepFailed, Unavailable, Unfit
from priolab.netem.units import parse_time_ns
from priolab.testbed.guest import kernel
from priolab.testbed.sandbox.net import AsyncNet, Net, NotInTime, Program
from priolab.testbed.sandbox.sandbox import Host, Result, Sandbox
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("guest")

_ECHO = """
import socket
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.bind(("", 9))
print("Ready", flush=True)
while True:
    data, whence = here.recvfrom(99)
    here.sendto(data, whence)
"""
_SEND = """
import select, socket, time
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.connect(("server", 9))
for number in range(40):
    here.send(b"%d" % number)
    due = time.monotonic() + 0.01
    while select.select([here], [], [], max(0, due - time.monotonic()))[0]:
        print(int(here.recv(99)), flush=True)
print("Done", flush=True)
"""
_LINES = "import sys\nfor line in sys.stdin: print('heard', line, end='', flush=True)\nsys.exit(7)"


def _program(text: str) -> list[str]:
    return [sys.executable, "-c", text]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """Yields three hosts, with guests that are kept."""
    with Sandbox(DELAY="20ms", hosts={"phone": ""}) as made:
        yield made


def test_programs(sandbox: Sandbox) -> None:
    """Programs start, print, get input and signals, and end; their outputs and codes are values."""
    with sandbox.session() as net:
        client = net.host("client").start(_program(_LINES), stdin=True)
        client.send("one\n")
        net.until(client.prints("heard"))
        client.send(b"two\n")
        net.until(client.prints("heard", times=2))
        assert (client.out, client.err, client.code) == ("heard one\nheard two\n", "", None)
        client.send("x" * 50_000)
        with pytest.raises(StepFailed, match=r"^session: .* of 50000 bytes [0-9]+ had room; time must go on"):
            client.send("x" * 50_000)
        client.close_stdin()
        assert client.wait() == client.code == 7
        with pytest.raises(StepFailed, match=f"^client's {Path(sys.executable).name}: it has ended with exit code 7$"):
            client.send("three\n")
        talks = net.host("phone").start("sh -c 'echo aside >&2; exec sleep 99'")
        net.until(net.host("phone").prints("aside"))
        assert (talks.out, talks.err) == ("", "aside\n")
        talks.signal("TERM")
        assert talks.wait() == -signal.SIGTERM
        with pytest.raises(StepFailed, match=r"^session: the client's program no-such-program is not found"):
            net.host("client").start("no-such-program")
        with pytest.raises(StepFailed, match="after the `with`"):
            assert net.result
        last = net.now
    assert net.result is sandbox.last
    assert net.result.seconds == last
    assert net.result.out.startswith("heard one\nheard two\nheard xxx")
    assert [each.event.split()[:2] for each in net.result.events] == [["run", "client"], ["run", "phone"]]
    with pytest.raises(StepFailed, match=r"^session: it has ended$"):
        net.advance("1s")


def test_time(sandbox: Sandbox) -> None:
    """Time goes on only when the test asks, and to the instant that it asks for."""
    with sandbox.session() as net:
        assert net.now == 0
        clock = net.host("client").start("sh -c 'while date +%s.%N; do sleep 1; done'")
        for seconds in (1.5, 3.0, 4.5):
            net.advance("1500ms")
            time.sleep(0.2)
            assert net.now == seconds
        times = [float(line) for line in clock.out.split()]
        assert [round(each - times[0], 1) for each in times] == [0, 1, 2, 3, 4]
        net.clock("+3600s")
        net.advance("1s")
        assert float(clock.out.split()[-1]) == pytest.approx(times[0] + 3605, abs=0.1)
        clock.signal("KILL")
        net.advance("80000s")
        with pytest.raises(ScenarioError, match=r"^advance=7000s is not allowed; allowed: the 6394.5 s that are left"):
            net.advance("7000s")
    with sandbox.session() as net:
        assert net.host("client").start("date +%H:%M").wait() == 0
    assert net.result.out == "00:00\n"


def test_conditions(sandbox: Sandbox) -> None:
    """A test waits for a socket, for silence, and for ends; what does not come is an error with the last lines."""
    with sandbox.session() as net:
        server = net.host("server").start(["sh", "-c", 'sleep 2; echo up; exec "$0" -c "$1"', *_program(_ECHO)[::2]])
        net.until(net.host("server").listens(9))
        assert net.now == pytest.approx(2, abs=0.2)
        client = net.host("client").start(_program(_SEND))
        net.until(net.quiet)
        assert net.now == pytest.approx(2 + 0.4 + 0.02 + 1.02, abs=0.3)
        assert client.code == 0
        net.until(client.ends)
        now = net.now
        net.until(net.quiet_for("7s"))
        assert net.now == pytest.approx(now + 7)
        with pytest.raises(NotInTime) as late:
            net.until(server.prints("nothing"), "3s")
        assert str(late.value).splitlines() == [
            f"server's sh prints 'nothing': not within 3s, at {net.now:.9f}".rstrip("0") + " s; the last lines:",
            *("client| 37", "client| 38", "client| Done", "server| up", "server| Ready", "phone| (nothing)"),
        ]
        with pytest.raises(NotInTime, match=r" prints 'more': no more: it ended with exit code 0, at "):
            net.until(client.prints("more"))


def test_hosts_and_links(sandbox: Sandbox) -> None:
    """What a test does to hosts and links is seen by programs at once; a host's program starts anew."""
    with sandbox.session(changes=["phone.LOSS"]) as net:
        server = net.host("server").start(_program(_ECHO))
        net.until(server.prints("Ready"))

        def answers() -> int:
            client = net.host("client").start(_program(_SEND))
            client.wait()
            return client.out.count("\n") - 1

        assert answers() == 39
        net.link("client").set(LOSS="100%", DELAY="5ms")
        assert answers() == 0
        net.heal()
        net.partition("client", "server", one_way=True)
        assert answers() == 0
        net.heal("client", "server")
        net.hold("server", "client")
        assert answers() == 0
        net.release()
        net.down("server")
        assert answers() == 0
        net.up("server")
        net.stop("server")
        assert answers() == 0
        net.continue_("server")
        net.kill("server")
        assert server.wait() == -signal.SIGKILL
        net.restart("server")
        assert server.code is None
        net.until(server.prints("Ready", times=2))
        assert answers() == 39
        net.link("phone").set(LOSS="30%")
        net.kill("server", "TERM")
        assert server.wait() == -signal.SIGTERM
        with pytest.raises(ScenarioError, match=r"^session=RATE=1mbit .*; session\(changes=\['RATE'\]\) gives it one"):
            net.link("client").set(RATE="1mbit")


_SERVE = """
import socketserver
class Lines(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile: self.wfile.write(line)
socketserver.ThreadingTCPServer.allow_reuse_address = True
print("serves", flush=True)
socketserver.ThreadingTCPServer(("", 80), Lines).serve_forever()
"""
_TALK = """
import socket, time
ends = time.monotonic() + 5
while time.monotonic() < ends:
    try:
        with socket.create_connection(("server", 80), timeout=1) as end, end.makefile("rwb") as lines:
            for _ in range(20):
                lines.write(bytes(3000) + b"\\n")
                lines.flush()
                assert len(lines.readline()) == 3001, "it ends"
                time.sleep(0.05)
    except (OSError, AssertionError) as error:
        print(time.time(), error, flush=True)
        time.sleep(0.2)
"""
_EVENTS = [
    *[("0.5s", "RATE=1mbit"), ("0.5s", "LOSS=3%"), ("0.75s", "server.DELAY=50ms"), ("1s", "kill server")],
    *[("1.2s", "restart server"), ("1.55s", "stop server"), ("1.8s", "continue server"), ("2s", "clock +3600s")],
    *[("2.1s", "phone.LOSS=20%"), ("2.25s", "run phone 'sh -c \"exec sleep 1\"'"), ("2.4s", "DUPLICATE=10%")],
    *[("2.561728s", "partition client to server"), ("3s", "heal"), ("3.25s", "hold server client")],
    *[("3.45s", "release"), ("3.65s", "down phone"), ("3.8s", "up phone"), ("3.95s", "kill phone TERM")],
]
_CHANGES = ("RATE", "LOSS", "DUPLICATE", "server.DELAY", "phone.LOSS")


def test_the_same_as_a_schedule() -> None:
    """A session of a schedule's events gives its packets and outputs, to the byte, although it stands still between."""
    talk, serve = _program(_TALK), _program(_SERVE)
    hosts = {"phone": Host(talk, DELAY="10ms")}
    with Sandbox(server=serve, hosts=hosts, RATE="5mbit", DELAY="20ms", LOSS="1%", capture=True, fresh=True) as sandbox:
        with sandbox.session(changes=_CHANGES) as net:
            client, at_ns = net.host("client").start(talk), 0
            for when, event in _EVENTS:
                if (later_ns := parse_time_ns(when) - at_ns) > 0:
                    net.advance(f"{later_ns}ns")
                at_ns += later_ns
                net.happen(event)
                time.sleep(0.05)
            client.wait()
        planned = sandbox.run(talk, schedule=_EVENTS)
    steered = net.result
    assert steered.trace is not None
    assert planned.trace is not None
    assert steered.trace.hosts == planned.trace.hosts
    assert steered.trace.routers == planned.trace.routers
    assert len(planned.packets("client")) > 200
    assert steered.packets("server") == planned.packets("server")
    assert steered.events[1:] == planned.events
    assert steered.seconds == planned.seconds
    assert [(each.at_ns, each.place, each.data) for each in steered.frames] == [
        (each.at_ns, each.place, each.data) for each in planned.frames
    ]


def _steered(sandbox: Sandbox, pause_s: float) -> Result:
    with sandbox.session(LOSS="10%", capture=True) as net:
        server = net.host("server").start(_program(_ECHO))
        net.until(server.prints("Ready"))
        client = net.host("client").start(_program(_SEND))
        for delay in ("5ms", "35ms", "1ms"):
            net.advance("100ms")
            time.sleep(pause_s)
            net.link("client").set(DELAY=delay)
        client.wait()
    return net.result


def _seen(result: Result) -> object:
    """Return what a kept guest repeats: all but ports."""
    packets = result.packets("client")
    return result.frames, result.events, [(each.at_ns, each.arrived_ns, each.length, each.lost) for each in packets]


def test_stops_change_nothing(sandbox: Sandbox) -> None:
    """Time that stops, at instants or at what a program prints, is no time for programs and packets."""

    def seen(stop: Callable[[Net, Program], object]) -> object:
        with sandbox.session(LOSS_UP="10%", capture=True) as net:
            net.until(net.host("server").start(_program(_ECHO)).prints("Ready"))
            net.advance("10ms")
            client = net.host("client").start(_program(_SEND))
            stop(net, client)
            client.wait()
        return _seen(net.result)

    def at_instants(net: Net, _: Program) -> None:
        for _number in range(10):
            net.advance("13700us")

    def at_outputs(net: Net, client: Program) -> None:
        for number in (4, 8, 12):
            net.until(client.prints(f"{number}\n"))
            net.advance("1ms")

    assert seen(at_instants) == seen(at_outputs) == seen(lambda *_: None)


def test_it_repeats(sandbox: Sandbox) -> None:
    """The same calls give the same, in a new guest and in a kept one, however long the test takes between them."""
    with Sandbox(DELAY="20ms", hosts={"phone": ""}, fresh=True) as fresh:
        first = _steered(fresh, 0)
    assert _seen(_steered(sandbox, 0.3)) == _seen(_steered(sandbox, 0)) == _seen(first)
    assert len(first.packets("client")) > 50


def test_several_at_once(sandbox: Sandbox) -> None:
    """Sessions have a guest each; those that are awaited take their turns, and give the same as others."""

    async def talk(net: AsyncNet) -> None:
        server = await net.host("server").start(_program(_ECHO))
        await net.until(server.prints("Ready"))
        client = await net.host("client").start(_program(_SEND))
        await net.advance("100ms")
        await net.link("client").set(LOSS="100%")
        await net.partition("client", "phone")
        assert await client.wait() == 0

    async def whole() -> Result:
        async with sandbox.session() as net:
            await talk(net)
        return net.result

    async def both() -> tuple[Result, Result]:
        return await asyncio.gather(whole(), whole())

    async def late() -> None:
        async with sandbox.session() as net:
            naps = await net.host("client").start(_program("import time\nwhile True: time.sleep(0.001)"))
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(net.until(naps.prints("nothing"), "9000s"), 0.1)
            await net.advance("1s")

    first, second = asyncio.run(both())
    assert first.frames == second.frames
    assert first.out.splitlines()[-1] == "Done"
    assert first.out.count("\n") < 12
    with pytest.raises(StepFailed, match=r"^session: a call was interrupted$"):
        asyncio.run(late())
    with sandbox.session() as one, sandbox.session() as other:
        assert [net.host("client").start("true").wait() for net in (one, other)] == [0, 0]


def test_an_error_ends_it(sandbox: Sandbox) -> None:
    """An error in the test ends the guest, and leaves nothing; what the programs wrote is there."""
    with pytest.raises(ValueError, match="of the test"), sandbox.session() as net:
        _fail(net)
    assert sandbox.last is not None
    assert sandbox.last.out == "written\n"
    assert sandbox.last.outcome.reason == "an error ended it"
    assert not net.run.files.path.exists()
    assert not [pid for pid in process_ids() if _names(pid, net.run.files.path)]
    with pytest.raises(StepFailed, match=r"^session: it has ended$"):
        net.advance("1s")


def test_after_its_sandbox() -> None:
    """A session that begins or goes on when its sandbox has ended, and a sandbox that begins twice, are refused."""
    made = Sandbox()
    with made:
        late, early = made.session(), made.session()
        net = early.__enter__()
        with pytest.raises(Unfit, match=r"^Sandbox: one `with` at a time"):
            made.__enter__()
    with pytest.raises(StepFailed, match=r"^session: its Sandbox has ended$"):
        net.advance("1s")
    with pytest.raises(StepFailed, match=r"^session: its Sandbox has ended$"):
        early.__exit__(None, None, None)
    with pytest.raises(StepFailed, match=r"^sandbox: session\(\) needs `with`"), late:
        pass


def _fail(net: Net) -> None:
    net.until(net.host("client").start("echo written").ends)
    raise ValueError("of the test")


_KILLED = """
import os
from priolab.sandbox import Sandbox
with Sandbox() as sandbox, sandbox.session() as net:
    net.host("client").start("sleep 9999")
    net.advance("1s")
    print("at work", flush=True)
    os.kill(os.getpid(), 9)
"""


def test_nothing_is_left_when_the_test_is_killed(tmp_path: Path) -> None:
    """After kill -9 the guest that stands still, its supervisor and their folders go within seconds."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", _KILLED], env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b"at work\n")
    until(lambda: not list(tmp_path.iterdir()) and not [pid for pid in process_ids() if _names(pid, tmp_path)])


def _names(pid: int, folder: Path) -> bool:
    try:
        return os.fsencode(folder) in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def test_what_is_refused(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session needs a guest that can stand still, and a sandbox that leaves the events to the test."""
    with pytest.raises(ScenarioError, match=r"^FABRIC=netns is not allowed; allowed: virtual with session\(\)"):
        sandbox.session(FABRIC="netns")
    with pytest.raises(ScenarioError, match=r"^changes=phone.SPEED is not allowed; allowed: KNOB or HOST.KNOB, with "):
        sandbox.session(changes=["phone.SPEED"])
    with Sandbox(schedule=[("1s", "heal")]) as planned, pytest.raises(ScenarioError, match="without a schedule"):
        planned.session()
    with pytest.raises(StepFailed, match="needs `with`"):
        Sandbox().session()
    monkeypatch.setattr(kernel, "can_wait", lambda: False)
    with pytest.raises(Unavailable, match=r"^session\(\) cannot be used here: this guest kernel cannot stand still"):
        sandbox.session().__enter__()


def test_a_limit_on_wall_time(sandbox: Sandbox) -> None:
    """A program that lets no time pass ends the session; what the test does between calls does not."""
    with sandbox.session() as net:
        assert net.now == 0  # so a guest waits for the next session
    with Sandbox(wall_limit_s=3) as limited, pytest.raises(StepFailed) as error:
        _spin(limited)
    assert "the calls took more than 3 s of this machine's time (--wall-limit)" in str(error.value)


def _spin(sandbox: Sandbox) -> None:
    with sandbox.session() as net:
        time.sleep(3.5)
        assert net.host("client").start("true").wait() == 0
        net.host("client").start([sys.executable, "-c", "while True: pass"])
        net.advance("1s")
