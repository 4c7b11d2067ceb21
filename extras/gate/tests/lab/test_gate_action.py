"""The action of action.yml: it runs the lab's own commands, and the gate works with the limits of a stock runner."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from priolab.common.cache_folder import cache_folder
from priolab.experiments import cli
from priolab.experiments.host.home import ROOT
from priolab.experiments.testbed.guest import kernel
from priolab.extras.gate.tests.front.folder import front_folder
from priolab.extras.gate.tests.front.scheduler import Fault
from tests.support import ordinary
from tests.support.lab import Lab
from tests.support.ordinary_lab import OrdinaryLab

_EXPECT = 'format = 1\n[[check]]\nkind = "urgency"\n[[check]]\nkind = "reset"\n[[check]]\nkind = "late"\nloads = 1\n'


def action() -> dict[str, Any]:
    """Return the parsed action."""
    document: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
    return document


def script(name: str) -> str:
    """Return the script of a step."""
    (step,) = (each for each in action()["runs"]["steps"] if each["name"] == name)
    return str(step["run"])


def _said(step: str, environment: Mapping[str, str]) -> str:
    """Run a step's script as an action does. Return its standard output."""
    command = ["bash", "-eo", "pipefail", "-c", script(step)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=True)
    return done.stdout


def test_the_action() -> None:
    """It is a composite action, whose steps name a shell and use every input, and keep the cache's folder."""
    document = action()
    assert document["runs"]["using"] == "composite"
    steps = document["runs"]["steps"]
    assert all("shell" in step for step in steps if "run" in step)
    text = (ROOT / "action.yml").read_text()
    for name, described in document["inputs"].items():
        assert f"${{{{ inputs.{name} }}}}" in text
        assert set(described) == {"description", "default"}
    (cache,) = (step for step in steps if step.get("uses", "").startswith("actions/cache@"))
    assert re.fullmatch(r"actions/cache@[0-9a-f]{40}", cache["uses"])  # a tag can be moved to other code
    assert cache["with"]["path"] == "~/.cache/priolab"
    assert cache_folder().name == "priolab"
    assert (ROOT / "experiments/testbed/guest").is_dir()
    assert os.access(ROOT / "experiments/host/setup.sh", os.X_OK)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"SERVER": "nginx"}, ["nginx", "FABRIC=virtual"]),
        (
            {"SERVER": "./my front", "PROGRAM": "b", "EXPECT": "e.toml", "KNOBS": "SEED=2 CC=bbr"},
            ["./my front", "FABRIC=virtual", "--program", "b", "--expect", "e.toml", "SEED=2", "CC=bbr"],
        ),
    ],
)
def test_the_words_of_the_gate(tmp_path: Path, inputs: dict[str, str], words: list[str]) -> None:
    """The script gives the inputs to `priolab gate` as the command line takes them."""
    program = tmp_path / ".venv" / "bin" / "priolab"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    usual = {"PROGRAM": "", "EXPECT": "", "KNOBS": "", "JUNIT": "j.xml", "LIMIT": "60s"}
    environment = {**os.environ, **usual, **inputs, "GITHUB_ACTION_PATH": str(tmp_path)}
    given = _said("Run the gate", environment).splitlines()
    assert given == ["gate", *words[:2], "--junit", "j.xml", "--limit", "60s", *words[2:]]
    options = cli.command_line(given).parse_known_args(given)[0]
    assert str(options.junit) == "j.xml"


@pytest.mark.parametrize(("server", "knobs"), [("h2o", "FABRIC=virtual SERVER=h2o"), ("./mine", "FABRIC=virtual")])
def test_the_set_up(tmp_path: Path, server: str, knobs: str) -> None:
    """The script sets up the server of the catalogue, and nothing for a folder of the user's own."""
    setup = tmp_path / "experiments" / "host" / "setup.sh"
    setup.parent.mkdir(parents=True)
    setup.write_text('#!/bin/sh\nprintf "%s" "$PRIOLAB_KNOBS"\n')
    setup.chmod(0o755)
    environment = {**os.environ, "PRIOLAB_KNOBS": "FABRIC=virtual", "SERVER": server}
    environment["GITHUB_ACTION_PATH"] = str(tmp_path)
    assert _said("Set the lab up", environment) == knobs


@pytest.mark.usefixtures("guest")
@pytest.mark.parametrize(("fault", "code", "last"), [(Fault.NONE, 0, "pass: "), (Fault.BUFFERS, 1, "FAIL: ")])
def test_a_stock_runner(ordinary_lab: OrdinaryLab, fault: Fault, code: int, last: str) -> None:
    """Without root, without user namespaces and with two processors, the gate says the same in under a minute.

    In a log each run has one line.
    """
    lab = ordinary_lab
    front = front_folder(lab.root / "front", fault)
    expect, summary = lab.root / "expect.toml", lab.root / "tmp" / "summary.md"
    expect.write_text(_EXPECT)
    _bring_kernel(lab)
    done = _as_on_a_runner(
        lab,
        *(sys.executable, "-m", "priolab.experiments", "gate", str(front), "FABRIC=virtual"),
        *(f"RESULTS={lab.root}/tmp/results", "--expect", str(expect), "--limit", "60s"),
        GITHUB_STEP_SUMMARY=str(summary),
    )
    assert done.returncode == code, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1].startswith(last)
    begun = re.fullmatch(r"3 checks of .*, (\d+) runs", lines[0])
    assert begun is not None, lines[0]
    ended = [line for line in lines if re.match(r" *\d+\.\d s  ", line)]
    assert all(line.endswith(": ok") for line in ended), ended
    assert len(ended) == int(begun[1])  # in a log, a line for each run
    assert summary.read_text().startswith(f"## priolab gate: {last}")


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's machine may allow no user namespaces anyway")
def test_the_limits_are_there(ordinary_lab: OrdinaryLab) -> None:
    """The imitation refuses a user namespace, which this machine would allow."""
    done = _as_on_a_runner(ordinary_lab, "unshare", "--user", "true")
    assert done.returncode != 0
    assert "Operation not permitted" in done.stderr


def _bring_kernel(lab: OrdinaryLab) -> None:
    """Copy the guest kernel to the ordinary user's cache, as the action's cache does."""
    built, cache = kernel.path(), lab.cache / "priolab"
    cache.mkdir(parents=True)
    for file in (built, built.with_name(f"{built.name}.json")):
        shutil.copy(file, cache)
    if os.geteuid() == 0:
        for file in (lab.cache, cache, *cache.iterdir()):
            os.chown(file, ordinary.NOBODY, ordinary.NOBODY)


def _as_on_a_runner(lab: Lab, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    limited = (sys.executable, "-m", "tests.lab.stock_runner", *words)
    command = ordinary.command(lab.root / "stage", *limited) if os.geteuid() == 0 else list(limited)
    environment = lab.environment | variables
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
