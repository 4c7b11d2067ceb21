"""`priolab sandbox` in the guest: two programs, the link between them, their files, and how it ends."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from priolab.common.cache_folder import cache_folder
from priolab.common.descriptors import process_ids
from priolab.common.errors import LabError
from priolab.testbed.sandbox.sandbox import Sandbox
from tests.support import ordinary
from tests.support.ordinary_lab import OrdinaryLab
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("guest")

_PRIOLAB = (sys.executable, "-m", "priolab.experiments")
_SERVE = f"{sys.executable} -m http.server 80"
_GET = """
import sys, time, urllib.request
begun = time.monotonic()
data = urllib.request.urlopen("http://server/" + sys.argv[1]).read()
print(len(data), time.monotonic() - begun)
"""


class Folder:
    """A folder from which commands are given. temporary: their TMPDIR, outside of it."""

    def __init__(self, path: Path, temporary: Path) -> None:
        self.path = path
        self.temporary = temporary
        for each in (path, temporary):
            each.mkdir()
        (path / "get.py").write_text(_GET)
        (path / "data").write_bytes(bytes(500_000))

    def command(self, *words: str) -> list[str]:
        """Return the argument list of `priolab sandbox`."""
        return [*_PRIOLAB, "sandbox", *words]

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the commands."""
        return os.environ | {"TMPDIR": str(self.temporary)}

    def run(self, *words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """Run `priolab sandbox` to its end."""
        done = subprocess.run(
            self.command(*words), cwd=self.path, env=self.environment, input=stdin, capture_output=True, timeout=120
        )
        assert list(self.temporary.iterdir()) == []
        return done

    def out(self, *words: str, stdin: bytes = b"") -> str:
        """Run it, and return what the client wrote."""
        done = self.run(*words, stdin=stdin)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def spins(self, limit_s: int, *words: str) -> str:
        """Run words that do not end within this time of the machine, and return the line about it."""
        said = self.fails(125, "--wall-limit", f"{limit_s}s", "--", *words)
        assert said.startswith(f"the client did not end within {limit_s} s of this machine's time (--wall-limit)")
        return said

    def fails(self, code: int, *words: str) -> str:
        """Run it, and return its line about why it ended with this code."""
        done = self.run(*words)
        assert done.returncode == code, done.stderr.decode()
        *_, line = done.stderr.decode().splitlines()
        assert line.startswith("priolab: ")
        return line.removeprefix("priolab: ")


@pytest.fixture
def here(tmp_path: Path) -> Folder:
    """Returns a folder from which commands are given."""
    return Folder(tmp_path / "here", tmp_path / "tmp")


def _got(here: Folder, *knobs: str) -> float:
    size, took_s = here.out(*knobs, "--server", _SERVE, "--", sys.executable, "get.py", "data").split()
    assert size == "500000"
    return float(took_s)


def test_the_link_is_what_the_knobs_say(here: Folder) -> None:
    """Half a megabyte takes its time at the link's rate, and a round trip for the request; a loss takes longer."""
    fast, slow = _got(here), _got(here, "RATE=10mbit", "DELAY=20ms", "DELAY_UP=30ms")
    assert fast < 0.02
    assert 0.4 + 0.1 < slow < 0.4 * 1.06 + 0.2
    assert _got(here, "RATE=10mbit", "DELAY=20ms", "DELAY_UP=30ms", "LOSS=5%") > slow * 1.1


def test_it_repeats(here: Folder) -> None:
    """The same command gives the same output, report, samples and packets; another seed gives others."""

    def done(name: str, *knobs: str) -> tuple[bytes, ...]:
        files = [f"{name}.json", f"{name}.pcapng", f"{name}.jsonl", f"{name}.log"]
        options = [
            f"--json={files[0]}",
            f"--capture={files[1]}",
            f"--samples={files[2]}",
            f"--server-output={files[3]}",
        ]
        words = ("RATE=5mbit", "DELAY=30ms", "LOSS=2%", "JITTER=5ms", *knobs, *options, "--server", _SERVE)
        out = here.out(*words, "--", sys.executable, "get.py", "data")
        return out.encode(), *((here.path / file).read_bytes() for file in files)

    first = done("first")
    assert done("again") == first
    assert done("other", "SEED=2")[2] != first[2]
    report = json.loads(first[1])
    assert (report["ending"], report["code"], report["seeded"]) == ("ended", 0, True)
    (connection,) = report["connections"]
    assert 500_000 < connection["down_bytes"] < 501_000
    assert connection["down_retransmissions"] >= report["down"]["lost"] > 0
    assert report["longest_queue"] > 0
    places = [json.loads(line)["place"] for line in first[3].decode().splitlines()]
    assert {*places} == {"client", "server"}
    assert b"GET /data" in first[4]


@pytest.mark.needs("root")
def test_a_machine_without_a_file_of_names(here: Folder, tmp_path: Path) -> None:
    """The programs find each other by name also where there is no /etc/hosts, as in a bare Debian; none is made."""
    (layers := tmp_path / "layers").mkdir()
    script = """
mount -t tmpfs none "$0" && mkdir "$0/upper" "$0/work"
mount -t overlay none -o "lowerdir=/etc,upperdir=$0/upper,workdir=$0/work" /etc && rm /etc/hosts
"$@" && [ ! -e /etc/hosts ]
"""
    command = here.command("--server", _SERVE, "--", sys.executable, "get.py", "data")
    words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, str(layers), *command]
    done = subprocess.run(words, cwd=here.path, env=here.environment, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"500000 ")


