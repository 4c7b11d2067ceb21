"""Takes extras away from a copy of the checkout, and checks that the lab does not miss them: `make removals`.

    python -m tools.removal [--brief] [NAME...]    takes these away together; without names, each by itself

An extra is taken away as one would do it in a commit: its folder, its pages, what it has elsewhere, the extras that
need it, and the lines of pyproject.toml that name it; then the man page is made anew. After that the linters, the unit
and contract tests and an experiment must succeed, and neither `priolab` nor make may name its commands and targets.
Documents that link to its pages are edited by hand in such a commit, so the tests that read all documents are left out:
of links, of documented commands, and of the web site. With --brief only what an import contract cannot know is checked:
no mypy, no unit tests, and of the contract tests those that look at the tree as a whole.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from priolab.common.home import ROOT
from priolab.common.process.processes import die_with_parent
from priolab.common.running import Finished, finished
from priolab.experiments.setup.extras import extras

_OF_DOCUMENTS = tuple(f"tests/contract/test_{name}.py" for name in ("documented_commands", "links", "site"))
_OF_THE_TREE = ("completion", "for_programs", "imports", "man_page", "needs", "packaging", "pins", "setup")
"""The contract tests that look at the commands, the targets and the files of the whole tree."""

_LISTS = (("priolab", "--help"), ("make", "help"), ("priolab", "list"))
_NAMED = re.compile(r"^ +(?:make )?([a-z-]+)  |(?:make|priolab) ([a-z-]+)", re.MULTILINE)
"""A command or a target, in a list of them or in a sentence."""


def main() -> int:
    """Returns the exit code, 0 if nothing is missed."""
    brief = sys.argv[1:2] == ["--brief"]
    names = sys.argv[1 + brief :]
    if unknown := [name for name in names if name not in extras()]:
        print(f"{unknown[0]} is not an extra; these are: {', '.join(extras())}", file=sys.stderr)
        return 2
    wholes = [names] if names else [[name] for name in extras()]
    trouble = [line for together in wholes for line in missed(together, brief=brief)]
    print("\n".join(trouble) or "nothing is missed")
    return bool(trouble)


def missed(names: Sequence[str], *, brief: bool) -> Iterator[str]:
    """Takes the extras away, with others that need them. Yields a text for each thing that fails without."""
    needing = [name for name, said in extras().items() if {*names} & {*said.needs}]
    gone = list(dict.fromkeys([*names, *needing]))
    print(f"without {', '.join(gone)}", file=sys.stderr, flush=True)
    with copied() as copy:
        words = {word for name in gone for word in _words(name)}
        assert words <= {word for each in _LISTS for word in _named(run_in(copy, *each).out)}, "not all were there"
        for name in gone:
            _take_away(name, copy)
        run_in(copy, "man_page", str(copy / "docs" / "priolab.1"))
        for each in _LISTS:
            if still := words & _named(run_in(copy, *each).out):
                yield f"without {', '.join(gone)}: `{' '.join(each)}` names {', '.join(sorted(still))}"
        run = ("priolab", "run", "LOWAT=131072", f"RESULTS={copy / 'results'}")
        for check in (*_linters(brief=brief), _tests(copy, brief=brief), run):
            done = run_in(copy, *check)
            if done.code:
                yield f"without {', '.join(gone)}: {check[0]}:\n{done.out[-6000:]}{done.errors[-2000:]}"


def _words(name: str) -> Iterator[str]:
    """Yields the words by which `priolab` and make name an extra: its commands, and its targets with a description."""
    yield from extras()[name].commands
    targets = ROOT / "extras" / name / "targets.mk"
    if targets.exists():
        yield from re.findall(r"^([a-z-]+):.*## ", targets.read_text(), re.MULTILINE)


def _named(text: str) -> set[str]:
    return {name for pair in _NAMED.findall(text) for name in pair if name}


def _take_away(name: str, copy: Path) -> None:
    said = extras(copy)[name]
    places = (f"extras/{name}", *said.pages, *said.elsewhere)
    subprocess.run(["git", "rm", "-rqf", *places], cwd=copy, check=True)
    project = copy / "pyproject.toml"
    lines = project.read_text().splitlines(keepends=True)
    its = re.compile(rf'priolab\.extras\.{name}\b|^    "{name}/')
    project.write_text("".join(line for line in lines if not its.search(line)))


def _linters(*, brief: bool) -> Iterator[tuple[str, ...]]:
    yield from (("ruff", "check", "."), *(() if brief else (("mypy",),)), ("lint-imports",))


def _tests(copy: Path, *, brief: bool) -> tuple[str, ...]:
    files = tuple(f"tests/contract/test_{name}.py" for name in _OF_THE_TREE)
    folders = tuple(f"{tests}/{room}" for tests in ("tests", "extras/*/tests") for room in ("unit", "contract"))
    there = [str(path) for each in (files if brief else folders) for path in copy.glob(each)]
    return ("pytest", "-q", "-n2", "--dist=loadfile", *(f"--ignore={name}" for name in _OF_DOCUMENTS), *there)


@contextmanager
def copied() -> Iterator[Path]:
    """Yields a copy of the checkout as it is, as a repository of its own, with this checkout's Python environment."""
    with tempfile.TemporaryDirectory(prefix="priolab-removal-") as made:
        copy = Path(made).resolve() / "checkout"
        subprocess.run(["git", "clone", "-q", "--shared", ROOT, copy], check=True)
        changed = subprocess.run(["git", "diff", "--binary", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
        if changed:
            subprocess.run(["git", "apply", "--index"], cwd=copy, input=changed, check=True)
        (copy / ".venv").symlink_to(ROOT / ".venv")
        yield copy


def run_in(copy: Path, program: str, *words: str) -> Finished:
    """Runs a program of the Python environment, or make, in the copy, with the copy's modules.

    mypy has a cache of its own there: another mypy may be at work in the checkout.
    """
    modules = {"priolab": "priolab.experiments", "pytest": "pytest", "man_page": "tools.man_page"}
    module = ["-m", modules[program]] if program in modules else []
    here = program if program == "make" else str(ROOT / ".venv" / "bin" / program)
    command = [sys.executable, *module, *words] if module else [here, *words]
    environment = os.environ | {"PYTHONPATH": str(copy), "MYPY_CACHE_DIR": str(copy / ".mypy_cache")}
    return finished(command, None, environment=environment, folder=copy, begin=die_with_parent)


if __name__ == "__main__":
    sys.exit(main())
