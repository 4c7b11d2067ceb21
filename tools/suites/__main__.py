"""`python3 -m tools.suites [SUITE ...] [KNOB=VALUE ...]`: the README's commands in bare trees, as root and as a user.

The user also runs an experiment with servers of other suites and from wheels.

    --experiment-only   run the README's experiment alone
    --editions          run the experiment with servers of other suites and from wheels alone
    --full              run the core's tests with `make test`; without it, unit and contract tests
    --user NAME         run the commands as this user alone: root or lab
    --share-kernel      copy this machine's guest kernel; without it, each tree builds one

Needs root, debootstrap, and three gigabytes for each suite in ~/.cache/priolab/suites, where bare trees are kept. Needs
no environment of the lab. The exit code is 0 if all results are good, 1 if one is not, 2 after bad input.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.suites import tree as trees
from tools.suites.command_results import CommandResult, of_editions, of_experiment, of_tests, suspicious, table
from tools.suites.tree import USER, CannotMake, Tree

SUITES = ("bookworm", "trixie", "sid")
_CHECKOUT = Path(__file__).resolve().parents[2]
EDITIONS = (
    "nginx@bookworm",
    "nginx@trixie",
    "nginx@sid",
    "nginx@1.31.3",
    "h2o@bookworm",
    "envoy@1.40.0",
    "caddy@2.11.7",
)


def main() -> int:
    """Run the commands in each suite. Return the exit code."""
    parser = argparse.ArgumentParser(prog="tools.suites", allow_abbrev=False)
    parser.add_argument("words", nargs="*", metavar="SUITE or KNOB=VALUE")
    parser.add_argument("--experiment-only", action="store_true")
    parser.add_argument("--editions", action="store_true")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--share-kernel", action="store_true")
    parser.add_argument("--user", choices=["root", USER])
    options = parser.parse_args()
    knobs = [word for word in options.words if "=" in word]
    suites = [word for word in options.words if "=" not in word] or list(SUITES)
    if strangers := [suite for suite in suites if suite not in SUITES]:
        print(f"SUITE={strangers[0]} is not allowed; allowed: {', '.join(SUITES)}", file=sys.stderr)
        return 2
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    results: list[CommandResult] = []
    for suite in suites:
        tree = trees.trees_in(cache, suite)
        try:
            results += _try_out(tree, cache, knobs, options)
        except CannotMake as error:
            results.append(_of(tree, "root", "the tree", 0.0, "-", [str(error)], ""))
    print(table(results))
    return 1 if any(each.trouble for each in results) else 0


def _try_out(tree: Tree, cache: Path, knobs: Sequence[str], options: argparse.Namespace) -> list[CommandResult]:
    """Run every command, as root first: root's run installs the packages that an ordinary user cannot install."""
    _say(f"{tree.suite}: the tree")
    trees.make(tree)
    _prepare(tree)
    if options.share_kernel:
        trees.share_kernel(cache / "priolab", tree, "root")
    if options.editions:
        _install(tree)
        trees.share_kernel(tree.root / "root/.cache/priolab", tree, USER)
        return [_of_editions(tree, _clone(tree, USER), knobs)]
    found: list[CommandResult] = []
    for user in [options.user] if options.user else ["root", USER]:
        if user != "root":
            trees.share_kernel(tree.root / "root/.cache/priolab", tree, user)
        within = _clone(tree, user)
        found.append(_experiment(tree, user, within, knobs))
        if not options.experiment_only:
            found.append(_tests(tree, user, within, full=options.full))
            found += [] if user == "root" else [_of_editions(tree, within, knobs)]
    return found


def _clone(tree: Tree, user: str) -> Path:
    """Clone HEAD into the user's home; return the clone's path inside the tree. Raises CannotMake."""
    within = trees.clone(tree, _CHECKOUT, user)
    trees.run(tree, "root", "/", ["chown", "-R", user, str(tree.home(user))], tree.folder / "chown.log")
    return within


