"""The words of `priolab sandbox`: knobs, options, and the client's command."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from priolab.common.errors import LabError, ScenarioError, Unavailable
from priolab.experiments import cli
from priolab.testbed.guest import kernel
from priolab.testbed.sandbox import command, knobs, session
from priolab.testbed.sandbox.keystrokes import Size
from priolab.testbed.sandbox.outcome import Ending, Outcome, exit_code_of
from priolab.testbed.sandbox.output_log import OutputFrame
from priolab.testbed.sandbox.sandbox import Sandbox
from priolab.testbed.sandbox.session import RunRequest, environment_of
from priolab.testbed.sandbox.spec import ENVIRONMENT, SandboxSpec

_PHONE = ("--place", "phone", "call")  # the older name of --host
_FIFTEEN = [word for number in range(15) for word in ("--host", f"p{number}", "")]


def request(monkeypatch: pytest.MonkeyPatch, *words: str) -> RunRequest:
    """Return what a command line asks for, without standard input."""
    line = ["sandbox", *words]
    monkeypatch.setattr("sys.stdin", None)
    return command.request_of(cli.options_from(cli.command_line(line), line))


def test_a_knob_that_is_not_given_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without knobs there is no link to speak of, and the server's TCP is the kernel's."""
    way = request(monkeypatch, "--", "true").spec.way
    assert not way.link.shaped
    assert (way.server.lowat_bytes, way.server.sndbuf_bytes, way.server.gso_segments) == (None, None, None)


