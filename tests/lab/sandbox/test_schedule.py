"""Schedules in the guest: each event and each knob is seen by packets, at the times that follow by hand.

The client sends a packet each ten milliseconds, and the server sends each back. Events happen between two packets.
"""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from priolab.common.errors import ScenarioError, StepFailed
from priolab.testbed.sandbox.sandbox import Host, Result, Sandbox

pytestmark = pytest.mark.usefixtures("guest")

_ECHO = """
import select, socket, sys, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
    if sys.argv[1] == "serve":
        end.bind(("", 80))
        print("serves", flush=True)
        while True:
            data, whence = end.recvfrom(2000)
            end.sendto(data, whence)
    packets, size = map(int, sys.argv[2:])
    begun = time.monotonic()
    for number in range(packets):
        end.sendto(b"%-*d" % (size, number), ("server", 80))
        while (left := begun + (number + 1) / 100 - time.monotonic()) > 0:
            if select.select([end], [], [], left)[0]:
                print(int(end.recv(2000)), time.monotonic() - begun, flush=True)
"""
_PACKETS = 40
_SIZE = 958  # bytes of data, so that a frame has 1000
_LATE_MS = 0.1

Schedule = list[tuple[str, str]]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with the program."""
    folder = tmp_path_factory.mktemp("here")
    (folder / "echo.py").write_text(_ECHO)
    return folder


@pytest.fixture(scope="module")
def sandbox(here: Path) -> Iterator[Sandbox]:
    """Yields a client and a server whose link does nothing."""
    with Sandbox(server=[sys.executable, "echo.py", "serve"], folder=here, fabric="virtual", seed=7) as sandbox:
        yield sandbox


def _run(sandbox: Sandbox, schedule: Schedule, **knobs: Any) -> Result:
    return sandbox.run([sys.executable, "echo.py", "talk", f"{_PACKETS}", f"{_SIZE}"], schedule=schedule, **knobs)


def _trips_ms(result: Result) -> list[tuple[int, float]]:
    """Return each packet that came back, with the time that it took."""
    lines = [line.split() for line in result.out.splitlines()]
    return [(int(number), round(1000 * float(at_s) - 10 * int(number), 3)) for number, at_s in lines]


def _expected(ms: Callable[[int], float | None]) -> dict[int, float]:
    """Return the times of the packets that come back before the client ends."""
    took = {number: ms(number) for number in range(_PACKETS)}
    return {number: each for number, each in took.items() if each is not None and 10 * (number - _PACKETS) + each < 0}


def _between(first: int, last: int, inside: float | None, outside: float) -> Callable[[int], float | None]:
    return lambda number: inside if first <= number <= last else outside


def _shorter_again(number: int) -> float:
    """A packet sent 10 ms after the delay became 5 ms waits for those that have 25 ms of delay before it."""
    return {20: 15.0, **dict.fromkeys(range(10, 20), 25.0)}.get(number, 5.0)


@pytest.mark.parametrize(
    ("knobs", "schedule", "ms"),
    [
        ({"DELAY": "5ms"}, [("95ms", "LOSS=100%"), ("195ms", "LOSS=0%")], _between(10, 19, None, 5)),
        ({}, [("95ms", "LOSS=100%"), ("195ms", "heal")], _between(10, 19, None, 0)),
        ({"DELAY": "5ms"}, [("95ms", "LOSS_UP=100%"), ("195ms", "heal client")], _between(10, 19, None, 5)),
        ({"DELAY": "5ms"}, [("95ms", "server.LOSS=100%"), ("195ms", "heal server")], _between(10, 19, None, 5)),
        ({}, [("95ms", "server.DELAY=5ms"), ("95ms", "server.DELAY_UP=2ms")], _between(10, 39, 7, 0)),
        ({}, [("95ms", "server.RATE=1mbit"), ("195ms", "server.RATE=unlimited")], _between(10, 19, 8, 0)),
        ({"DELAY": "5ms"}, [("95ms", "DELAY=25ms"), ("195ms", "DELAY=5ms")], _shorter_again),
        ({"DELAY": "5ms"}, [("95ms", "DELAY_UP=40ms")], _between(10, 39, 45, 5)),
        ({"DELAY": "5ms"}, [("95ms", "DELAY=0ms"), ("195ms", "DELAY=5ms")], _between(10, 19, 0, 5)),
        ({"RATE": "10mbit"}, [("95ms", "RATE=1mbit"), ("195ms", "RATE=10mbit")], _between(10, 19, 8, 0.8)),
        ({"RATE_UP": "10mbit"}, [("95ms", "RATE_UP=1mbit")], _between(10, 39, 8, 0.8)),
        ({}, [("95ms", "RATE=1mbit"), ("195ms", "RATE=unlimited")], _between(10, 19, 8, 0)),
        ({"RATE": "1mbit"}, [("95ms", "RATE=unlimited"), ("195ms", "heal")], _between(10, 19, 0, 8)),
        ({}, [("95ms", "LINK=1mbit/5mbit/4ms")], _between(10, 39, 8 + 1.6 + 4, 0)),
        ({}, [("95ms", "partition client server"), ("195ms", "heal")], _between(10, 19, None, 0)),
        ({}, [("95ms", "partition client to server"), ("195ms", "heal server")], _between(10, 19, None, 0)),
        ({}, [("95ms", "partition server to client"), ("195ms", "heal server client")], _between(10, 19, None, 0)),
        ({"DELAY": "15ms"}, [("95ms", "partition server client"), ("195ms", "heal")], _between(10, 19, None, 15)),
        ({"DELAY_UP": "15ms"}, [("95ms", "partition server client"), ("195ms", "heal")], _between(8, 19, None, 15)),
        ({}, [("95ms", "down server"), ("195ms", "up server")], _between(10, 19, None, 0)),
        ({}, [("95ms", "down client"), ("195ms", "up client")], _between(10, 19, None, 0)),
        ({}, [("95ms", "down client"), ("100ms", "partition client server"), ("150ms", "up client"), ("195ms", "heal")],
         _between(10, 19, None, 0)),
        ({}, [("95ms", "clock +3600s"), ("195ms", "clock -7200s")], _between(10, 19, 0, 0)),
        ({"RATE": "10mbit", "QUEUE": "30kb"}, [("95ms", "RATE=1mbit")], _between(10, 39, 8, 0.8)),
    ],
    ids=lambda value: "" if callable(value) else str(value),
)  # fmt: skip
def test_the_times_of_packets(
    sandbox: Sandbox, knobs: dict[str, str], schedule: Schedule, ms: Callable[[int], float | None]
) -> None:
    """Each packet takes the time that follows from the values at its entry, or is lost."""
    result = _run(sandbox, schedule, **knobs)
    assert dict(_trips_ms(result)) == pytest.approx(_expected(ms), abs=_LATE_MS)
    happened = [(round(1000 * each.at_ns / 10**9, 1), each.event) for each in result.events]
    assert happened == [(float(at.removesuffix("ms")), event) for at, event in schedule]


@pytest.mark.parametrize(
    ("held", "released"),
    [("client server", ""), ("client to server", " server"), ("server to client", " client server")],
)
def test_packets_that_wait(sandbox: Sandbox, held: str, released: str) -> None:
    """They go on in order when they are released, and those that follow go at once."""
    result = _run(sandbox, [("95ms", f"hold {held}"), ("195ms", f"release{released}")], DELAY="5ms", DELAY_UP="1ms")
    came = _trips_ms(result)
    expected = {
        number: 195 + 5 + (held[0] == "c") - 10 * number if 10 <= number <= 19 else 6 for number in range(_PACKETS)
    }
    assert [number for number, _ in came] == [*range(_PACKETS)]
    assert dict(came) == pytest.approx(expected, abs=0.5)


def test_packets_that_wait_often(sandbox: Sandbox) -> None:
    """No hold takes a routing table that the kernel uses: those with the numbers 252 to 255 have others in them."""
    often = [(f"{number // 2}ms", ("hold client server", "release")[number % 2]) for number in range(154)]
    result = _run(sandbox, [*often, ("95ms", "hold client server"), ("195ms", "release")], DELAY="5ms")
    late = {number: trip_ms for number, trip_ms in _trips_ms(result) if 10 <= number <= 19}
    assert late == pytest.approx({number: 200 - 10 * number for number in range(10, 20)}, abs=0.5)


def test_losses_on_a_trace(sandbox: Sandbox, here: Path) -> None:
    """A link with a trace, which the ferry shapes, takes other values than its rate."""
    trace = here / "ten.trace"
    trace.write_text("".join(f"{10 * step + 2}\n" for step in range(100)))
    schedule = [("95ms", "LOSS=100%"), ("195ms", "DUPLICATE=100%"), ("195ms", "LOSS=0%"), ("235ms", "heal")]
    counts = Counter(number for number, _ in _trips_ms(_run(sandbox, schedule, TRACE=str(trace))))
    assert counts == {number: 1 + (20 <= number < 24) for number in range(_PACKETS) if not 10 <= number < 20}


def test_a_table(sandbox: Sandbox, here: Path) -> None:
    """The link has the values of each row, and of all rows again in the next round."""
    (here / "walk.txt").write_text("time DELAY LOSS\n0s 20ms 0%\n50ms 0ms -\n100ms 40ms 100%\n150ms 20ms 0%\n")
    events = [("45ms", f"follow client {here / 'walk.txt'} 2")]
    in_round = [20.0] * 5 + [0.0] * 5 + [None] * 5
    values = [0.0] * 5 + in_round * 2 + [20.0] * 5
    expected = {number: ms for number, ms in enumerate(values) if ms is not None}
    behind = {number: 20.0 - 10 * (number - first) for first in (9, 24) for number in (first + 1,)}
    came = dict(_trips_ms(_run(sandbox, events)))
    assert came == pytest.approx(_expected({**expected, **behind}.get), abs=_LATE_MS)


def test_a_file_with_expectations(here: Path) -> None:
    """The exit code is 0 if all is as expected; a line says what is not."""
    echo = f"{sys.executable} echo.py"
    (here / "storm.toml").write_text(
        'schedule = [["95ms", "LOSS=100%"]]\nexpect = ["client prints 9 0.09", "server prints serves"]\n'
        f'[client]\ncommand = "{echo} talk 20 9"\n[server]\ncommand = "{echo} serve"\n'
    )

    def run(*more: str) -> tuple[int, list[str]]:
        words = (sys.executable, "-m", "priolab.experiments", "sandbox", "storm.toml", "FABRIC=virtual", *more)
        done = subprocess.run(words, cwd=here, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        return done.returncode, done.stderr.splitlines()

    assert run() == (0, [])
    assert run("--never", "server prints panic", "--expect", "client exits 0") == (0, [])
    said = "priolab: expected: client prints '10 0.1', but it did not"
    assert run("--expect", "client prints 10 0.1", "--report")[1][-1] == said
    assert run("--expect", "client exits 3") == (1, ["priolab: expected: the client exits 3, but it exited 0"])


def test_copies(sandbox: Sandbox) -> None:
    """DUPLICATE doubles packets on their way to the client, and DUPLICATE_UP those from it."""
    schedule = [("95ms", "DUPLICATE=100%"), ("195ms", "DUPLICATE_UP=100%"), ("295ms", "heal")]
    counts = Counter(number for number, _ in _trips_ms(_run(sandbox, schedule)))
    assert counts == {
        number: 1 if number < 10 or number > 29 else 2 if number < 20 else 4 for number in range(_PACKETS)
    }


@pytest.mark.parametrize("way", ["", "_UP"])
def test_wrong_bits(sandbox: Sandbox, way: str) -> None:
    """A kernel drops packets whose checksum is wrong; a bit of a packet that no checksum covers does no harm."""
    schedule = [("95ms", f"CORRUPT{way}=100%"), ("295ms", f"CORRUPT{way}=0%")]
    came = [number for number, _ in _trips_ms(_run(sandbox, schedule))]
    assert [number for number in came if not 10 <= number <= 29] == [*range(10), *range(30, _PACKETS)]
    assert len(came) < 25


@pytest.mark.parametrize("way", ["", "_UP"])
def test_jitter_keeps_the_order(sandbox: Sandbox, way: str) -> None:
    """While JITTER lasts, delays differ by up to it; packets stay in order, as they do when it ends."""
    schedule = [("95ms", f"JITTER{way}=15ms"), ("295ms", f"JITTER{way}=0ms")]
    came = _trips_ms(_run(sandbox, schedule, **{f"DELAY{way}": "20ms"}))
    assert [number for number, _ in came] == [*range(len(came))]
    assert {round(took, 1) for number, took in came if number < 10} == {20.0}
    assert len({took for _, took in came[10:30]}) > 10
    assert all(5 <= took <= 35.1 for _, took in came)


@pytest.mark.parametrize("way", ["", "_UP"])
def test_overtaking(sandbox: Sandbox, way: str) -> None:
    """While REORDER lasts, some packets skip the delay, and so overtake others."""
    schedule = [("95ms", f"REORDER{way}=25%"), ("295ms", f"REORDER{way}=0%")]
    came = _trips_ms(_run(sandbox, schedule, **{f"DELAY{way}": "25ms"}))
    skipped = [number for number, took in came if took < 1]
    assert skipped
    assert {*skipped} <= {*range(10, 30)}
    assert {round(took) for number, took in came if number not in skipped} == {25}


@pytest.mark.parametrize("way", ["", "_UP"])
def test_bursts_of_losses(sandbox: Sandbox, way: str) -> None:
    """With LOSS_BURST the packets that are lost follow each other."""
    schedule = [("0ms", f"LOSS{way}=50%"), ("0ms", f"LOSS_BURST{way}=8")]
    came = {number for number, _ in _trips_ms(_run(sandbox, schedule))}
    lost = [number for number in range(_PACKETS) if number not in came]
    assert 4 < len(lost) < 36
    assert sum(later == before + 1 for before, later in pairwise(lost)) > len(lost) / 2


@pytest.mark.parametrize(("queue", "held"), [("QUEUE=1", 1), ("QUEUE=3", 3), ("QUEUE=2kb", 2)])
@pytest.mark.parametrize("way", ["", "_UP"])
def test_the_queue(sandbox: Sandbox, queue: str, held: int, way: str) -> None:
    """With a packet each 10 ms, of 20 ms each, the last ones that arrive have waited in a full queue."""
    queue_before = "1514b" if queue.endswith("kb") else "2"
    knobs = {f"RATE{way}": "400kbit", f"QUEUE{way}": queue_before}
    result = _run(sandbox, [("95ms", queue.replace("=", f"{way}="))], **knobs)
    waited = [took for number, took in _trips_ms(result) if number > 25]
    assert all(10 + 20 * (held - 1) - _LATE_MS <= took <= 20 * held + _LATE_MS for took in waited)


@pytest.mark.parametrize("seed", range(6))
def test_a_drawn_schedule(sandbox: Sandbox, seed: int) -> None:
    """Of 30 drawn events between packets, every packet's fate and time follow by a model of a few lines."""
    random = Random(seed)
    state: dict[str, float] = {"DELAY": 10, "DELAY_UP": 0, "LOSS": 0, "LOSS_UP": 0, "server": 0}
    states: list[dict[str, float]] = []
    schedule: Schedule = []
    for number in range(_PACKETS):
        if number % 4 == 1:
            for at_ms in (10 * number - 4, 10 * number - 3):
                knob = random.choice([*state])
                state = {**state, knob: _drawn(random, knob, state[knob])}
                schedule.append((f"{at_ms}ms", _event(knob, state[knob])))
        states.append(state)
    result = _run(sandbox, schedule, DELAY="10ms")
    assert dict(_trips_ms(result)) == pytest.approx(_model(states), abs=_LATE_MS)
    assert [each.event for each in result.events] == [event for _, event in schedule]


