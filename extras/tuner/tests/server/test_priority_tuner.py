"""Tests of priority-tuner, the tuner for servers in use: what it sets, what it says, and what it leaves behind."""

import os
import signal
import socket
import subprocess
import time
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from priolab.common.formats.decisions import DRY_RUN, Decision, Why
from priolab.common.formats.reading import read_journal
from priolab.extras.tuner.program import SERVICE, TESTED, built
from priolab.extras.tuner.tests.service import Tuner, answered, is_gone, states, tuning, verified
from tests.support.echo import have_set, lowat_of, serving, talk
from tests.support.ports import free_port
from tests.support.waiting import until

_TIMES = 100
pytestmark = pytest.mark.needs("go")

_KILLS = 5
_SOON_S = 5.0
"""Five times the second that `make tuner-kills` holds on a quiet machine."""
_IMPOSSIBLE, _WRONG = 3, 2


@pytest.fixture
def port(tmp_path: Path, group: Path) -> Iterator[int]:
    """Start an echo server in the cgroup; return its port."""
    with serving(tmp_path, group) as (_, port):
        yield port


def _connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port))


def _has_another(client: socket.socket, values: tuple[int, ...]) -> bool:
    return lowat_of(client) not in values


def _has_said(tuner: Tuner, text: str, times: int) -> bool:
    return tuner.out.read_text().count(text) == times


def _tuned(port: int) -> None:
    with _connected(port) as client:
        talk(client)
        until(lambda: lowat_of(client) > 0)


def test_its_own_tests() -> None:
    """The build checks the form of the sources, vets them, and runs the tests in Go."""
    assert "--- PASS: TestWrongConfiguration" in built().with_name(TESTED).read_text()


def test_tuning(tmp_path: Path, group: Path, port: int) -> None:
    """Connections are tuned and counted; the status has them; at the end nothing is left in the kernel."""
    log = tmp_path / "log"
    with tuning(tmp_path, "--cgroup", group, "--quiet", "--log", log) as tuner:
        held = tuner.objects()
        assert {kind for kind, _ in held} == {"prog", "map", "link"}
        with _connected(port) as client:
            talk(client)
            until(lambda: lowat_of(client) > 0)
            (state,) = states(tuner)
            assert Path(state["cgroup"]).name == group.name
            assert (state["connections_open"], state["connections_seen"], state["connections_tuned"]) == (1, 1, 1)
            assert sum(bar["connections"] for bar in state["lowat_bytes"]) == 1
            assert sum(bar["connections"] for bar in state["expected_wait_us"]) == 1
            (bar,) = state["lowat_bytes"]
            assert list(state["lowat_bytes_percentiles"]) == ["50", "90", "99"]
            assert all(bar["from"] <= value <= bar["to"] for value in state["lowat_bytes_percentiles"].values())
            assert "  percentiles, about: 50% at most " in answered("status")[1]
        until(lambda: states(tuner)[0]["connections_open"] == 0)
        (state,) = states(tuner)
        assert tuner.end() == "stopped; connections given back their previous LOWAT: 0"
    decisions = read_journal(log, Decision)
    assert len(decisions) == sum(state["decisions"].values()) > 0
    assert {decision.port for decision in decisions} == {port}
    until(lambda: is_gone(held))
    with _connected(port) as client:
        talk(client)
        assert lowat_of(client) == 0, "it is detached"


def test_a_dry_run(tmp_path: Path, group: Path, port: int) -> None:
    """A dry run counts and reports what it would set, and sets nothing. Another port is left alone."""
    for only in (port, port - 1):
        log = tmp_path / f"log-{only}"
        words = ("--cgroup", group, "--dry-run", "--quiet", "--log", log, "--port", str(only))
        with tuning(tmp_path, *words) as tuner, _connected(port) as client:
            talk(client)
            assert lowat_of(client) == 0
            tuner.end()
        assert {decision.outcome for decision in read_journal(log, Decision)} == ({DRY_RUN} if only == port else set())