def test_a_knob_that_is_given_twice(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Of two values of a knob the last one counts, and a note names the other one."""

    def end(asked: RunRequest) -> None:
        assert asked.spec.knobs["DELAY"] == "2ms"
        raise Unavailable("guest", "none", "one")

    monkeypatch.setattr(session, "usable", end)
    assert cli.main(["sandbox", "DELAY=1ms", "phone.RATE=1mbit", "DELAY=2ms", "--host", "phone", "", "--", "true"]) == 1
    noted = [line for line in capfd.readouterr().err.splitlines() if line.startswith("note: ")]
    assert noted == ["note: DELAY=1ms has no effect, because DELAY=2ms comes after it"]


def test_the_clients_command_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever follows two dashes is the client's, also words that look like options and knobs."""
    asked = request(
        monkeypatch, "RATE=10mbit", "--server", "a 'b c'", "DELAY=1s", "--", "x", "--server", "--", "RATE=1mbit"
    )
    assert asked.spec.client == ("x", "--server", "--", "RATE=1mbit")
    assert asked.spec.server == ("a", "b c")
    assert asked.spec.way.link.rate_bit_s == 10**7
    assert asked.spec.way.link.delay_ns == 10**9


def test_further_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hosts have numbers and addresses in the order in which they are given, and knobs of their links."""
    asked = request(
        monkeypatch,
        *("RATE=1mbit", "server.QUEUE=7", "phone.DELAY=80ms", "--server", "serve", "--host", "phone", "call 'a b'"),
        *("--host", "empty", "", "--wait-port", "80", "--wait-port", "phone:any", "--set", "empty.net.core.x=1"),
        *("--", "true"),
    ).spec
    assert asked.addresses == {
        "client": "198.18.0.2",
        "server": "198.18.1.2",
        "phone": "198.18.10.2",
        "empty": "198.18.11.2",
    }
    assert asked.companions == {"server": ("serve",), "phone": ("call", "a b")}
    assert {name: each.link.delay_ns for name, each in asked.ways.items()} == {
        "client": 0,
        "server": 0,
        "phone": 80 * 10**6,
    }
    assert asked.ways["server"].link.queue_packets == 7
    assert (asked.wait, asked.waits, asked.is_pair) == ("80", {"phone": "any"}, False)
    assert asked.sysctls == (("empty", "net.core.x", "1"),)
    assert request(monkeypatch, "--ipv6", "--", "true").spec.is_pair


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["RATE=fast", "--", "true"], "RATE=fast is not allowed; allowed: a tc rate"),
        (["SIZE=3", "--", "true"], "SIZE is not a knob; the knobs are LINK,"),
        (["delay=3ms", "--", "true"], "delay is not a knob; did you mean DELAY"),
        (["LOWAT=auto", "--", "true"], "LOWAT=auto is not allowed"),
        (["SEED=x", "--", "true"], "SEED=x is not allowed; allowed: 0 to"),
        (["modem", "--", "true"], "KNOB=modem is not allowed; allowed: NAME=VALUE"),
        (["RATE=1mbit"], "COMMAND= is not allowed; allowed: the client's command after `--`"),
        (["--server", "'", "--", "true"], "--server=' is not allowed"),
        (["--server", "", "--", "true"], "--server= is not allowed; allowed: a command"),
        (["--set", "link.net.ipv4.ip_forward=0", "--", "true"], "--set=link.net.ipv4.ip_forward=0 is not allowed"),
        (["--set", "client.kernel.pid_max=9", "--", "true"], "--set=client.kernel.pid_max=9 is not allowed"),
        (["--wait-port", "0", "--", "true"], "--wait-port=0 is not allowed; allowed: a port"),
        (["--limit", "soon", "--", "true"], "--limit=soon is not allowed"),
        (["--limit", "", "--", "true"], "--limit= is not allowed"),
        (["--limit", "-5s", "--", "true"], "--limit=-5s is not allowed; allowed: a time with a unit, from"),
        (["--at", "-5s", "heal", "--", "true"], "--at=-5s is not allowed; allowed: a time with a unit, from"),
        (["--at", "5s"], "--at: expected 2 arguments; `priolab sandbox --help` shows"),
        (["--wait-port", "9" * 5000, "--", "true"], "--wait-port=999"),
        (["--server", "a\0b", "--", "true"], "--server=a\0b is not allowed; allowed: words as a shell reads them"),
        (["--host", "phone", "''", "--", "true"], "--host='' is not allowed; allowed: words as a shell reads them"),
        (["--", "", "true"], "COMMAND=['', 'true'] is not allowed; allowed: words as a shell reads them"),
        (["--read", "", "--", "true"], "--read= is not allowed; allowed: a file or folder that is there"),
        (["--memory", "64m", "--", "true"], "--memory=64m is not allowed; allowed: a size from 128m to 64g"),
        (["--host", "Phone", "", "--", "true"], "--host=Phone is not allowed; allowed: a host name"),
        (["--host", "my.phone", "", "--", "true"], "--host=my.phone is not allowed; allowed: a host name"),
        (["--host", "server", "", "--", "true"], "--host=server is not allowed; allowed: a name of its own"),
        ([*_PHONE, *_PHONE, "--", "true"], "--host=phone is not allowed; allowed: a name of its own"),
        ([*_FIFTEEN, "--", "true"], "--host=p14 is not allowed; allowed: 16 hosts in all"),
        (["--host", "phone", "'", "--", "true"], "--host=' is not allowed; allowed: words"),
        (["phone.RATE=1mbit", "--", "true"], "phone.RATE=1mbit is not allowed; allowed: HOST.NAME=VALUE with a host"),
        (["client.RATE=1mbit", "--", "true"], "client.RATE=1mbit is not allowed"),
        ([*_PHONE, "phone.CC=bbr", "--", "true"], "phone.CC=bbr is not allowed; allowed: the knobs of a link: LINK,"),
        ([*_PHONE, "phone.rate=1mbit", "--", "true"], "phone.rate=1mbit is not allowed; allowed: RATE; the knobs of a"),
        ([*_PHONE, "phone.RATE=fast", "--", "true"], "RATE=fast is not allowed; allowed: a tc rate"),
        ([*_PHONE, "--set", "tablet.net.core.x=1", "--", "true"], "--set=tablet.net.core.x=1 is not allowed"),
        ([*_PHONE, "--wait-port", "phone:0", "--", "true"], "--wait-port=phone:0 is not allowed; allowed: a port"),
        (["--wait-port", "phone:80", "--", "true"], "--wait-port=phone:80 is not allowed; allowed: a port"),
        (["--env", "PRIOLAB_UNSET", "--", "true"], "--env=PRIOLAB_UNSET is not allowed"),
        (["--at", "5s", "kill server", "--", "true"], "--at=5s kill server is not allowed; allowed: a host with a pro"),
        (["--limit", "3s", "--at", "5s", "LOSS=1%", "--", "true"], "--at=5s LOSS=1% is not allowed; allowed: times"),
        (["nosuch.toml"], "FILE=nosuch.toml is not allowed; allowed: a readable TOML file (No such file or directory)"),
        (["a.toml", "b.toml"], "FILE=a.toml b.toml is not allowed; allowed: one file"),
    ],
)
def test_what_is_refused(monkeypatch: pytest.MonkeyPatch, words: list[str], said: str) -> None:
    """A wrong word is refused by a line with what is allowed."""
    with pytest.raises(ScenarioError) as error:
        _ = request(monkeypatch, *words).spec.ways
    assert str(error.value).startswith(said)
    assert "\n" not in str(error.value)


def test_a_schedule_gives_a_link_to_a_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host whose link changes has one from the beginning; one whose link keeps its values has none."""
    asked = request(monkeypatch, "--host", "phone", "", "--at", "1s", "phone.LOSS=5%", "--", "true").spec
    assert [*asked.links] == ["phone"]
    assert asked.schedule == ((10**9, "phone.LOSS=5%"),)
    assert not asked.links_over_time.first["phone"].shaped
    assert request(monkeypatch, "--at", "1s", "server.LOSS=0%", "--", "true").spec.is_pair


def test_a_client_with_a_terminal_does_not_start_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its terminal is that of one client; others may start anew."""
    spec = replace(request(monkeypatch, "--server", "serve", "--", "bash").spec, terminal=Size(24, 80))
    assert spec.scheduled([("1s", "restart server")], {}).schedule
    with pytest.raises(ScenarioError, match="1s restart client is not allowed; allowed: restart of another host"):
        spec.scheduled([("1s", "restart client")], {})


_FILE = """
schedule = [["5s", "phone.LOSS=100%"]]
expect = ["client prints done"]
wait-port = ["phone:any"]
limit = "60s"
[client]
command = "talk 'a b'"
DELAY = "40ms"
LOSS = "1%"
[server]
command = "serve"
QUEUE = 50
[hosts.phone]
command = "call"
RATE = "1mbit"
"""


def test_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file says what words and options would; those of the command come after it."""
    file = tmp_path / "storm.toml"
    file.write_text(_FILE)
    asked = request(monkeypatch, str(file), "LOSS=2%", "--at", "8s", "heal phone", "--limit", "9s")
    words = ("DELAY=40ms", "LOSS=2%", "server.QUEUE=50", "phone.RATE=1mbit", "--server", "serve", "--host", "phone")
    at = ("--at", "5s", "phone.LOSS=100%", "--at", "8s", "heal phone", "--limit", "9s", "--wait-port", "phone:any")
    assert asked == request(monkeypatch, *words, "call", *at, "--", "talk", "a b")
    assert request(monkeypatch, str(file), "--", "other").spec.client == ("other",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x =", "FILE={file} is not allowed; allowed: a readable TOML file (Invalid value"),
        ("", "{file}: client=nothing is not allowed; allowed: a table of command and knobs"),
        ("client = 1", "{file}: client=1 is not allowed; allowed: a table of command and knobs"),
        ("[client]\n[serve]", "{file}=serve is not allowed; allowed: the keys client, server, hosts, schedule,"),
        ("schedule = [['5s']]\n[client]", "{file}: schedule 1=['5s'] is not allowed; allowed: a time and an event"),
        ("scheduler = 'x'\n[client]", "{file}: scheduler=x is not allowed; allowed: "),
        ("[client]\nDELAY = '1s'", "COMMAND= is not allowed; allowed: the client's command after `--`"),
        ("[client]\ncommand = 'x'\nDELY = 1", "DELY is not a knob; did you mean DELAY"),
        ("schedule = [['5s', 'up it']]\n[client]\ncommand = 'x'", "--at=5s up it is not allowed; allowed: the hosts"),
    ],
)
def test_files_that_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, said: str) -> None:
    """A line says which key has which value, and what is allowed."""
    file = tmp_path / "storm.toml"
    file.write_text(text)
    with pytest.raises(ScenarioError) as error:
        request(monkeypatch, str(file))
    assert str(error.value).startswith(said.format(file=file))
    assert "\n" not in str(error.value)


