"""Selects the tests to run: those of the core, or all others. Notes which tests passed, and what was left out.

`pytest --core` runs the tests outside of extras/, of whole experiments only those in _EXPERIMENTS, and none that needs
more than an experiment does (capabilities.py). `pytest --rest` runs all tests that are not noted as passed.
"""

import json
import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from priolab.experiments.setup.extras import extras
from priolab.experiments.setup.setup_request import CORE as CORE
from priolab.experiments.setup.setup_request import SANDBOX, file_of_needs

REST = "rest"

_EXPERIMENTS = ("test_maps.py", "test_repeatability.py", "test_netns.py", "test_results.py")

PASSED = Path(".pytest_cache", "passed")
"""The folder of the notes: a file for each process of pytest, with the names of the tests that passed."""

LEFT_OUT = Path(".pytest_cache", "left-out")
"""The folder of the counts: a file for each process of pytest, with how many tests need what it may not use."""


MISSING = " is missing: "
"""The middle of the reason for which a test is skipped: what it needs, and why that is missing."""


def is_of_core(path: Path, room: str) -> bool:
    """True if the core's tests include this file of tests. room: the folder of tests that has it, such as "lab"."""
    return "extras" not in path.parts and (room != "lab" or path.name in _EXPERIMENTS)


def values_to_test(request: pytest.FixtureRequest, parameter: str) -> frozenset[Any]:
    """Returns the values of a parameter in all tests that are to run, for a fixture that prepares no others."""
    items = (item for item in request.session.items if isinstance(item, pytest.Function) and hasattr(item, "callspec"))
    return frozenset(item.callspec.params[parameter] for item in items if parameter in item.callspec.params)


def parts() -> dict[str, tuple[str, ...]]:
    """Returns the folders of the tests of each part that says what its tests need: the extras, and the sandbox."""
    folders = {name: (f"extras/{name}/tests",) for name in extras()}
    return {**folders, SANDBOX: ("tests/lab/sandbox", "tests/unit/testbed/sandbox")}


def wrong_needs(
    part: str, said: Collection[str], marked: Mapping[str, Collection[str]], *, all_are: bool
) -> str | None:
    """Returns what is wrong with what a part says that its tests need (`tests_need`); None if nothing is.

    marked: what its tests need by their marks, by test, without what the core's tests may need. all_are: True if these
    are all tests of the part.
    """
    where = f"`tests_need` in {file_of_needs(part)}"
    for test, needs in marked.items():
        if missing := sorted({*needs} - {*said}):
            return f"{test} needs {', '.join(missing)}, which {where} lacks"
    if all_are and (spare := sorted({*said}.difference(*marked.values()))):
        return f"{where} has {', '.join(spare)}, which none of its tests needs"
    return None


def note(passed: Sequence[str], folder: Path) -> None:
    """Notes the names of tests that passed in this process, and in the workers that it started."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / str(os.getpid())).write_text("\n".join(passed))


def noted(folder: Path) -> frozenset[str]:
    """Returns the names of the tests that are noted."""
    return frozenset(name for file in folder.glob("*") for name in file.read_text().splitlines())


def take_over(notes: Path, folder: Path) -> None:
    """Adds notes that were made elsewhere to a folder of notes. notes: a folder with such notes."""
    folder.mkdir(parents=True, exist_ok=True)
    for each in notes.glob("*"):
        (folder / each.name).write_bytes(each.read_bytes())


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