def test_an_hour_takes_seconds(here: Folder) -> None:
    """A client that mostly waits takes no time of this machine."""
    begun_s = time.monotonic()
    assert here.out("--", "sh", "-c", "sleep 3600; date +%H:%M") == "01:00\n"
    assert time.monotonic() - begun_s < 20


def test_files(here: Folder) -> None:
    """The current folder is this machine's; /tmp, /run, /dev/shm and HOME are empty and writable; the rest is not."""
    (here.path / "sub").mkdir()
    script = """
    echo kept > sub/file; cat /tmp/* $HOME/* 2>/dev/null
    for folder in /tmp /run /dev/shm $HOME; do echo gone > $folder/file || echo $folder is not writable; done
    touch /etc/priolab-was-here 2>/dev/null && echo /etc is writable
    getent hosts client server; cat <&0; exit 3
    """
    done = here.run("--", "sh", "-c", script, stdin=b"what was typed")
    assert done.returncode == 3
    assert done.stdout.decode().split() == ["198.18.0.2", "client", "198.18.1.2", "server", "what", "was", "typed"]
    assert (here.path / "sub/file").read_text() == "kept\n"


def test_scratch(here: Folder) -> None:
    """With --scratch programs change the current folder as they like, and this machine's stays as it is."""
    script = """
    rm sub/file && echo anew > sub/file && mv sub renamed && mkdir sub && ln -s data link && cat kept large | wc -c
    echo changed >> kept && mv kept moved && ls -F && ls -l renamed/file | cut -c 1-10 && cat renamed/file moved
    """
    (here.path / "sub").mkdir()
    for name in ("sub/file", "kept"):
        (here.path / name).write_text("old\n")
    with (here.path / "large").open("wb") as large:
        large.truncate(200_000_000)
    before = sorted(path.stat().st_mtime_ns for path in here.path.rglob("*"))
    said = here.out("--scratch", "--", "sh", "-c", script).split()
    assert said[0] == "200000004"
    assert said[1:8] == ["data", "get.py", "large", "link@", "moved", "renamed/", "sub/"]
    assert said[-4:] == ["-rw-r--r--", "anew", "old", "changed"]
    assert sorted(path.stat().st_mtime_ns for path in here.path.rglob("*")) == before
    assert {path.name for path in here.path.iterdir()} == {"data", "get.py", "kept", "large", "sub"}
    with pytest.raises(LabError, match="--scratch=/ is"), Sandbox(folder=Path("/"), scratch=True) as sandbox:
        sandbox.run("true")


def test_memory(here: Folder) -> None:
    """A program that needs more memory than the guest has is ended, and the message names the remedy."""
    grow = "kept = []\nfor _ in range(150): kept.append(bytearray(b'x') * 2**20)"
    line = here.fails(137, "--memory", "128m", "--", sys.executable, "-c", grow)
    assert line == "the guest was out of memory, and its kernel ended python; --memory SIZE gives more"
    assert here.out("--memory", "256m", "--", sys.executable, "-c", grow) == ""