def test_what_needs_a_guest(monkeypatch: pytest.MonkeyPatch) -> None:
    """An overlay needs a kernel that has it, and a guest's memory a guest."""
    monkeypatch.setattr(kernel, "offers", lambda _: False)
    scratch, memory = (request(monkeypatch, *words, "--", "true") for words in (["--scratch"], ["--memory", "1g"]))
    with pytest.raises(Unavailable, match="--scratch cannot be used here: the guest kernel has no overlayfs; run "):
        session._completed(scratch, "virtual")
    for each, said in ((scratch, "--scratch= is not allowed"), (memory, "--memory= is not allowed")):
        with pytest.raises(ScenarioError, match=said):
            session._completed(each, "netns")


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs get the fixed variables, and those that are named."""
    monkeypatch.setenv("MINE", "1")
    assert environment_of(["MINE", "A=b=c", "LANG=C"], ENVIRONMENT) == {
        **ENVIRONMENT,
        "MINE": "1",
        "A": "b=c",
        "LANG": "C",
    }


def test_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a terminal the client has one of its size and kind, and no limit on this machine's clock but one that is set.

    With --both there is none, as each line has its host.
    """
    assert request(monkeypatch, "--", "bash").spec.terminal is None
    monkeypatch.setattr("priolab.testbed.sandbox.terminal.is_here", lambda: True)
    monkeypatch.setattr("priolab.testbed.sandbox.terminal.window", lambda: Size(rows=24, columns=80))
    monkeypatch.setenv("TERM", "vt100")
    asked = request(monkeypatch, "--", "bash")
    assert asked.spec.terminal == Size(rows=24, columns=80)
    assert asked.spec.environment == {**ENVIRONMENT, "TERM": "vt100"}
    assert asked.wall_limit_s == math.inf
    assert request(monkeypatch, "--wall-limit", "5s", "--env", "TERM=dumb", "--", "bash").wall_limit_s == 5.0
    assert request(monkeypatch, "--both", "--", "bash").spec.terminal is None


