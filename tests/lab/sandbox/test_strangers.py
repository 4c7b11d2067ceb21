"""Servers and clients that nobody here wrote, in C, Go and Python, as they are: each sees the link."""

import shutil
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from priolab.testbed.sandbox.sandbox import Sandbox
from tools.campaigns.sandbox_examples import FILES

pytestmark = pytest.mark.usefixtures("guest")

_WHEEL = "nothing-1.0-py3-none-any.whl"
_SERVERS = {
    "nginx": ["nginx", "-p", ".", "-c", "nginx.conf"],
    "caddy": ["caddy", "file-server", "--listen", ":80", "--root", "."],
    "http.server": [sys.executable, "-m", "http.server", "80"],
}
_PIP = ("-m", "pip", "--isolated", "--disable-pip-version-check", "download", "--quiet", "--no-deps", "--no-cache-dir")
_CLIENTS = {
    "curl": ["curl", "--silent", "--output", "/dev/null", f"http://server/{_WHEEL}"],
    "pip": [sys.executable, *_PIP, "--trusted-host", "server", "--dest", "/tmp", f"http://server/{_WHEEL}"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with a wheel of 300 KB, and nginx's configuration."""
    made = tmp_path_factory.mktemp("strangers")
    shutil.copy(FILES / "nginx.conf", made)
    with zipfile.ZipFile(made / _WHEEL, "w") as wheel:
        wheel.writestr("nothing/data", bytes(300_000))
        wheel.writestr("nothing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: nothing\nVersion: 1.0\n")
        wheel.writestr("nothing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("nothing-1.0.dist-info/RECORD", "")
    return made


def _foreign(commands: Mapping[str, Sequence[str]]) -> list[Any]:
    """Returns the names as parameters, each with the mark of a program that this Python does not bring."""
    return [
        pytest.param(name, marks=[] if words[0] == sys.executable else pytest.mark.needs(name))
        for name, words in commands.items()
    ]


@pytest.mark.parametrize("server", _foreign(_SERVERS))
@pytest.mark.parametrize("client", _foreign(_CLIENTS))
def test_delay_and_loss(server: str, client: str, folder: Path) -> None:
    """A delay adds at least its round trips to a download, and what the link loses is sent again."""
    with Sandbox(RATE="20mbit", DELAY="10ms", server=_SERVERS[server], folder=folder) as sandbox:
        near = sandbox.run(_CLIENTS[client]).check()
        far = sandbox.run(_CLIENTS[client], DELAY="110ms").check()
        lossy = sandbox.run(_CLIENTS[client], LOSS="10%").check()
    assert far.seconds - near.seconds > 2 * 0.1
    assert near.retransmissions == 0
    assert lossy.retransmissions >= lossy.outcome.down.lost > 0
    assert lossy.seconds > near.seconds
