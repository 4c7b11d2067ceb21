"""Walls of a sandbox: what its programs cannot reach as root of the guest. A knob that is not given does nothing."""

import itertools
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from priolab.common.cache_folder import cache_folder
from priolab.common.errors import LabError, ScenarioError
from priolab.testbed.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.usefixtures("guest")

_ATTACKS = Path(__file__).with_name("attacks.py")
_BLACK_HOLE = """
import socket, time
begun = time.monotonic()
try:
    socket.create_connection(("server", 80))
except OSError as error:
    print(time.monotonic() - begun)
"""
_MANY = """
import resource, socket
limits = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (limits[1], limits[1]))
kept = [socket.socket() for _ in range(min(limits[1] - 10, 6000))]
print(*limits, len(kept))
"""


@pytest.fixture
def outside() -> Iterator[Path]:
    """Returns a folder of this machine that a guest sees, and may not change."""
    with tempfile.TemporaryDirectory(prefix="outside-", dir=cache_folder().parent) as folder:
        path = Path(folder)
        (path / "kept").write_text("as it was\n")
        (path / "kept").chmod(0o640)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path / "socket"))
            listening.listen()
            yield path


def _state(folder: Path) -> list[tuple[object, ...]]:
    paths = [folder, *sorted(folder.iterdir())]
    states = [path.stat() for path in paths]
    content = [path.read_bytes() if path.is_file() else b"" for path in paths]
    return [
        (path, state.st_mode, state.st_uid, state.st_nlink, state.st_mtime_ns, text)
        for path, state, text in zip(paths, states, content, strict=True)
    ]


@pytest.mark.parametrize("scratch", [False, True])
def test_no_way_out(tmp_path: Path, outside: Path, *, scratch: bool) -> None:
    """No attack reaches what is hidden or changes a file outside of the folder. The guest then does further work."""
    shutil.copy(_ATTACKS, tmp_path)
    before = _state(outside)
    with Sandbox(fabric="virtual", folder=tmp_path, scratch=scratch, server="python3 -m http.server 80") as sandbox:
        tried = sandbox.run(["python3", "attacks.py", str(outside)], stdin=b"given")
        assert tried.out == "all tried\n", tried.err
        assert _state(outside) == before
        capture = tmp_path / "packets.pcapng"
        get = ["python3", "-c", "import urllib.request as r; r.urlopen('http://server/attacks.py'); print('done')"]
        assert sandbox.run(get, capture=capture).check().out == "done\n"
        assert capture.stat().st_size > 1000
        assert (sandbox.run("cat", stdin=b"given").out) == "given"
    if scratch:
        assert {path.name for path in tmp_path.iterdir()} == {"attacks.py", "packets.pcapng"}


def test_what_can_be_read(tmp_path: Path, outside: Path) -> None:
    """Programs read this machine's files; with `read` only the system's, their folder and what is named, read-only."""
    look = ["sh", "-c", f"cat {outside}/kept; ls -d {Path.home()} 2>/dev/null; echo x > {outside}/kept"]
    kept = "as it was\n"
    with Sandbox(folder=tmp_path) as sandbox:
        assert sandbox.run(look).out.startswith(kept)
    with Sandbox(folder=tmp_path, read=[tmp_path]) as sandbox:
        assert sandbox.run(look).out == ""
        assert sandbox.run(["sh", "-c", "echo made > here; cat here; ls /etc/passwd"]).out == "made\n/etc/passwd\n"
        with pytest.raises(LabError, match=r"/nothing is not found; --read PATH shows more of this machine's files$"):
            sandbox.run("/nothing")
    with Sandbox(folder=tmp_path, read=[outside]) as sandbox:
        assert sandbox.run(look).out.startswith(kept)
    assert (outside / "kept").read_text() == kept
    with Sandbox(folder=tmp_path, read=["/"]) as sandbox:
        assert sandbox.run(look).out.startswith(kept)
    for wrong in ("/proc/self", "/nothing", "/run"):
        with pytest.raises(ScenarioError, match=f"^--read={wrong} is not allowed; allowed: a file or folder that is "):
            Sandbox(read=[wrong])


def test_a_chroots_proc_is_hidden(tmp_path: Path) -> None:
    """What this machine's kernel shows of itself elsewhere is hidden, too."""
    place = tmp_path / "chroot/proc"
    place.mkdir(parents=True)
    inside = [sys.executable, "-m", "priolab.experiments", "sandbox", "--", "ls", str(place)]
    words = ["unshare", "--mount", "sh", "-c", 'mount -t proc proc "$0" && cd "$1" && shift && exec "$@"']
    if os.geteuid() != 0:
        words[1:1] = ["--user", "--map-root-user", "--pid", "--fork"]
    done = subprocess.run([*words, str(place), str(tmp_path), *inside], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_a_connect_takes_as_long_as_the_kernel_says(tmp_path: Path) -> None:
    """Without a knob TCP is as the kernel has it: six further attempts, and metrics are saved."""
    server = "sh -c 'ip route add blackhole 198.18.0.0/24; sleep 3600'"
    with Sandbox(folder=tmp_path, DELAY="20ms", server=server, wait="none") as sandbox:
        assert 131 <= float(sandbox.run(["python3", "-c", _BLACK_HOLE]).check().out) <= 137
        sysctls = "tcp_syn_retries tcp_synack_retries tcp_no_metrics_save"
        seen = sandbox.run(["sh", "-c", f"cd /proc/sys/net/ipv4; cat {sysctls}"]).out
    assert seen.split() == ["6", "5", "0"]


def test_as_many_open_files_as_on_this_machine(tmp_path: Path) -> None:
    """The limits of open files are this machine's, up to the million of the guest's kernel."""
    most = 2**20
    limits = [most if each < 0 else min(each, most) for each in resource.getrlimit(resource.RLIMIT_NOFILE)]
    with Sandbox(folder=tmp_path) as sandbox:
        said = sandbox.run(["python3", "-c", _MANY]).check().out.split()
    assert [int(each) for each in said] == [*limits, min(limits[1] - 10, 6000)]


def test_hours_of_samples_take_seconds(tmp_path: Path) -> None:
    """While nothing changes samples are up to ten seconds apart; with the next packet they are at their interval."""
    (tmp_path / "talk.py").write_text(
        "import socket, sys, time\n"
        "if sys.argv[1] == 'serve':\n"
        "    connection, _ = socket.create_server(('', 80)).accept()\n"
        "    while data := connection.recv(9): connection.sendall(data)\n"
        "connection = socket.create_connection(('server', 80))\n"
        "for wait_s in (0, 36_000):\n"
        "    time.sleep(wait_s); connection.sendall(b'x'); connection.recv(9); time.sleep(0.5)\n"
    )
    samples = tmp_path / "samples.jsonl"
    talk = ["python3", "talk.py"]
    with Sandbox(folder=tmp_path, DELAY="20ms", server=[*talk, "serve"]) as sandbox:
        took_s = sandbox.run([*talk, "talk"], samples=samples).check().seconds
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    at_s = [line["t_ns"] / 1e9 for line in lines if line["place"] == "client"]
    apart_s = [after - before for before, after in itertools.pairwise(at_s)]
    assert took_s > 36_000
    assert len(lines) < 20_000
    assert max(apart_s) < 10.1
    assert all(each < 0.011 for each in apart_s[:50] + apart_s[-45:])
