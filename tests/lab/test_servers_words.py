"""Failures in the words of the front's own log, and configurations that write where stock configurations write."""

import sys
from pathlib import Path

import pytest

from tests.support.lab import Lab
from tests.support.own_files import TEMPLATE, installed

pytestmark = pytest.mark.usefixtures("guest")

_SHORT = ("FABRIC=virtual", "LOWAT=16384", "CONTROL=no", "RELOADS=0", "SAMPLE=100ms")
_TEMPORARY = "\n".join(
    line.replace("proxy_buffers @{buffers} 16k", "proxy_buffers 8 16k")
    for line in TEMPLATE.splitlines()
    if "proxy_busy_buffers_size" not in line and "proxy_max_temp_file_size" not in line
)
"""A configuration with which nginx keeps what the client has not yet taken in temporary files."""
_STOCK = "\n".join(line for line in _TEMPORARY.splitlines() if "_temp_path" not in line and "access_log" not in line)
"""The same with the paths of the distribution, for temporary files and for the log of requests."""


_SHARED = """
from multiprocessing import get_context
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

def write(lock, name):
    with lock:
        memory = SharedMemory(name)
        memory.buf[:6] = b"shared"
        memory.close()

if __name__ == "__main__":
    context = get_context("spawn")
    lock, memory = context.Lock(), SharedMemory(create=True, size=4096)
    child = context.Process(target=write, args=(lock, memory.name))
    child.start()
    child.join()
    print(bytes(memory.buf[:6]).decode(), f"{Path('/dev/shm').stat().st_mode & 0o7777:o}")
    memory.close()
    memory.unlink()
"""
"""A program whose child process takes a lock and writes into memory that both share."""


def _program(path: Path, *lines: str) -> str:
    """Write a program that carries out the lines of sh(1) when it is started as a server, then is the installed nginx.

    Return its path.
    """
    path.write_text("\n".join(["#!/bin/sh", '[ "$1" = -v ] || {', *lines, "}", f'exec {installed()} "$@"', ""]))
    path.chmod(0o755)
    return str(path)


def test_temporary_files_of_a_worker_that_has_given_up_root(lab: Lab, tmp_path: Path) -> None:
    """nginx writes temporary files below its folder for the run, or to the distribution's folders, and works."""
    (tmp_path / "temporary.conf").write_text(_TEMPORARY)
    (tmp_path / "stock.conf").write_text(_STOCK)
    done = lab.run_here(*_SHORT, f"CONFIG={tmp_path}/temporary.conf,{tmp_path}/stock.conf")
    assert done.code == 0, done.trouble
    assert done.summary is not None
    assert [arm["verdict"] for arm in done.summary["arms"]] == ["kept", "kept"]
    assert done.folder is not None
    for log in done.folder.glob("*.1/front/error.log"):
        assert "a client request body is buffered" in (said := log.read_text()) or "an upstream response" in said


def test_the_servers_log_says_why(lab: Lab, tmp_path: Path) -> None:
    """nginx resets a stream after `send_timeout`; the reason has the line of its own log, and names this log."""
    (tmp_path / "hasty.conf").write_text(TEMPLATE.replace("send_timeout 1d", "send_timeout 2s"))
    done = lab.run_here(*_SHORT, "LOWAT=131072", "SIZE=6M", f"CONFIG={tmp_path}/hasty.conf")
    assert done.code == 1
    assert done.summary is not None
    (arm,) = done.summary["arms"]
    assert done.folder is not None
    assert arm["status"] == "failed"
    assert (
        "the front reset the stream of image: PROTOCOL_ERROR; unfinished: image, script; the front said: "
        in (arm["reason"])
    )
    assert "[info]" in arm["reason"]
    assert "client timed out (110: Connection timed out)" in arm["reason"]
    (log,) = done.folder.glob("*.1/front/error.log")
    assert arm["reason"].endswith(f"(log: {log})")


def test_a_server_that_a_signal_ends(lab: Lab, tmp_path: Path) -> None:
    """The reason names the signal, and quotes what the server wrote to its output just before.

    Before that, two processes share a lock and memory, and a user without rights writes to the same folder, /dev/shm.
    """
    (tmp_path / "shared.py").write_text(_SHARED)
    program = _program(
        tmp_path / "mortal",
        f"  {sys.executable} -B {tmp_path}/shared.py",
        "  setpriv --reuid=65534 --clear-groups sh -c 'echo written >/dev/shm/file; cat /dev/shm/file'",
        "  (sleep 3; echo 'panic: no more room'; kill -SEGV $$) &",
    )
    done = lab.run_here(*_SHORT, f"PROGRAM={program}")
    assert done.code == 1
    assert done.summary is not None
    (arm,) = done.summary["arms"]
    assert "it was ended by SIGSEGV: " in arm["reason"]
    assert "panic: no more room" in arm["reason"]
    assert done.folder is not None
    (log,) = done.folder.glob("*.1/front/output.log")
    assert log.read_text().startswith("shared 1777\nwritten\n")
    assert arm["reason"].endswith(f"(log: {log})")
