"""Tests of what the lab needs of every server: patience, complete responses, a clean end, and any user."""

import http.client
import os
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from priolab.common.descriptors import process_ids, stat
from priolab.common.process.processes import Process, ProcessSettings, wait_until
from priolab.proxy.front import Front
from priolab.proxy.readiness import ask
from priolab.proxy.server import catalogue
from tests.server.reader import WINDOW, asking
from tests.support.capabilities import each
from tests.support.fronts import NAME, running_front, settings_of
from tests.support.origins import running_origin

_SIZE = 700 * 1024
_HELD = 1_000_000
"""The size of a response: less than the buffers of BUFFERING=on, more than those of the kernel."""
_NOBODY = 65534
_SESSION_FIELD = 3  # of proc(5)'s stat, after the name


def test_a_slow_reader_gets_all_of_it(server: str, tmp_path: Path) -> None:
    """A client with a small buffer that reads 2048 bytes at a time gets the origin's response to the byte.

    The path of the front's files may have unusual characters.
    """
    folder = tmp_path / "what's this; 100%, #1 = 1"
    folder.mkdir()
    with running_front(server, folder, size_bytes=_SIZE) as (settings, _):
        with asking(settings, "/image.jpg", receive_buffer=4096) as reader:
            body = reader.body(at_once=2048)
        direct = http.client.HTTPConnection(settings.origin, timeout=10)
        direct.request("GET", "/image.jpg")
        assert body == direct.getresponse().read()
        direct.close()
    assert len(body) == _SIZE


def test_it_ends_when_it_is_told_to(server: str, tmp_path: Path) -> None:
    """SIGTERM ends all of the server's processes, also after a client left in the middle of a response."""
    with running_front(server, tmp_path, size_bytes=_SIZE) as (settings, front):
        with asking(settings, "/image.jpg") as reader:
            assert reader.tls.recv(1)
        assert isinstance(front, Process)
        front.stop()
        assert front._process.returncode != -signal.SIGKILL
        wait_until(lambda: not _in_session(front.pid), 5, lambda: None, "the end of all its processes")


def _in_session(leader: int) -> list[int]:
    states = {pid: fields for pid in process_ids() if (fields := stat(pid)) is not None}
    return [pid for pid, fields in states.items() if int(fields[_SESSION_FIELD]) == leader and fields[0] not in "ZX"]


def test_an_ordinary_user_can_run_it(server: str) -> None:
    """A user without rights and without a home can run the server, and it writes only to the given files."""
    folder = Path(tempfile.mkdtemp(prefix="ordinary-", dir="/tmp"))
    try:
        with running_origin(folder / "access.jsonl") as port:
            settings = settings_of(server, folder, f"127.0.0.1:{port}", as_root=False)
            front = Front(settings)
            for place in (folder, settings.state):
                place.mkdir(exist_ok=True)
            user = []
            if settings.server.wheel:  # the cache is in a folder that only its user can read
                settings = replace(settings, program=shutil.copy(settings.program, str(folder)))
                front = Front(settings)
            if settings.server.is_the_labs:  # the checkout may be in such a folder, too
                shutil.copytree(settings.labs_folder, folder / "servers" / settings.labs_folder.name)
                settings = replace(settings, catalogue=folder / "servers")
                front = Front(settings)
            if os.geteuid() == 0:
                user = ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups", "--no-new-privs"]
                for path in (folder, *folder.iterdir()):
                    os.chown(path, _NOBODY, _NOBODY)
            environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}

            def start(command: tuple[str, ...], log: Path) -> Process:
                for written in (settings.config, settings.log) if user else ():
                    os.chown(written, _NOBODY, _NOBODY)
                return Process(server, [*user, *command], log, ProcessSettings(environment=environment))

            with front.running(start):
                assert ask((settings.address, settings.port), NAME, settings.certificates.ca, "/", timeout_s=5) == "200"
    finally:
        shutil.rmtree(folder)


class _Counting(threading.Thread):
    """An origin with a large response at /held."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._sent = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"

    def run(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    @property
    def taken(self) -> int:
        """The bytes that the front has read: those sent, without those that wait in the front's receive queues.

        The kernel may make a receive queue larger than the response while the front is late.
        """
        remote = f":{self._listener.getsockname()[1]:04X}"
        lines = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
        unread = sum(int(queues.partition(":")[2], 16) for _, _, peer, _, queues, *_ in lines if peer.endswith(remote))
        return self._sent - unread

    def _serve(self, connection: socket.socket) -> None:
        asked = b""
        try:
            while data := connection.recv(4096):
                asked += data
                while b"\r\n\r\n" in asked:
                    request, _, asked = asked.partition(b"\r\n\r\n")
                    size = _HELD if b"/held" in request else 2
                    head = f"HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\nContent-Length: {size}\r\n\r\n"
                    connection.sendall(head.encode())
                    while size:
                        sent = connection.send(b"x" * min(size, 4096))
                        size -= sent
                        self._sent += sent
        except OSError:
            return
        finally:
            connection.close()


@contextmanager
def _counting() -> Iterator[_Counting]:
    origin = _Counting()
    origin.start()
    yield origin
    origin.close()


_SWITCHED = [name for name, server in catalogue().items() if server.buffering.name and server.protocol == "h2"]


@pytest.mark.parametrize("buffering", ["on", "off"])
@pytest.mark.parametrize("name", each(_SWITCHED))
def test_what_it_takes_of_a_response(name: str, buffering: str, tmp_path: Path) -> None:
    """With BUFFERING=on the front reads the whole response although the client's window is small.
    With BUFFERING=off it reads only a part.
    """
    with _counting() as origin:
        settings = settings_of(name, tmp_path, origin.address, buffering=buffering, size_bytes=_HELD)
        with (
            Front(settings).running(lambda command, log: Process(name, command, log)) as front,
            asking(settings, "/held") as reader,
        ):
            before, taken = -1, 0
            while taken < _HELD and taken > before:
                reader.tls.settimeout(1)
                try:
                    while reader.tls.recv(65_536):
                        pass
                except TimeoutError:
                    front.check_alive()
                before, taken = taken, origin.taken
        assert taken >= WINDOW
        assert (taken >= _HELD) == (buffering == "on")