def test_the_environment_is_fixed(here: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs get no variables of the user's but those that are named, and sysctls as they are set."""
    monkeypatch.setenv("PASSED", "1")
    monkeypatch.setenv("UNSAID", "1")
    script = "env | sort; cat /proc/sys/net/ipv4/tcp_sack"
    options = ("--env", "PASSED", "--env", "MORE=a b", "--set", "client.net.ipv4.tcp_sack=0")
    said = here.out(*options, "--", "sh", "-c", script).splitlines()
    assert {line.partition("=")[0] for line in said[:-1]} == {"HOME", "LANG", "MORE", "PASSED", "PATH", "PWD", "TZ"}
    assert "MORE=a b" in said
    assert said[-1] == "0"


def test_a_client_that_spins_leaves_turns(here: Folder) -> None:
    """A client that asks for the time without a rest, until the server answers, gets the answer within some ticks."""
    spin = (
        "import socket, time; server = socket.create_connection(('server', 80)); server.sendall(b'GET /\\n\\n')\n"
        "server.setblocking(False); begun = time.monotonic()\n"
        "while time.monotonic() - begun < 5:\n"
        "    try: server.recv(1); break\n"
        "    except BlockingIOError: pass\n"
        "print(time.monotonic() - begun)"
    )
    assert 0.02 < float(here.out("DELAY=20ms", "--server", _SERVE, "--", sys.executable, "-c", spin)) < 0.1


def test_both_outputs(here: Folder) -> None:
    """With --both each line has its host, in the order in which the programs wrote."""
    server = "sh -c 'echo one; sleep 2; echo three; sleep 9'"
    out = here.out("--both", "--wait-port", "none", "--server", server, "--", "sh", "-c", "sleep 1; echo two; sleep 2")
    assert out.splitlines() == ["server| one", "client| two", "server| three"]


def test_endings(here: Folder) -> None:
    """Each way to end has its exit code and its line, and leaves nothing behind."""
    python = sys.executable
    assert here.run("--", "sh", "-c", "kill -9 $$").returncode == 137
    assert here.fails(127, "--", "no-such-program") == (
        "the client's program no-such-program is not found; install it, such as by `apt-get install no-such-program`,"
        " or give its path"
    )
    assert here.fails(127, "--", "./none") == "the client's program ./none is not found"
    assert here.fails(126, "--", "./data").startswith("the client's program ./data: Permission denied")
    assert here.fails(127, "--server", "nothing", "--", "true").startswith("the server's program nothing is not found;")
    ended = here.fails(123, "--server", "sh -c 'echo out of luck; exit 4'", "--", "true")
    assert ended == "the server ended with exit code 4 before it listened: out of luck"
    silent = here.fails(123, "--server", "sleep 99", "--", "true")
    assert silent.startswith("the server does not listen at any port after 30 s")
    other = here.fails(123, "--server", _SERVE, "--wait-port", "81", "--", "true")
    assert other.startswith("the server does not listen at port 81 after 30 s")
    assert here.fails(124, "--limit", "20s", "--", "sleep", "60") == "the client did not end within 20 s (--limit)"
    reads = here.fails(124, "--limit", "100ms", "--", python, "-c", "import time\nwhile True: time.time()")
    assert reads == "the client did not end within 0.1 s (--limit)"
    assert "tcp_nothing" in here.fails(1, "--set", "client.net.ipv4.tcp_nothing=1", "--", "true")


_SPINNING = {
    "python": (sys.executable, "-c", "while True: pass"),
    "dd": ("dd", "if=/dev/zero", "of=/dev/null", "bs=1M"),
    "child": ("sh", "-c", f"{sys.executable} -c 'while True: pass' & exec sleep 9999"),
}


@pytest.mark.parametrize(
    "name", ["python", *(pytest.param(name, marks=pytest.mark.release) for name in ("dd", "child"))]
)
def test_a_program_that_uses_the_processor_is_named(here: Folder, name: str) -> None:
    """--wall-limit names the program that lets no time pass, a child and one in system calls, too."""
    said = f"; {shutil.which('dd') if name == 'dd' else sys.executable} uses the processor all the time"
    words = _SPINNING[name]
    assert any(here.spins(limit_s, *words).endswith(said) for limit_s in (6, 20))  # 20: if the machine is busy


def test_no_room_for_further_processes(here: Folder) -> None:
    """A fork bomb ends at --wall-limit. The kernel alone may be at work then, so no program is named."""
    here.spins(3, "sh", "-c", "exec 2>/dev/null; bomb() { (while :; do bomb; done) & bomb; }; bomb & exec sleep 9999")


def test_nothing_is_left_when_it_is_killed(here: Folder) -> None:
    """After kill -9 the guest, its supervisor and their folders go within seconds."""
    with subprocess.Popen(
        here.command("--", sys.executable, "-c", "print('at work', flush=True)\nwhile True: pass"),
        cwd=here.path,
        env=here.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"at work\n"
        running.send_signal(signal.SIGKILL)
    until(lambda: not list(here.temporary.iterdir()) and not _of(here.temporary))


def _of(folder: Path) -> list[int]:
    """Return the processes whose command line names the folder."""
    found = []
    for pid in process_ids():
        try:
            if os.fsencode(folder) in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
        except OSError:
            continue
    return found


def test_many_folders(here: Folder) -> None:
    """The guest survives a program that reads more folders than maps of 32 KiB fit into its addresses."""
    read = "import os; print(sum(len(os.listdir()) for _ in range(20_000)))"
    assert here.out("--", sys.executable, "-c", read) == "40000\n"


def test_a_trace_and_rate_steps(here: Folder) -> None:
    """A trace is read from the current folder, and rate steps begin with the client."""
    (here.path / "my.trace").write_text("".join(f"{ms}\n" for ms in range(1, 11)))  # 12 Mbit/s
    assert 0.33 < _got(here, "TRACE=my.trace") < 0.45
    assert _got(here, "RATE=1mbit", "RATE_STEPS=100mbit@1s") == pytest.approx(1.04, abs=0.04)


@pytest.mark.usefixtures("netns")
def test_on_a_real_clock(here: Folder) -> None:
    """The same programs on this machine's clock take as long, on a machine that is not too busy."""
    words = ("RATE=10mbit", "DELAY=40ms")
    for _ in range(5):
        if _got(here, "FABRIC=netns", *words) == pytest.approx(_got(here, *words), rel=0.05):
            return
    pytest.fail("five times it took another time")


@pytest.mark.parametrize(
    "fabric", [pytest.param(each, marks=pytest.mark.needs(f"fabric-{each}")) for each in ("virtual", "netns")]
)
def test_an_ordinary_user(ordinary_lab: OrdinaryLab, fabric: str) -> None:
    """Nothing needs root, captures neither; in the guest the programs are root, and their files are the user's."""
    for file in cache_folder().glob("linux-*"):
        (ordinary_lab.cache / "priolab").mkdir(parents=True, exist_ok=True)
        shutil.copy(file, ordinary_lab.cache / "priolab")
    server = ("--server", "/usr/bin/python3 -m http.server 8000")
    words = ("sandbox", f"FABRIC={fabric}", "DELAY=10ms", "--capture", "packets.pcapng", *server, "--")
    get = "/usr/bin/python3 -c 'import urllib.request as request; request.urlopen(\"http://server:8000/made\")'"
    client = shlex.quote(f"echo x > made; {get}; id -u")
    script = f"cd {ordinary_lab.temporary} && {shlex.join(_PRIOLAB)} {shlex.join(words)} sh -c {client}"
    command = ["sh", "-c", script]
    if os.geteuid() == 0:
        command = ordinary.command(ordinary_lab.root / "stage", *command)
    done = subprocess.run(
        command, env=ordinary_lab.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
    )
    user = os.geteuid() or ordinary.NOBODY
    assert done.stdout == f"{0 if fabric == 'virtual' else user}\n", done.stderr
    assert (ordinary_lab.temporary / "made").stat().st_uid == user
    assert (ordinary_lab.temporary / "packets.pcapng").stat().st_size > 1000


def test_a_closed_output(here: Folder) -> None:
    """What the client writes to a closed standard output is an error of one line; without output there is none."""
    for words, code, said in (
        (("echo", "hi"), 1, "priolab: sandbox: standard output is closed; `>/dev/null` drops what the client writes\n"),
        (("true",), 0, ""),
    ):
        command = ["sh", "-c", 'exec "$@" >&-', "sh", *here.command("--", *words)]
        done = subprocess.run(
            command, cwd=here.path, env=here.environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        assert (done.returncode, done.stderr) == (code, said)
