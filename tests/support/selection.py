"""Selects the tests to run: those of the core, or all others.

`pytest --core` runs the tests outside of extras/, of whole experiments only those in _EXPERIMENTS, and as if the
machine had the servers and programs of _CAPABILITIES alone. It notes the tests that passed. `pytest --rest` runs all
tests that are not noted.
"""

import os
from collections.abc import Sequence
from pathlib import Path

CORE, REST = "core", "rest"

_EXPERIMENTS = ("test_maps.py", "test_repeatability.py", "test_netns.py", "test_asked.py", "test_results.py")
_CAPABILITIES = (
    *("python", "node", "nginx", "ethtool", "io_uring", "cgroup", "bpf"),
    *("guest-kernel", "netem-in-guest", "fabric-virtual", "fabric-netns"),
)
LEFT_OUT = "left to make test-all"

PASSED = Path(".pytest_cache", "passed")
"""The folder of the notes: a file for each process of pytest, with the names of the tests that passed."""


def is_of_core(path: Path, room: str) -> bool:
    """True if the core's tests include this file of tests. room: the folder of tests that has it, such as "lab"."""
    return "extras" not in path.parts and (room != "lab" or path.name in _EXPERIMENTS)


def is_needed_by_core(capability: str) -> bool:
    """True if the core's tests may use a capability of the machine."""
    return capability in _CAPABILITIES


def note(passed: Sequence[str], folder: Path) -> None:
    """Notes the names of tests that passed in this process, and in the workers that it started."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / str(os.getpid())).write_text("\n".join(passed))


def noted(folder: Path) -> frozenset[str]:
    """Returns the names of the tests that are noted."""
    return frozenset(name for file in folder.glob("*") for name in file.read_text().splitlines())


def forget(folder: Path) -> None:
    """Removes the notes."""
    for file in folder.glob("*"):
        file.unlink()