def test_giving_back(tmp_path: Path, group: Path, port: int) -> None:
    """At the end a connection gets back its value: none, or the server's own."""
    with ExitStack() as stack:
        tuner = stack.enter_context(tuning(tmp_path, "--cgroup", group))
        plain, limited = (stack.enter_context(_connected(port)) for _ in range(2))
        have_set(limited, 2**29)
        for client in (plain, limited):
            talk(client)
            until(partial(_has_another, client, (0, 2**29)))
        assert tuner.end(signal.SIGINT) == "stopped; connections given back their previous LOWAT: 2"
        assert (lowat_of(plain), lowat_of(limited)) == (0, 2**29)


def test_values_that_stay(tmp_path: Path, group: Path, port: int) -> None:
    """With --no-restore, or restore = false, connections keep their values."""
    file = tmp_path / "tuner.toml"
    file.write_text("restore = false\n")
    for words in (("--no-restore",), ("--config", file)):
        with tuning(tmp_path, "--cgroup", group, *words) as tuner, _connected(port) as client:
            talk(client)
            until(lambda: lowat_of(client) > 0)
            assert tuner.end() == "stopped; connections keep their LOWAT"
            assert lowat_of(client) > 0


def test_a_new_tuner_in_the_old_ones_place(tmp_path: Path, group: Path, port: int) -> None:
    """A new tuner, as after an update of the package, does not take the old one's value for the server's."""
    log = tmp_path / "log"
    with _connected(port) as client:
        for _ in range(2):
            with tuning(tmp_path, "--cgroup", group, "--log", log) as tuner:
                with _connected(port) as another:
                    talk(another)
                talk(client)
                until(lambda: "set" in log.read_text())
                tuner.end()
            assert lowat_of(client) == 0
            assert {decision.why for decision in read_journal(log, Decision)}.isdisjoint({Why.SERVER})


def _picked(tmp_path: Path, group: Path, port: int, *words: str) -> dict[str, Any]:
    """Return the status of a tuner that has seen 100 connections, as far as it wanted to."""
    with tuning(tmp_path, "--cgroup", group, "--quiet", *words) as tuner:
        for _ in range(100):
            _connected(port).close()
        (state,) = states(tuner)
        tuner.end()
        return state


def test_which_connections(tmp_path: Path, group: Path, port: int) -> None:
    """Ports, networks of clients and exceptions tell which connections are tuned; the status names them."""
    for words, tuned, named in (
        ((f"--port={port}", "--port=1"), True, {"ports": [1, port]}),
        ((f"--except-port={port}",), False, {"except_ports": [port]}),
        (("--except-port=1",), True, {"except_ports": [1]}),
        (("--client=127.0.0.0/8",), True, {"clients": ["127.0.0.0/8"], "except_clients": []}),
        (("--client=fd00::/8",), False, {"clients": ["fd00::/8"], "except_clients": []}),
        (("--client=127.0.0.0/8", "--except-client=127.0.0.1"), False, {"except_clients": ["127.0.0.1/32"]}),
        (("--except-client=10.0.0.0/8",), True, {"except_clients": ["10.0.0.0/8"]}),
    ):
        state = _picked(tmp_path, group, port, *words)
        assert state["connections_seen"] == state["connections_tuned"] == (100 if tuned else 0), words
        assert named.items() <= state["settings"].items()


def test_a_share_of_the_connections(tmp_path: Path, group: Path, port: int) -> None:
    """About the share of the connections is tuned, and each from its beginning to its end or not at all."""
    state = _picked(tmp_path, group, port, "--share=30%")
    assert 10 <= state["connections_tuned"] <= 50
    assert state["connections_seen"] == state["connections_tuned"]
    assert state["settings"]["share"] == "30%"


def test_no_tuner() -> None:
    """Without a tuner, and only then, the status says so and its exit code is 3. Other tests may have tuners."""
    for words, none in (((), "no tuner is at work on this machine\n"), (("--json",), "[]\n")):
        code, out, errors = answered("status", *words)
        assert (code, errors) == (_IMPOSSIBLE if out == none else 0, "")


