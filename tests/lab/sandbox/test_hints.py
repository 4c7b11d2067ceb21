"""Hints about programs that fail for a usual reason, in the guest."""

import sys
from pathlib import Path

import pytest

from priolab.common.errors import LabError
from priolab.testbed.sandbox.sandbox import ClientFailed, Sandbox

pytestmark = pytest.mark.usefixtures("guest")

_FULL = """
import resource, socket, time
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
listener = socket.create_server(("", 80))
kept = []
try:
    while True:
        kept.append(socket.socket())
except OSError:
    time.sleep(60)
"""


def test_a_server_in_the_background(tmp_path: Path) -> None:
    """A server that ends well before it listened has a hint; one that fails has none."""
    with Sandbox(folder=tmp_path) as sandbox:
        with pytest.raises(LabError, match=r"wrote nothing; a server that .* foreground: redis-server with --daem"):
            sandbox.start("sh -c 'true redis-server'").run("true")
        with pytest.raises(LabError, match=r"it wrote nothing$"):
            sandbox.start("sh -c 'exit 3'").run("true")


def test_descriptors(tmp_path: Path) -> None:
    """A program that has all files open that it may has a hint, also if it writes nothing; so has one that says it."""
    with Sandbox(server=[sys.executable, "-c", _FULL], folder=tmp_path) as sandbox:
        (hint,) = sandbox.run("sleep 1").check().outcome.hints
        assert hint.startswith("python")
        assert " has as many open files as it may, 40; `ulimit -n NUMBER` " in hint
        opens = (
            "import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (9, 9)); kept = [open('/etc/hosts') for _ in range(9)]"
        )
        with pytest.raises(ClientFailed, match=r"Too many open files.*; a program of the host client wants more open "):
            sandbox.start(None).run([sys.executable, "-c", opens]).check()


def test_a_name_that_nobody_knows(tmp_path: Path) -> None:
    """A client that fails because nobody answers DNS has a hint; one that fails for another reason has none."""
    look_up = "import socket; socket.getaddrinfo('nowhere.test', 80)"
    with Sandbox(server=f"{sys.executable} -m http.server 80", folder=tmp_path) as sandbox:
        failed = sandbox.run([sys.executable, "-c", look_up])
        with pytest.raises(ClientFailed, match=r"; the server's kernel has refused \d+ datagrams, .* port 53 of the s"):
            failed.check()
        assert sandbox.run("sh -c 'exit 4'").outcome.hints == []
        assert sandbox.run("getent hosts server").check().outcome.hints == []


def test_a_program_that_wants_ipv6(tmp_path: Path) -> None:
    """A server that fails because the hosts have no addresses of IPv6 has a hint; with them it listens."""
    server = "import socket; kept = socket.socket(socket.AF_INET6); kept.bind(('', 80)); kept.listen(); kept.accept()"
    for ipv6 in (False, True):
        with Sandbox(server=[sys.executable, "-c", server], ipv6=ipv6, folder=tmp_path) as sandbox:
            if ipv6:
                assert sandbox.run("true").check().outcome.hints == []
            else:
                with pytest.raises(
                    LabError, match=r"Address family not supported by protocol; .* server wants .* --ip"
                ):
                    sandbox.run("true")