def test_every_knob_has_a_default() -> None:
    """Each knob of a sandbox has a default."""
    for name in knobs.ALLOWED:
        assert knobs.default(name)


@pytest.mark.parametrize(
    ("ending", "code", "expected"),
    [
        (Ending.ENDED, 0, 0),
        (Ending.ENDED, 7, 7),
        (Ending.ENDED, -9, 137),
        (Ending.LIMIT, None, 124),
        (Ending.WALL_LIMIT, None, 125),
        (Ending.SERVER, None, 123),
        (Ending.NOT_FOUND, None, 127),
        (Ending.NOT_STARTED, None, 126),
        (Ending.FAILED, None, 1),
    ],
)
def test_exit_codes(ending: Ending, code: int | None, expected: int) -> None:
    """The exit code is the client's, or says why the client has not ended."""
    assert exit_code_of(Outcome(ending=ending, code=code)) == expected


def test_an_order_is_read_as_it_was_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A guest reads the spec from its folder."""
    from priolab.testbed.sandbox.spec import Files

    further = ("--ipv6", "--host", "phone", "call me", "phone.LOSS=1%", "--wait-port", "phone:80")
    spec = request(
        monkeypatch, "RATE=1mbit", *further, "--set", "client.net.ipv4.tcp_sack=0", "--server", "s", "--", "c"
    ).spec
    spec.write(Files(tmp_path / "spec"))
    assert SandboxSpec.read(Files(tmp_path / "spec")) == spec


def test_what_hosts_write_is_marked(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """With further hosts the lines beside the client's have their hosts, on the screen and in the server's file."""
    frames = [
        OutputFrame(at_ns=1, place="server", stream="out", data=b"re"),
        OutputFrame(at_ns=2, place="phone", stream="out", data=b"ring\n"),
        OutputFrame(at_ns=3, place="client", stream="out", data=b"hello\n"),
        OutputFrame(at_ns=4, place="server", stream="out", data=b"ady"),
    ]
    written = {}
    for both, marked in ((False, False), (False, True), (True, False), (True, True)):
        output = command._Output(both=both, marked=marked)
        output.hear(frames)
        output.end()
        written[both, marked] = capsysbinary.readouterr().out, b"".join(output.servers)
    every = b"phone| ring\nclient| hello\nserver| ready\n"
    assert written == {
        (False, False): (b"hello\n", b"ready"),
        (False, True): (b"hello\n", b"phone| ring\nserver| ready\n"),
        (True, False): (every, b"ready"),
        (True, True): (every, b"phone| ring\nserver| ready\n"),
    }


def test_a_sandbox_of_python_says_what_to_do() -> None:
    """Without `with`, and for a parameter of another name or another call, the error names what is right."""
    with pytest.raises(LabError, match=r"^sandbox: run\(\) needs `with`: with Sandbox\(\.\.\.\) as sandbox: "):
        Sandbox(server="true").run("true")
    with pytest.raises(LabError, match=r"^Sandbox\(limit=\.\.\.\): the parameter is limit_s of Sandbox\(\), in "):
        Sandbox(limit=5)
    with pytest.raises(LabError, match=r"^Sandbox\(samples=\.\.\.\): the parameter is samples of run\(\)$"):
        Sandbox(samples="file")
    with pytest.raises(LabError, match=r"^Sandbox\(capture=\.\.\.\): .*a file is the parameter capture of run\(\)$"):
        Sandbox(capture="packets")  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["5s", "1..2s", "2s..1s", "1s..1s", "..", "x..y"])
def test_the_range_of_a_timeline(text: str) -> None:
    """A range has two times, the earlier first, and is for a timeline."""
    assert command._between(None, None) == (None, None)
    assert command._between("1.5s..2s", Path("t.svg")) == (1.5, 2.0)
    with pytest.raises(ScenarioError, match=r"^--between="):
        command._between("1s..2s", None)
    with pytest.raises(ScenarioError, match=r"^--between="):
        command._between(text, Path("t.svg"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"scheduler": "fair"}, "scheduler=fair is not allowed; allowed: fifo, default"),
        ({"wait": "soon"}, "wait=soon is not allowed; allowed: a port from 1 to 65535, any or none"),
        ({"wait": 0}, "wait=0 is not allowed"),
        ({"sysctls": [("client", "kernel.pid_max", 9)]}, "sysctls=client.kernel.pid_max=9 is not allowed"),
        ({"limit_s": math.nan}, "limit_s=nan is not allowed; allowed: 0.001 to 1e+06 seconds"),
        ({"wall_limit_s": "5s"}, "wall_limit_s=5s is not allowed"),
        ({"folder": Path("/nosuch")}, "folder=/nosuch is not allowed; allowed: a folder that is there"),
        ({"env": {"A=B": "c"}}, "env=A=B=c is not allowed"),
        ({"env": {"A": 3}}, "env=A=3 is not allowed"),
        ({"server": "a 'b"}, "Host=a 'b is not allowed; allowed: words as a shell reads them"),
        ({"server": ["a", 3]}, "Host=['a', 3] is not allowed; allowed: words as a shell reads them"),
        ({"memory": 512}, "--memory=512 is not allowed"),
    ],
)
def test_what_python_refuses(given: dict[str, Any], said: str) -> None:
    """A parameter is refused when the sandbox is made, before a guest begins."""
    with pytest.raises(ScenarioError) as error:
        Sandbox(**given)
    assert str(error.value).startswith(said)


@pytest.mark.parametrize(
    ("client", "given", "said"),
    [
        ("", {}, "client= is not allowed; allowed: a command"),
        ("true", {"stdin": "text"}, "stdin=text is not allowed; allowed: bytes"),
        ("true", {"interval_s": -1}, "interval_s=-1 is not allowed"),
        ("true", {"capture": "a.pcap"}, "capture=a.pcap is not allowed; allowed: a Path"),
        ("true", {"schedule": ["5s heal"]}, "schedule=5s heal is not allowed; allowed: pairs of a time and an event"),
        ("true", {"schedule": [(5, "heal")]}, "schedule=(5, 'heal') is not allowed; allowed: pairs of a time"),
    ],
)
def test_what_a_run_refuses(client: str, given: dict[str, Any], said: str) -> None:
    """A parameter of a run is refused before a guest begins."""
    with Sandbox() as sandbox, pytest.raises(ScenarioError) as error:
        sandbox.run(client, **given)
    assert str(error.value).startswith(said)
