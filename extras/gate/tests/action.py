"""The steps of action.yml, carried out as on a stock runner (tests/support/stock_runner.py)."""

import os
import re
import resource
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from priolab.common.home import ROOT
from priolab.extras.gate.tests.front.folder import front_folder
from priolab.extras.gate.tests.front.scheduler import Fault
from tests.support.stock_runner import HOME, Refused, command
from tools.suites import tree as trees

LAB = f"{HOME}/work/_actions/lab"
"""The folder that has the action."""

WORKSPACE = f"{HOME}/work/mine"
"""The folder that steps start in."""

KEPT = f"{HOME}/.cache/priolab"
"""The folder that has the guest kernel."""

_INPUT = re.compile(r"\$\{\{ inputs\.(\w+) \}\}")
_PATIENCE_S = 1800.0


def action() -> dict[str, Any]:
    """Return the parsed action."""
    document: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
    return document


def script(name: str) -> str:
    """Return the script of a step."""
    return str(_step(name)["run"])


def variables(name: str, inputs: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables that a step adds. inputs: those that the user gives."""
    given = {each: inputs.get(each, described["default"]) for each, described in action()["inputs"].items()}
    return {key: _INPUT.sub(lambda match: given[match[1]], value) for key, value in _step(name)["env"].items()}


def _step(name: str) -> dict[str, Any]:
    (step,) = (each for each in action()["runs"]["steps"] if each["name"] == name)
    return dict(step)


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A command that has ended. wall_s: the time that it took. processor_s: the processor time of its processes."""

    code: int
    out: str
    err: str
    wall_s: float
    processor_s: float


@dataclass(frozen=True, kw_only=True)
class StockRunner:
    """A runner. tree: its file system (tools/suites/runner.py). folder: an empty folder, for all changes."""

    tree: Path
    folder: Path
    inputs: Mapping[str, str] = field(default_factory=dict)

    def path(self, within: str) -> Path:
        """Return the path, on this machine, of something that was written on the runner."""
        return self.folder / "changes" / within.removeprefix("/")

    def check_out(self) -> None:
        """Write the lab's tracked files to where the runner unpacks an action, and make the workspace.

        A runner knows its own name; else sudo warns.
        """
        hosts = self.path("/etc/hosts")
        hosts.parent.mkdir(parents=True, exist_ok=True)
        hosts.write_text(f"127.0.0.1 localhost {socket.gethostname()}\n")
        for each in (LAB, WORKSPACE):
            self.path(each).mkdir(parents=True)
        changed = subprocess.run(["git", "stash", "create"], cwd=ROOT, capture_output=True, text=True, check=True)
        commit = changed.stdout.strip() or "HEAD"
        packed = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
        subprocess.run(["tar", "--extract", "--directory", self.path(LAB)], input=packed, check=True)
        self.own()

    def put_kernel(self, kernel: Path) -> None:
        """Put a guest kernel and its record where the action's cache puts them."""
        self.path(KEPT).mkdir(parents=True)
        for file in (kernel, kernel.with_name(f"{kernel.name}.json")):
            shutil.copy(file, self.path(KEPT))
        self.own()

    def put_front(self, fault: Fault) -> None:
        """Put the folder `front` into the workspace: the front of these tests, with a fault. The lab must be set up."""
        front = self.path(f"{WORKSPACE}/front")
        shutil.rmtree(front, ignore_errors=True)
        front_folder(front, fault, python=f"{LAB}/.venv/bin/python", lab=LAB)
        self.own()

    def own(self) -> None:
        """Make the runner's user the owner of everything in its home."""
        home, inside = self.path(HOME), (self.tree / HOME.removeprefix("/")).stat()
        subprocess.run(["chown", "-R", f"{inside.st_uid}:{inside.st_gid}", home], check=True)

    def step(self, name: str, refused: Refused, **further: str) -> Ended:
        """Carry out a step. further: environment variables that the runner, or the user, sets."""
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script(name)]
        return self.run(words, refused, **{**variables(name, self.inputs), **further})

    def run(self, words: list[str], refused: Refused, **further: str) -> Ended:
        """Run a command in the workspace. Everything that it has started ends with it."""
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTION_PATH": LAB,
            "GITHUB_WORKSPACE": WORKSPACE,
            **trees.passed_on(os.environ),
            **further,
        }
        before, started = _processor_s(), time.monotonic()
        done = subprocess.run(
            command(self.tree, self.folder, refused, words),
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )
        return Ended(
            code=done.returncode,
            out=done.stdout,
            err=done.stderr,
            wall_s=time.monotonic() - started,
            processor_s=_processor_s() - before,
        )


def _processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