def test_the_sysctl_of_another_namespace(tmp_path: Path, group: Path) -> None:
    """No connection gets more than the sysctl of its network namespace, unless a ceiling is given.
    Only with CAP_SYS_ADMIN can the sysctl be read; the tuner says so.
    """
    name = f"priolab-{os.getpid()}"
    within = ("ip", "netns", "exec", name)
    ask = (
        "import socket,sys\n"
        "made=socket.create_connection(('127.0.0.1',int(sys.argv[1])))\n"
        "for _ in range(40):\n made.sendall(b'x'*4096); n=0\n while n<4096: n+=len(made.recv(65536))\n"
        "made.sendall(b'?'); print(made.recv(99).decode())"
    )
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        subprocess.run([*within, "ip", "link", "set", "lo", "up"], check=True)
        subprocess.run([*within, "sh", "-c", "echo 50000 >/proc/sys/net/ipv4/tcp_notsent_lowat"], check=True)
        with serving(tmp_path, group, by=within) as (_, port):
            for words, most in (((), 50_000), (("--ceiling", "70000"), 70_000)):
                with tuning(tmp_path, "--cgroup", group, *words):
                    command = [*within, "python3", "-c", ask, str(port)]
                    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                    assert 0 <= int(found) <= most
                    assert bool(int(found)) == (most == 70_000), "about the sysctl's value is no reason to set one"
            for more, warned in (((), True), (("sys_admin",), False)):
                with tuning(tmp_path, "--cgroup", group, by=_bounded(*_names(), *more)) as tuner:
                    assert ("tcp_notsent_lowat this user may not read" in tuner.out.read_text()) == warned
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


def test_a_cgroup_that_is_made_anew(tmp_path: Path, group: Path) -> None:
    """When a service starts again, its new cgroup is tuned at once, also if there was none at the beginning."""
    group.rmdir()
    with tuning(tmp_path, "--cgroup", group, "--wait", "--quiet") as tuner:
        assert tuner.out.read_text() == f"tuning no cgroup yet; target delay 50ms; waiting for {group}\n"
        for times in range(1, 4):
            group.mkdir()
            began = time.monotonic()
            until(partial(_has_said, tuner, "exists; tuning it", times))
            assert time.monotonic() - began < _SOON_S
            group.rmdir()
            until(partial(_has_said, tuner, "is gone", times))
        group.mkdir()
        until(partial(_has_said, tuner, "exists; tuning it", 4))
        with serving(tmp_path, group) as (_, port):
            _tuned(port)