def _prepare(tree: Tree) -> None:
    """Add certificate authorities and an ordinary user; let root use the user's clone. Raises CannotMake."""
    log = tree.folder / "prepare.log"
    for command in (
        ["update-ca-certificates"],
        ["sh", "-c", f"id {USER} 2>/dev/null || useradd --create-home --shell /bin/sh {USER}"],
        ["git", "config", "--system", "--replace-all", "safe.directory", "*"],
    ):
        if code := trees.run(tree, "root", "/", command, log):
            raise CannotMake(f"{command[0]} ended with {code} (log: {log})")


def _experiment(tree: Tree, user: str, within: Path, knobs: Sequence[str]) -> CommandResult:
    log = tree.folder / f"{user}-experiment.log"
    started = time.monotonic()
    _say(f"{tree.suite}, {user}: make experiment LOWAT=131072")
    code = trees.run(tree, user, str(within), ["make", "experiment", "LOWAT=131072", *knobs], log)
    minutes = (time.monotonic() - started) / 60
    summary = _summary(tree, user, within)
    result, trouble = of_experiment(code, summary)
    if code:
        trouble += [f"log: {log}"]
    return _of(tree, user, "experiment", minutes, result, trouble, log.read_text(errors="replace"))


def _install(tree: Tree) -> None:
    """Install as root what an ordinary user cannot install. Raises CannotMake."""
    log = tree.folder / "root-setup.log"
    _say(f"{tree.suite}, root: make setup-experiment")
    if code := trees.run(tree, "root", str(_clone(tree, "root")), ["make", "setup-experiment"], log):
        raise CannotMake(f"make setup-experiment ended with {code} (log: {log})")


def _of_editions(tree: Tree, within: Path, knobs: Sequence[str]) -> CommandResult:
    """Run the default experiment with EDITIONS, as the ordinary user, whose cache has no root and no wheel before."""
    log = tree.folder / f"{USER}-editions.log"
    started = time.monotonic()
    words = ["LOWAT=131072", "FABRIC=virtual", f"SERVER={','.join(EDITIONS)}", *knobs]
    _say(f"{tree.suite}, {USER}: make experiment {' '.join(words)}")
    code = trees.run(tree, USER, str(within), ["make", "experiment", *words], log)
    minutes = (time.monotonic() - started) / 60
    summary = _summary(tree, USER, within)
    lines, trouble = of_editions(code, summary, _fronts(tree, within, summary) if summary else {})
    if code:
        trouble += [f"log: {log}"]
    result = f"{len(lines)} of {2 * len(EDITIONS)} arms"
    if len(lines) < 2 * len(EDITIONS):
        trouble += [result]
    return _of(tree, USER, "editions", minutes, result, trouble, log.read_text(errors="replace"), lines)


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


def _tests(tree: Tree, user: str, within: Path, *, full: bool) -> CommandResult:
    log = tree.folder / f"{user}-tests.log"
    started = time.monotonic()
    _say(f"{tree.suite}, {user}: {'all tests' if full else 'the fast tests'}")
    if full:
        commands = [["make", "test"]]
    else:
        fast = [".venv/bin/pytest", "--numprocesses=auto", "-q", "tests/unit", "tests/contract"]
        commands = [["make", "setup-lint"], fast]
    code, texts = 0, []
    for command in commands:
        code = code or trees.run(tree, user, str(within), command, log)
        texts.append(log.read_text(errors="replace"))
    log.write_text("".join(texts))
    result, trouble = of_tests(code, texts[-1])
    minutes = (time.monotonic() - started) / 60
    # pytest turns warnings into errors, so only the set-up's log is searched for warnings.
    return _of(tree, user, "tests", minutes, result, trouble, "".join(texts[:-1]))


def _of(
    tree: Tree,
    user: str,
    what: str,
    minutes: float,
    result: str,
    trouble: Sequence[str],
    log: str,
    details: Sequence[str] = (),
) -> CommandResult:
    return CommandResult(
        suite=tree.suite,
        user=user,
        what=what,
        minutes=minutes,
        result=result,
        trouble=trouble,
        warnings=suspicious(log),
        details=details,
    )


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