def _drawn(random: Random, knob: str, before: float) -> float:
    if knob.startswith("DELAY"):
        return random.choice([each for each in (0, 10, 20, 50) if each != before])
    return 0 if before else 1


def _event(knob: str, value: float) -> str:
    if knob.startswith("DELAY"):
        return f"{knob}={value}ms"
    if knob.startswith("LOSS"):
        return f"{knob}={100 * value:g}%"
    return f"{'down' if value else 'up'} {knob}"


def _model(states: list[dict[str, float]]) -> dict[int, float]:
    """Return how long each packet takes that comes back. states: the values after the packet's time, by its number."""

    def at(time_ms: float) -> Mapping[str, float]:
        return states[min(int(time_ms // 10), _PACKETS - 1)]

    found, there_ms, back_ms = {}, 0.0, 0.0
    for number in range(_PACKETS):
        sent_ms = 10.0 * number
        if at(sent_ms)["LOSS_UP"] or at(sent_ms)["server"]:
            continue
        there_ms = max(there_ms, sent_ms + at(sent_ms)["DELAY_UP"])
        if at(there_ms)["LOSS"] or at(there_ms)["server"]:
            continue
        back_ms = max(back_ms, there_ms + at(there_ms)["DELAY"])
        if back_ms < 10 * _PACKETS:
            found[number] = back_ms - sent_ms
    return found


_BULK = """
import socket, sys, time
dual = socket.has_dualstack_ipv6()
if sys.argv[1] == "serve":
    family = socket.AF_INET6 if dual else socket.AF_INET
    connection, _ = socket.create_server(("", 80), family=family, dualstack_ipv6=dual).accept()
    while connection.recv(1):
        connection.sendall(bytes(20_000))
else:
    begun = time.monotonic()
    connection = socket.create_connection((sys.argv[2], 80))
    for number in range(4):
        connection.send(b"?")
        data = connection.recv(20_000, socket.MSG_WAITALL)
        print(len(data), round(1000 * (time.monotonic() - begun)), flush=True)
        time.sleep(max(0, begun + (number + 1) / 10 - time.monotonic()))
"""


@pytest.mark.parametrize("server", ["198.18.1.2", "2001:db8:18:1::2"])
def test_the_largest_packet(here: Path, server: str) -> None:
    """TCP sends smaller packets when it is told of the MTU; in a black hole it waits until the link heals."""
    (here / "bulk.py").write_text(_BULK)
    serve, get = [sys.executable, "bulk.py", "serve"], [sys.executable, "bulk.py", "get", server]

    def came(*schedule: tuple[str, str]) -> tuple[list[int], int]:
        """Return when the pieces were there, in ms, and the most bytes of an IP packet that arrived in the last."""
        with Sandbox(server=serve, folder=here, DELAY="5ms", ipv6=True, fabric="virtual") as sandbox:
            samples = here / "bulk.jsonl"
            result = sandbox.run(get, schedule=schedule, samples=samples).check()
        mss = [json.loads(line) for line in samples.read_text().splitlines()]
        times = [line.split() for line in result.out.splitlines()]
        assert {size for size, _ in times} == {"20000"}
        return [int(at_ms) for _, at_ms in times], min(each["mss_bytes"] for each in mss if each["place"] == "server")

    header = 52 if "." in server else 72
    assert came() == ([15, 105, 205, 305], 1500 - header)
    told = came(("150ms", "MTU=1300"))
    assert told == ([15, 105, pytest.approx(205, abs=1), 305], 1300 - header)
    silent = came(("150ms", "MTU=1300"), ("150ms", "MTU_SILENT=on"), ("250ms", "heal"))
    assert silent[0][:2] == [15, 105]
    assert silent[0][2] > 400
    assert silent[1] == 1500 - header


def test_programs(sandbox: Sandbox) -> None:
    """A server that is killed answers no more, and its next one does; one that stands still answers later."""
    schedule = [
        *[("45ms", "kill server"), ("95ms", "restart server"), ("145ms", "stop server"), ("195ms", "continue server")],
        *[("205ms", "run server 'echo once'"), ("245ms", "restart server"), ("255ms", "kill server INT")],
    ]
    ask = (
        "import socket, time\n"
        "end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); end.settimeout(0.001)\n"
        "begun = time.monotonic()\n"
        "for number in range(30):\n"
        "    end.sendto(b'%d' % number, ('server', 80))\n"
        "    time.sleep(max(0, begun + number / 100 + 0.005 - time.monotonic()))\n"
        "    try:\n"
        "        while True: print(int(end.recv(99)), flush=True)\n"
        "    except OSError: pass\n"
        "    time.sleep(max(0, begun + (number + 1) / 100 - time.monotonic()))\n"
    )
    result = sandbox.run([sys.executable, "-c", ask], schedule=schedule).check()
    assert [*map(int, result.out.split())] == [*range(5), *range(10, 26)]
    frames = [(each.at_ns // 10**6, each.data) for each in result.frames if each.place == "server" and each.at_ns]
    assert [data for _, data in frames[:3]] == [b"serves\n", b"once\n", b"serves\n"]
    assert b"KeyboardInterrupt" in b"".join(data for _, data in frames[3:])


def test_the_client_starts_anew(sandbox: Sandbox) -> None:
    """The run ends with the client that was started last; one that is killed ends it."""
    client = ["sh", "-c", "echo begins; sleep 1; echo ends"]
    again = sandbox.run(client, schedule=[("400ms", "restart client")]).check()
    assert again.out == "begins\nbegins\nends\n"
    assert again.seconds == pytest.approx(1.4, abs=0.01)
    killed = sandbox.run(client, schedule=[("500ms", "kill client")])
    assert (killed.code, killed.out) == (-9, "begins\n")
    assert killed.seconds == pytest.approx(0.5, abs=0.001)


def test_all_processes_of_a_host_end() -> None:
    """A server that started others, which left its session, is killed with them."""
    serve = "setsid sh -c 'while sleep 0.1; do echo here; done' & wait"
    with Sandbox(server=["sh", "-c", serve], wait="none", fabric="virtual") as other:
        result = other.run("sleep 1", schedule=[("450ms", "kill server")])
    assert [each.at_ns // 10**8 for each in result.frames if each.data == b"here\n"] == [0, 1, 2, 3]


def test_the_time_of_day(sandbox: Sandbox) -> None:
    """The clock jumps for all hosts, and other clocks go on."""
    client = ["sh", "-c", "sleep 1; date +%H:%M:%S; sleep 1; date +%H:%M:%S"]
    result = sandbox.run(client, schedule=[("500ms", "clock +3600s"), ("1500ms", "clock -7200s")])
    assert result.out == "01:00:01\n23:00:02\n"
    assert result.seconds == pytest.approx(2, abs=0.05)


def test_a_program_that_is_not_there(sandbox: Sandbox) -> None:
    """`run` of a program that is not found ends the sandbox with its name."""
    with pytest.raises(StepFailed, match="the server's program nosuch is not found"):
        sandbox.run("sleep 1", schedule=[("500ms", "run server nosuch")])


@pytest.mark.parametrize("ipv6", [False, True])
def test_partitions_of_three(here: Path, ipv6: bool) -> None:  # noqa: FBT001
    """A partition cuts two hosts off from each other, in both families of addresses, and no third one."""
    ask = (
        "import socket, sys\n"
        "for name, number in [('server', 4), ('phone', 4), ('phone', 6)][:int(sys.argv[1])]:\n"
        "    with socket.socket(socket.AF_INET if number == 4 else socket.AF_INET6) as end:\n"
        "        end.settimeout(0.5)\n"
        "        try: print(name, number, end.connect((name, 80)))\n"
        "        except OSError as error: print(name, number, type(error).__name__)\n"
    )
    accept = (
        "import socket, time\n"
        "dual = socket.has_dualstack_ipv6()\n"
        "family = socket.AF_INET6 if dual else socket.AF_INET\n"
        "end = socket.create_server(('', 80), family=family, dualstack_ipv6=dual)\n"
        "time.sleep(99)\n"
    )
    serve = [sys.executable, "-c", accept]
    hosts = {"phone": Host(serve, DELAY="5ms")}
    with Sandbox(server=serve, hosts=hosts, wait={"phone": 80}, ipv6=ipv6, folder=here, fabric="virtual") as sandbox:
        client = [sys.executable, "-c", ask, "3" if ipv6 else "2"]
        cut = sandbox.run(client, schedule=[("0s", "partition client phone")])
        down = sandbox.run(client, schedule=[("0s", "down phone")])
        whole = sandbox.run(client)
    lines = ["server 4 None", "phone 4 TimeoutError", "phone 6 TimeoutError"][: 3 if ipv6 else 2]
    assert cut.out.splitlines() == down.out.splitlines() == lines
    assert whole.out.splitlines() == [line.replace("TimeoutError", "None") for line in lines]


_NOTHING = [
    *[("100s", "LOSS=50%"), ("100s", "partition client server"), ("100s", "kill server"), ("10ms", "DELAY=5ms")],
    *[("20ms", word) for word in ("server.LOSS=0%", "LOSS=0%", "LOSS_BURST=none", "JITTER=0ms", "REORDER=0%")],
    *[("30ms", word) for word in ("RATE=unlimited", "QUEUE=1000", "DUPLICATE=0%", "CORRUPT=0%", "MTU=none")],
]


def test_it_repeats_and_nothing_changes_nothing(here: Path) -> None:
    """Three runs give the same packets; a schedule that is not reached, or sets what is there, gives those of none."""

    def packets(schedule: Schedule) -> bytes:
        with Sandbox(
            server=[sys.executable, "echo.py", "serve"], folder=here, DELAY="5ms", fabric="virtual", fresh=True
        ) as sandbox:
            _ = sandbox.run(
                [sys.executable, "echo.py", "talk", "20", "300"], schedule=schedule, capture=here / "it.pcapng"
            )
        return (here / "it.pcapng").read_bytes()

    storm = [("5ms", "JITTER=4ms"), ("15ms", "LOSS=30%"), ("45ms", "DUPLICATE_UP=50%"), ("95ms", "restart server")]
    assert packets(storm) == packets(storm) == packets(storm) != packets([])
    assert packets(_NOTHING) == packets([])


_STORM = [
    *[("5ms", "JITTER=4ms"), ("15ms", "LOSS=30%"), ("25ms", "MTU=576"), ("45ms", "DUPLICATE_UP=50%")],
    *[("55ms", "CORRUPT=20%"), ("95ms", "restart server"), ("105ms", "clock -3600s"), ("115ms", "heal")],
    *[("125ms", "partition client server"), ("145ms", "heal"), ("155ms", "stop server"), ("175ms", "continue server")],
]


def test_a_kept_guest_gives_the_same(here: Path) -> None:
    """Output, times, packets and counts are those of a new guest, whatever ran before."""

    def told(sandbox: Sandbox) -> tuple[object, ...]:
        result = sandbox.run(
            [sys.executable, "echo.py", "talk", "30", "900"], schedule=_STORM, DELAY="5ms", capture=True
        )
        return result.frames, result.packets("client"), result.packets("server"), result.events, result.losses

    serve = [sys.executable, "echo.py", "serve"]
    with Sandbox(server=serve, folder=here, fabric="virtual", fresh=True) as sandbox:
        new = told(sandbox)
    with Sandbox(server=serve, folder=here, fabric="virtual") as sandbox:
        assert [told(sandbox) for _ in range(3)] == [new] * 3


@pytest.mark.usefixtures("netns")
def test_on_a_real_clock(here: Path) -> None:
    """The same events on this machine's clock, which may be late; but the time of day stays this machine's."""
    schedule = [("1s", "LOSS=100%"), ("1500ms", "heal"), ("1800ms", "partition client server"), ("2300ms", "heal")]
    schedule += [("2400ms", "DELAY=100ms")]
    with Sandbox(server=[sys.executable, "echo.py", "serve"], folder=here, fabric="netns") as sandbox:
        talk = [sys.executable, "echo.py", "talk", "280", "99"]
        trips_ms = dict(_trips_ms(sandbox.run(talk, schedule=schedule)))
        again = sandbox.run("sleep 1", schedule=[("500ms", "restart client")])
        with pytest.raises(ScenarioError, match="clock= is not allowed; allowed: FABRIC=virtual alone"):
            sandbox.run("true", schedule=[("0s", "clock +1s")])
    assert again.seconds > 1.4
    assert sum(later - before > 20 for before, later in pairwise(sorted(trips_ms))) == 2
    assert min(took for number, took in trips_ms.items() if number < 100) < 50
    assert min(took for number, took in trips_ms.items() if number > 245) >= 100