@pytest.mark.release
def test_a_hundred_tuners(tmp_path: Path, group: Path, port: int) -> None:
    """A hundred tuners after one another leave no program, map or link, and no file."""
    held: set[tuple[str, int]] = set()
    for _ in range(_TIMES // 10):
        for _ in range(10):
            with tuning(tmp_path, "--cgroup", group, "--quiet") as tuner:
                held |= tuner.objects()
                tuner.end()
        _tuned_by_none(port)
    assert len(held) >= 3 * _TIMES
    until(lambda: is_gone(held))
    assert {file.name for file in tmp_path.iterdir()} == {"server.log", "tuner.out", "tuner.errors"}


def _tuned_by_none(port: int) -> None:
    with _connected(port) as client:
        talk(client)
        assert lowat_of(client) == 0


def test_kills_under_load(tmp_path: Path, group: Path, port: int) -> None:
    """No connection breaks when the tuner is killed; the next one takes over soon, and nothing is left."""
    with ExitStack() as stack:
        clients = [stack.enter_context(_connected(port)) for _ in range(20)]
        for _ in range(_KILLS):
            began = time.monotonic()
            with tuning(tmp_path, "--cgroup", group, "--quiet") as tuner:
                until(lambda: states(tuner))
                assert time.monotonic() - began < _SOON_S
                held = tuner.objects()
                clients.append(stack.enter_context(_connected(port)))
                for client in clients:
                    talk(client)
                until(lambda: lowat_of(clients[-1]) > 0)
                tuner.process.kill()
                for client in clients:
                    talk(client)
            until(partial(is_gone, held))


def test_one_tuner_at_a_time(tmp_path: Path, group: Path) -> None:
    """A second tuner is refused on the cgroup, above it and below it, but not beside it."""
    below, beside = group / "below", group.parent / f"{group.name}-beside"
    for each in (below, beside):
        each.mkdir()
    try:
        with tuning(tmp_path, "--cgroup", group):
            for cgroup, locked in ((group, group), (below, group), (group.parent, group.parent)):
                line = f"priority-tuner: another tuner is at work in cgroup {locked}; end the other tuner first\n"
                assert answered("run", "--cgroup", cgroup) == (_IMPOSSIBLE, "", line)
            (tmp_path / "beside").mkdir()
            with tuning(tmp_path / "beside", "--cgroup", beside):
                pass
    finally:
        for each in (below, beside):
            each.rmdir()


def test_a_cgroup_of_another_tuner(tmp_path: Path, group: Path) -> None:
    """A cgroup that another tuner has is left alone until it is free; the others are tuned. With that one alone, only
    --wait keeps the tuner.
    """
    other = group.parent / f"{group.name}-other"
    other.mkdir()
    alone, waits, both = (("--cgroup", group), ("--cgroup", group, "--wait"), ("--cgroup", group, "--cgroup", other))
    at_work = f"another tuner is at work in cgroup {group}; end the other tuner first\n"
    folders = iter(range(9))
    try:
        for words, tuned in ((both, str(other)), (waits, "no cgroup yet")):
            with tuning(_folder(tmp_path, folders), "--cgroup", group) as first:
                assert answered("run", *alone) == (_IMPOSSIBLE, "", f"priority-tuner: {at_work}")
                with tuning(_folder(tmp_path, folders), *words, "--quiet") as tuner:
                    left = f"cgroup {group} is left alone for now: {at_work}"
                    assert tuner.out.read_text().startswith(f"{left}tuning {tuned}; target delay 50ms\n")
                    with serving(_folder(tmp_path, folders), other) as (_, port):
                        _tuned(port) if words is both else _tuned_by_none(port)
                    first.end()
                    tuner.said(f"cgroup {group} is free; tuning it")
                    with serving(_folder(tmp_path, folders), group) as (_, port):
                        _tuned(port)
                    assert tuner.out.read_text().count("is left alone") == 1
                    tuner.end()
    finally:
        other.rmdir()


def _folder(within: Path, numbers: Iterator[int]) -> Path:
    made = within / str(next(numbers))
    made.mkdir()
    return made


def test_a_cgroup_that_another_tuner_takes_meanwhile(tmp_path: Path, group: Path) -> None:
    """If another tuner is quicker at a cgroup that is made anew, the tuner goes on with its other cgroups."""
    other = group.parent / f"{group.name}-other"
    other.mkdir()
    try:
        with tuning(_folder(tmp_path, iter([1])), "--cgroup", group, "--cgroup", other) as both:
            group.rmdir()
            both.said("is gone")
            both.stop()
            group.mkdir()
            with tuning(tmp_path, "--cgroup", group):
                both.process.send_signal(signal.SIGCONT)
                both.said(f"cgroup {group} is left alone for now")
                with serving(tmp_path, other) as (_, port):
                    _tuned(port)
            both.said(f"cgroup {group} is free; tuning it")
            both.end()
    finally:
        other.rmdir()


def test_what_is_refused(tmp_path: Path, group: Path) -> None:
    """Each error is one line, with its exit code."""
    broken, empty, low = (tmp_path / f"{name}.toml" for name in ("broken", "empty", "low"))
    broken.write_text('# settings\ncgroups = ["/a"]\nport = 0\n')
    empty.write_text("quiet = true\n")
    low.write_text('cgroups = ["/a"]\nceiling = 10\nquiet = true\n')
    too_low = "ceiling=10 is not allowed; allowed: 4096 (the floor) to 2147483647 bytes"
    wrong_port = f"{broken}, line 3: port=0 is not allowed; allowed: 1 to 65535"
    none = 'no cgroup is named; give --cgroup PATH, or cgroups = ["PATH"] in the configuration file'
    for words, code, line in (
        (("run", "--config", broken), _WRONG, wrong_port),
        (("check-config", broken), _WRONG, wrong_port),
        (("check-config", empty), _WRONG, f"{empty}: {none}"),
        (("check-config", low), _WRONG, f"{low}, line 2: {too_low}"),
        (("run", "--config", low), _WRONG, f"{low}, line 2: {too_low}"),
        (("run", "--config", low, "--ceiling", "10"), _WRONG, f"--{too_low}"),
        (("check-config", tmp_path / "no"), _WRONG, f"{tmp_path}/no cannot be read: no such file or directory"),
        (("check-config", tmp_path), _WRONG, f"{tmp_path} is not a file"),
        (("check-config", "/dev/zero"), _WRONG, "/dev/zero is not a file"),
        (("run",), _WRONG, none),
        (("tune",), _WRONG, "tune is not a command; the commands are run, status and check-config"),
        (
            ("run", "--cgroup", group / "no"),
            _IMPOSSIBLE,
            f"cgroup {group}/no does not exist; start its service, or give --wait",
        ),
        (
            ("run", "--cgroup", group, "--log", "/no/log"),
            _IMPOSSIBLE,
            "/no/log cannot be written: no such file or directory",
        ),
    ):
        assert answered(*words) == (code, "", f"priority-tuner: {line}\n")
    code, out, errors = answered("run", "--cgroup", tmp_path)
    assert (code, out) == (_IMPOSSIBLE, "")
    assert errors.startswith(f"priority-tuner: {tmp_path} is not a folder of a cgroup2 hierarchy; one is at /")


def _refused(*by: str, words: tuple[str | Path, ...]) -> tuple[int, str]:
    done = subprocess.run([*by, built(), *words], capture_output=True, text=True, timeout=20, check=False)
    return done.returncode, done.stderr


def test_without_rights(group: Path) -> None:
    """An ordinary user gets one line."""
    by = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all")
    may_not = "priority-tuner: this user may not"
    needed = "run as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON"
    assert _refused(*by, words=("run", "--cgroup", group)) == (
        _IMPOSSIBLE,
        f"{may_not} load a program into the kernel: {needed}\n",
    )
    assert _refused(*by, words=("status",)) == (
        _IMPOSSIBLE,
        f"{may_not} ask the kernel for its programs: run as root, or with CAP_SYS_ADMIN\n",
    )


def test_without_cgroup2() -> None:
    """Where no cgroup2 is mounted, the line says so."""
    by = ("unshare", "--mount", "sh", "-c", 'umount --all --types cgroup2 && exec "$@"', "-")
    assert _refused(*by, words=("run", "--cgroup", "/sys/fs/cgroup/x")) == (
        _IMPOSSIBLE,
        "priority-tuner: no cgroup2 hierarchy is mounted; mount one: mount -t cgroup2 none FOLDER\n",
    )


def _names() -> list[str]:
    """Return the unit's capabilities, as setpriv(1) names them."""
    lines = (SERVICE / "priority-tuner.service").read_text().splitlines()
    found = next(line.partition("=")[2] for line in lines if line.startswith("CapabilityBoundingSet="))
    return [name.removeprefix("CAP_").lower() for name in found.split()]


def _bounded(*names: str) -> list[str]:
    """Return the start of a command that has no other capabilities."""
    return [
        "setpriv",
        f"--bounding-set=-all,{','.join(f'+{name}' for name in names)}",
        "--inh-caps=-all",
        "--no-new-privs",
    ]


def test_the_units_capabilities(tmp_path: Path, group: Path, port: int) -> None:
    """The unit's capabilities suffice, to give values back, too. Without one of the first three nothing is tuned."""
    with tuning(tmp_path, "--cgroup", group, by=_bounded(*_names())) as tuner, _connected(port) as client:
        talk(client)
        until(lambda: lowat_of(client) > 0)
        assert tuner.end().endswith("previous LOWAT: 1")
    for lacking in ("bpf", "net_admin", "perfmon"):
        fewer = [name for name in _names() if name != lacking]
        code, line = _refused(*_bounded(*fewer), words=("run", "--cgroup", group))
        assert (code, "may not load" in line) == (_IMPOSSIBLE, True)


def test_metrics(tmp_path: Path, group: Path, port: int) -> None:
    """The file and the port have what the kernel counted, in the format that is asked for."""
    at, file = free_port(), tmp_path / "metrics.prom"
    words = ("--cgroup", group, "--metrics-file", file, "--metrics-listen", f"127.0.0.1:{at}", "--quiet")
    with tuning(tmp_path, *words) as tuner:
        for _ in range(3):
            _tuned(port)
        until(lambda: states(tuner)[0]["connections_open"] == 0)
        (state,) = states(tuner)
        plain, openly = _scraped(at), _scraped(at, "Accept: application/openmetrics-text\r\n")
        until(lambda: file.exists() and file.read_text() == plain)
        assert b"404" in _answer(at, "GET / HTTP/1.1\r\n\r\n")
        tuner.end()
    assert not file.exists()
    assert openly.endswith("# EOF\n")
    assert openly.replace("# EOF\n", "").splitlines()[-1] == plain.splitlines()[-1]
    numbers = dict(line.rsplit(" ", 1) for line in plain.splitlines() if not line.startswith("#"))
    cgroup = f'cgroup="{group}"'
    assert numbers[f"priority_tuner_connections_total{{{cgroup}}}"] == "3" == str(state["connections_seen"])
    assert numbers[f"priority_tuner_connections_open{{{cgroup}}}"] == "0"
    for why, count in state["decisions"].items():
        assert numbers[f'priority_tuner_decisions_total{{{cgroup},why="{why}"}}'] == str(count)


def _answer(port: int, request: str) -> bytes:
    with _connected(port) as asking:
        asking.sendall(request.encode())
        return b"".join(iter(lambda: asking.recv(65536), b""))


def _scraped(port: int, header: str = "") -> str:
    return _answer(port, f"GET /metrics HTTP/1.1\r\n{header}\r\n").decode().partition("\r\n\r\n")[2]


def test_settings_that_are_read_again(tmp_path: Path, group: Path, port: int) -> None:
    """SIGHUP applies a changed file, and opens the log again. A broken file changes nothing."""
    file, log = tmp_path / "tuner.toml", tmp_path / "log"

    def write(more: str) -> None:
        file.write_text(f'cgroups = ["{group}"]\nquiet = true\nlog = "{log}"\n{more}\n')

    write("dry_run = true")
    with tuning(tmp_path, "--config", file) as tuner, _connected(port) as client:
        talk(client)
        assert lowat_of(client) == 0
        write("ceiling = 5000")
        log.rename(tmp_path / "log.1")
        tuner.process.send_signal(signal.SIGHUP)
        tuner.said("read the settings again")
        with _connected(port) as another:
            talk(another)
            until(lambda: lowat_of(another) == 5000)
        until(log.read_text)
        write("port = 0")
        tuner.process.send_signal(signal.SIGHUP)
        tuner.said("port=0 is not allowed; allowed: 1 to 65535; the old settings stay")
        with _connected(port) as another:
            talk(another)
            until(lambda: lowat_of(another) == 5000)
        tuner.end()


def test_a_cgroup_less_and_one_more(tmp_path: Path, group: Path, port: int) -> None:
    """SIGHUP begins to tune a cgroup that is new in the file, and ends with one that is no longer there.
    If one does not exist, the old ones are tuned.
    """
    file, below = tmp_path / "tuner.toml", group / "below"
    below.mkdir()
    try:
        file.write_text(f'cgroups = ["{below}"]\nquiet = true\n')
        with tuning(tmp_path, "--config", file) as tuner:
            _tuned_by_none(port)
            file.write_text(f'cgroups = ["{group}"]\nquiet = true\n')
            tuner.process.send_signal(signal.SIGHUP)
            tuner.said("read the settings again")
            _tuned(port)
            file.write_text(f'cgroups = ["{below}", "{group.parent}/no"]\nquiet = true\n')
            tuner.process.send_signal(signal.SIGHUP)
            tuner.said("no does not exist; start its service, or give --wait; the old settings stay")
            _tuned(port)
            tuner.end()
    finally:
        below.rmdir()


def test_what_systemd_hears(tmp_path: Path, group: Path) -> None:
    """The service manager hears of the start, of life, of new settings and of the end; the journal gets priorities."""
    file = tmp_path / "tuner.toml"
    file.write_text(f'cgroups = ["{group}"]\n')
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(10)
        (tmp_path / "tuner.out").touch()
        out = (tmp_path / "tuner.out").stat()
        environment = {
            "NOTIFY_SOCKET": str(tmp_path / "notify"),
            "WATCHDOG_USEC": "400000",
            "JOURNAL_STREAM": f"{out.st_dev}:{out.st_ino}",
        }
        heard: list[str] = []

        def hear(text: str) -> None:
            while not any(text in line for line in heard):
                heard.extend(manager.recv(4096).decode().splitlines())

        with tuning(tmp_path, "--config", file, environment=environment) as tuner:
            hear("READY=1")
            hear("WATCHDOG=1")
            hear("STATUS=0 connections in 1 of 1 cgroups")
            heard.clear()
            tuner.process.send_signal(signal.SIGHUP)
            hear("RELOADING=1")
            hear("MONOTONIC_USEC=")
            hear("READY=1")
            assert tuner.end() == "<6>stopped; connections given back their previous LOWAT: 0"
            hear("STOPPING=1")
    assert tuner.out.read_text().startswith(f"<6>tuning {group}; target delay 50ms\n")


def test_output_that_cannot_be_written(tmp_path: Path, group: Path, port: int) -> None:
    """A full log is reported once, and once more after SIGHUP; tuning goes on. Lines about connections are printed."""
    with tuning(tmp_path, "--cgroup", group, "--log", "/dev/full") as tuner:
        for _ in range(2):
            _tuned(port)
            line = (
                "priority-tuner: /dev/full cannot be written: no space left on device; tuning continues, SIGHUP reopens"
            )
            tuner.said(line)
        assert tuner.errors.read_text().count("/dev/full") == 1
        tuner.process.send_signal(signal.SIGHUP)
        until(lambda: "read the settings again" in tuner.out.read_text())
        _tuned(port)
        until(lambda: tuner.errors.read_text().count("/dev/full") == 2)
        tuner.end()
        assert "LOWAT unset -> " in tuner.out.read_text()


def test_a_hangup(tmp_path: Path, group: Path) -> None:
    """Without a file to read again, SIGHUP ends the tuner; under nohup it does not."""
    with tuning(tmp_path, "--cgroup", group) as tuner:
        assert tuner.end(signal.SIGHUP).startswith("stopped")
    with tuning(tmp_path, "--cgroup", group, by=["nohup"]) as tuner:
        tuner.process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        assert tuner.end().startswith("stopped")


def test_the_file_of_the_package() -> None:
    """The configuration file of the package is TOML with all settings, and has no error."""
    file = SERVICE / "priority-tuner.toml"
    assert answered("check-config", file)[0] == 0
    text = file.read_text()
    whole = tomllib.loads("\n".join(line.removeprefix("#") if "# " not in line else line for line in text.splitlines()))
    options = {line.split()[0] for line in answered("--help")[1].splitlines() if line.startswith("  --")}
    keys = {f"--{key.replace('_', '-')}" for key in whole}
    assert {key.removesuffix("s") for key in keys} == {option.removesuffix("s") for option in options - {"--config"}}


def test_the_manual() -> None:
    """The man page has every option."""
    page = SERVICE / "priority-tuner.8"
    text = page.read_text().replace("\\-", "-")
    for line in answered("--help")[1].splitlines():
        if line.startswith("  --"):
            assert line.split()[0] in text


@pytest.mark.needs("groff")
def test_the_manual_is_known_to_man() -> None:
    """man(7) finds no error in the man page."""
    page = SERVICE / "priority-tuner.8"
    done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", page], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_unit(tmp_path: Path) -> None:
    """systemd finds no error in the unit."""
    unit = tmp_path / "priority-tuner.service"
    unit.write_text((SERVICE / unit.name).read_text().replace("/usr/sbin/priority-tuner", str(built())))
    verified(unit)
