"""Selects the tests to run: those of the core, or all others. Notes which tests passed, and what was left out.

`pytest --core` runs the tests outside of extras/, of whole experiments only those in _EXPERIMENTS, and none that needs
more than an experiment does (capabilities.py). `pytest --rest` runs all tests that are not noted as passed.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

CORE, REST = "core", "rest"

_EXPERIMENTS = ("test_maps.py", "test_repeatability.py", "test_netns.py", "test_asked.py", "test_results.py")

PASSED = Path(".pytest_cache", "passed")
"""The folder of the notes: a file for each process of pytest, with the names of the tests that passed."""

LEFT_OUT = Path(".pytest_cache", "left-out")
"""The folder of the counts: a file for each process of pytest, with how many tests need what it may not use."""

MISSING = " is missing: "
"""The middle of the reason for which a test is skipped: what it needs, and why that is missing."""


def is_of_core(path: Path, room: str) -> bool:
    """True if the core's tests include this file of tests. room: the folder of tests that has it, such as "lab"."""
    return "extras" not in path.parts and (room != "lab" or path.name in _EXPERIMENTS)


def unfit(marked: Mapping[str, Iterable[str]], allowed: Iterable[str], extra: str) -> str | None:
    """Returns what is wrong with what an extra says that its tests need; None if nothing is.

    marked: for each test, what its marks say. allowed: what the extra says, and what all tests may need.
    """
    for test, needs in marked.items():
        if strangers := sorted({*needs} - {*allowed}):
            return f"{test} needs {', '.join(strangers)}, which `tests_need` in extras/{extra}/extra.toml lacks"
    return None


def note(passed: Sequence[str], folder: Path) -> None:
    """Notes the names of tests that passed in this process, and in the workers that it started."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / str(os.getpid())).write_text("\n".join(passed))


def noted(folder: Path) -> frozenset[str]:
    """Returns the names of the tests that are noted."""
    return frozenset(name for file in folder.glob("*") for name in file.read_text().splitlines())


def count(left_out: Mapping[str, int], folder: Path) -> None:
    """Notes how many tests this process left out, by what they need."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / str(os.getpid())).write_text(json.dumps(left_out))


def counted(folder: Path) -> Counter[str]:
    """Returns how many tests all processes left out, by what they need."""
    total: Counter[str] = Counter()
    for file in folder.glob("*"):
        total.update(json.loads(file.read_text()))
    return total


def forget(folder: Path) -> None:
    """Removes the notes."""
    for file in folder.glob("*"):
        file.unlink()
