"""WebKitGTK's names: a process and its children reach one name only, and the machine's files stay as they are."""

import subprocess
import sys
from pathlib import Path

import pytest

from priolab.testbed.topology.namespace_requirements import entering

_ADDRESS = "198.18.1.2"
_ASK = """
import socket, subprocess, sys
from pathlib import Path
from priolab.client.webkit.names import resolve_only
resolve_only("maps.test", sys.argv[1], Path(sys.argv[2]))
print(subprocess.run(["getent", "hosts", "maps.test"], capture_output=True, text=True, check=True).stdout.split()[0])
for name in ("other.test", "archive.example"):
    try:
        print(socket.gethostbyname(name))
    except socket.gaierror as error:
        print(error.errno == socket.EAI_NONAME)
"""


@pytest.mark.usefixtures("netns")
def test_only_the_front_has_an_address(tmp_path: Path) -> None:
    """The front's name has the plan's address, also for children. Other names are unknown at once."""
    before = _hosts()
    asked = [*entering(), sys.executable, "-c", _ASK, _ADDRESS, str(tmp_path)]
    done = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=20)
    assert done.stdout.split() == [_ADDRESS, "True", "True"], done.stderr
    assert _hosts() == before


@pytest.mark.usefixtures("netns")
def test_a_system_without_these_files(tmp_path: Path) -> None:
    """The same where /etc is empty, also if the folder for the files has characters that overlayfs reads."""
    folder = tmp_path / "a:b,c"
    folder.mkdir()
    emptied = "import subprocess; subprocess.run(['mount', '-t', 'tmpfs', 'none', '/etc'], check=True)\n"
    asked = [*entering(), "unshare", "--mount", sys.executable, "-c", emptied + _ASK, _ADDRESS, str(folder)]
    before = _hosts()
    done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=20)
    assert done.stdout.split() == [_ADDRESS, "True", "True"], done.stderr
    assert _hosts() == before


def _hosts() -> str | None:
    """Returns the text of this machine's file; None if it has none."""
    file = Path("/etc/hosts")
    return file.read_text() if file.exists() else None
