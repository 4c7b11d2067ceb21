"""`python -m tools.suites.commands [SUITE]`: every command of README.md and the guides on a bare machine.

    --user NAME    try them as this user: root, or lab, who may not install packages
    --first        try each as the very first command, on a machine of its own (half a day)
    --only TEXT    only commands that contain this text, or match this regular expression
    --new          only commands that the list does not have yet
    --go-on        on the machine of the last call, with what was installed there

Writes docs/measured/commands.json and commands.md after every command, and keeps the outcomes of other machines there.
A command that takes long is ended when its work has begun. The guest kernel is this machine's. Needs root, debootstrap
and two gigabytes. The exit code is 1 if a command fails.
"""

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from priolab.analysis.reports.markdown import with_places
from tools.suites import tree as trees
from tools.suites.documented import Documented, Outcome, Tried, counts, documented, has_begun, judged, page
from tools.suites.tree import USER, CannotMake, Tree

SUITES = ("bookworm", "trixie", "sid")
_CHECKOUT = Path(__file__).resolve().parents[2]
LIST = _CHECKOUT / "docs" / "measured" / "commands.json"
_SET_UP_S = 600.0
_WORK_S = 20.0
_SANDBOX = "docs/examples/sandbox"
_FILES = """set -e
cp proxy/servers/nginx/nginx.conf my.conf
mkdir -p ../nginx/objs
ln -sfn /usr/sbin/nginx ../nginx/objs/nginx
rm -rf my-front ../my-front
cp -r proxy/servers/nginx my-front
cp -r proxy/servers/nginx ../my-front
cp experiments/sweep/catalogue/loss.toml my-sweep.toml
printf 'title = "Mine"\\nexpect = "control: kept"\\n[knobs]\\nFIRST = "script"\\n' >my-scenario.toml
"""
"""Makes the files that the pages tell their readers to make."""


def main() -> int:
    """Try the commands. Return the exit code."""
    parser = argparse.ArgumentParser(prog="tools.suites.commands", allow_abbrev=False)
    parser.add_argument("suite", nargs="?", choices=SUITES, default="trixie", metavar="SUITE")
    parser.add_argument("--user", choices=["root", USER], default="root")
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--new", action="store_true")
    parser.add_argument("--go-on", action="store_true")
    options = parser.parse_args()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    tree = Tree(suite=options.suite, folder=cache / "priolab" / "suites" / f"{options.suite}-commands")
    asked = documented(_CHECKOUT)
    machine = f"{options.suite}, {options.user}"
    tried = read(asked)
    found = tried.setdefault(machine, {})
    left = [each for each in asked if not each.is_for_readers and re.search(options.only, each.line)]
    left = [each for each in left if not (options.new and each.line in found)]
    try:
        goes_on = options.go_on and tree.root.exists()
        within = tree.home(options.user) / "lab" if goes_on else _machine(tree, cache, options.user)
        for number, each in enumerate({each.line: each for each in left}.values(), start=1):
            if options.first and number > 1:
                within = _machine(tree, cache, options.user)
            began = time.monotonic()
            found[each.line] = _try_out(
                tree, options.user, within, each, first=options.first or (number == 1 and not goes_on)
            )
            write(asked, tried)
            told = found[each.line]
            print(f"{time.monotonic() - began:6.1f} s  {each.line}: {told.outcome} {told.said}", flush=True)
    except CannotMake as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{machine}: {counts(found.values())}")
    return 1 if any(each.outcome is Outcome.FAILS for each in found.values()) else 0


def read(asked: list[Documented]) -> dict[str, dict[str, Tried]]:
    """Return the outcomes in the list, by machine and command, of commands that the pages still have."""
    stored: Mapping[str, Mapping[str, Any]] = json.loads(LIST.read_text()) if LIST.exists() else {}
    lines = {each.line for each in asked}
    return {
        machine: {
            line: Tried(**{**told, "outcome": Outcome(told["outcome"])})
            for line, told in found.items()
            if line in lines
        }
        for machine, found in stored.items()
    }


def write(asked: list[Documented], tried: Mapping[str, Mapping[str, Tried]]) -> None:
    """Write the list, and the page that shows it."""
    LIST.write_text(
        json.dumps(
            {name: {line: asdict(told) for line, told in found.items()} for name, found in tried.items()}, indent=1
        )
        + "\n"
    )
    text = LIST.with_suffix(".md").read_text()
    sums = "\n".join(f"- {machine}: {counts(found.values())}" for machine, found in tried.items())
    LIST.with_suffix(".md").write_text(with_places(text, {"counts": sums, "commands": page(asked, tried)}))


def _machine(tree: Tree, cache: Path, user: str) -> Path:
    """Make a bare machine with a clone, the guest kernel and the readers' files. Return the clone's path inside."""
    trees.make(tree)
    trees.prepare(tree)
    trees.share_kernel(cache / "priolab", tree, user)
    within = trees.clone(tree, _CHECKOUT, user)
    log = tree.folder / "files.log"
    if trees.run(tree, "root", str(within), ["sh", "-c", _FILES], log):
        raise CannotMake(f"the readers' files cannot be made (log: {log})")
    trees.run(tree, "root", "/", ["chown", "-R", user, str(tree.home(user))], log)
    return within


def _try_out(tree: Tree, user: str, within: Path, each: Documented, *, first: bool) -> Tried:
    """Carry out a command as its page says, and judge it. It is ended some time after its work has begun."""
    logs = tree.folder / "commands"
    logs.mkdir(exist_ok=True)
    log = logs / (re.sub(r"[^A-Za-z0-9.=,_-]+", "_", each.line)[:120] + ".log")
    folder = within / _SANDBOX if each.line.startswith("priolab sandbox") else within
    # The README says that `make environment` makes `.venv` with `priolab`.
    needed = "priolab " in each.line or ".venv/" in each.line
    made = f"[ -x {within}/.venv/bin/priolab ] || make -C {within} environment || exit\n" if needed else ""
    shell = f'{made}export PATH="{within}/.venv/bin:$PATH"\n{each.line}'
    began: list[float] = []

    def enough(said: str) -> bool:
        if not began and has_begun(said):
            began.append(time.monotonic())
        return bool(began) and time.monotonic() - began[0] > _WORK_S

    code = trees.watched(tree, user, str(folder), ["sh", "-c", shell], log, enough, _SET_UP_S)
    said = log.read_text(errors="replace").replace(f"{within}/", "")
    return judged(code, re.sub(r"\x1b\[[0-9;]*m", "", said), first=first)


if __name__ == "__main__":
    sys.exit(main())
