"""Tests of the commands on another system than Linux, which is imitated: what only Linux has is missing."""

import subprocess
import sys
from pathlib import Path

import pytest

# Removes what other systems lack, before anything of the lab is imported.
_OTHER = """
import ctypes, os, select, signal, socket, sys
sys.platform = "darwin"
for module, names in (
    (os, "sched_getaffinity sched_setaffinity unshare setns memfd_create pidfd_open CLONE_NEWNET eventfd"),
    (socket, "AF_NETLINK AF_PACKET SO_PEERCRED"),
    (select, "epoll"),
    (signal, "pidfd_send_signal"),
):
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
library = ctypes.CDLL(None)
class Library:
    def __getattr__(self, name):
        if name in ("prctl", "syscall", "setns", "unshare", "mount", "umount2"):
            raise AttributeError(name)
        return getattr(library, name)
ctypes.CDLL = lambda *_, **__: Library()
from priolab.experiments.cli import main
sys.exit(main())
"""
_GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "format-3"


def _there(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", _OTHER, *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "words",
    [
        "run LOWAT=131072",
        "run FABRIC=compose",
        "sweep LOWAT=1,2",
        "doctor",
        "setup",
        "kernel",
        "probe x",
        "tune",
        "gate nginx",
        "demo",
    ],
)
def test_what_needs_linux_says_so(words: str) -> None:
    """The error is one line: it names the command and the system, and says what can be done."""
    done = _there(*words.split())
    assert (done.returncode, done.stdout) == (1, "")
    named = words.split()[0]
    assert done.stderr.startswith(f"priolab: `priolab {named}` needs Linux, and this system is darwin; use the image")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("words", ["list", f"show {_GOLDEN}", "--help", "--version", "trace --help"])
def test_what_works_everywhere(words: str) -> None:
    """Results are shown, and the lab describes itself."""
    done = _there(*words.split())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
