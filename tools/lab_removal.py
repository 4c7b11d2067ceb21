"""Takes the lab away from a copy of the checkout, and checks that the engine does not miss it: part of `make removals`.

    python -m tools.lab_removal

What is left is the engine (`testbed`, on `netem` and `common`), its import name, and those of its tests that do not
look at the lab. ruff, mypy and these tests must succeed, and two programs must meet in a sandbox.
"""

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.removal import copied, run_in

_LEFT = ("common", "netem", "testbed")
_TESTS = tuple(f"tests/{room}/{part}" for room in ("unit", "server") for part in _LEFT)
_OF_THE_LAB = re.compile(r"priolab\.(?:analysis|backend|client|experiments|extras|lab|proxy|runs)\b")
_MODULE = re.compile(r"from (tests\.[\w.]+) import ([^\n(]+|\([^)]*\))")
_MOST_LEFT_OUT = 16
"""The most files of the engine's tests that may look at the lab: the farther the two are apart, the fewer."""

_FACE = '"""The engine alone."""\n'
_CONFTEST = '''"""The fixtures of the engine's tests."""

import pytest

pytest_plugins = ["tests.support.guest_fixtures"]


def _says_what_it_needs():
    """The machine has it, or the test fails."""


guest = gcc = bpf = pytest.fixture(scope="session")(_says_what_it_needs)
cgroup = netns = pytest.fixture(_says_what_it_needs)
'''
_SANDBOX = """
from priolab.testbed import Host, Sandbox

with Sandbox(DELAY="40ms", server=Host("python3 -m http.server 80"), fabric="virtual") as sandbox:
    result = sandbox.run(["python3", "-c", "import urllib.request as u; u.urlopen('http://server/').read()"])
assert 0.08 < result.check().seconds < 0.2, result.seconds
"""


def missed() -> Iterator[str]:
    """Yields a text for each thing that fails without the lab."""
    with copied() as copy:
        left_out = _take_away(copy)
        if len(left_out) > _MOST_LEFT_OUT:
            yield f"without the lab: {len(left_out)} files of the engine's tests look at it: {', '.join(left_out)}"
        types = [word for part in _LEFT for word in ("-p", f"priolab.{part}")]
        tests = [folder for folder in _TESTS if (copy / folder).is_dir()]
        for check in (
            ("ruff", "check", *_LEFT, *tests),
            ("mypy", "--strict", *types),
            ("pytest", "-q", "-n2", "--dist=loadfile", *tests),
            ("python", "-c", _SANDBOX),
        ):
            done = run_in(copy, *check)
            if done.code:
                yield f"without the lab: {check[0]}:\n{done.out[-6000:]}{done.errors[-2000:]}"


def _take_away(copy: Path) -> list[str]:
    """Takes the lab away. Returns the files of the engine's tests that had to go, too."""
    kept = {*_LEFT, "priolab", "tests", "pyproject.toml", "constraints.txt", "Makefile", "docs", ".git", ".venv"}
    for path in copy.iterdir():
        if path.name not in kept:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for path in (copy / "priolab").iterdir():
        if path.name not in _LEFT:
            path.unlink()
    (copy / "priolab" / "__init__.py").write_text(_FACE)
    (copy / "conftest.py").write_text(_CONFTEST)
    left_out: list[str] = []
    while gone := [path for path in (copy / "tests").rglob("*.py") if _needs_the_lab(path, copy)]:
        left_out += [name for path in gone if (name := str(path.relative_to(copy))).startswith(_TESTS)]
        for path in gone:
            path.unlink()
    return left_out


def _needs_the_lab(path: Path, copy: Path) -> bool:
    text = path.read_text()
    if _OF_THE_LAB.search(text):
        return True
    for module, names in _MODULE.findall(text):
        folder = copy / module.replace(".", "/")
        wanted = [folder / name for name in re.findall(r"\w+", names)] if folder.is_dir() else [folder]
        if not all(map(_is_there, wanted)):
            return True
    return False


def _is_there(path: Path) -> bool:
    return path.is_dir() or path.with_suffix(".py").is_file()


def main() -> int:
    """Returns the exit code, 0 if nothing is missed."""
    print("without the lab", file=sys.stderr, flush=True)
    trouble = [*missed()]
    print("\n".join(trouble) or "nothing is missed")
    return bool(trouble)


if __name__ == "__main__":
    sys.exit(main())
