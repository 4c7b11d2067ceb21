"""The action of action.yml: it runs the lab's own commands, and the gate works with the limits of a stock runner."""

import io
import json
import os
import re
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from priolab.common.cache_folder import cache_folder
from priolab.common.home import ROOT
from priolab.experiments import cli
from priolab.experiments.setup.packages import ARCHIVE_FILES
from priolab.extras.gate.tests.action import KEPT, LAB, WORKSPACE, StockRunner, action, script
from priolab.extras.gate.tests.front.scheduler import Fault
from priolab.testbed.guest import kernel
from tests.support.stock_runner import Refused
from tools.suites import runner as stock_tree

_EXPECT = 'format = 1\n[[check]]\nkind = "urgency"\n[[check]]\nkind = "reset"\n[[check]]\nkind = "late"\nloads = 1\n'


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
    names = [step["name"] for step in steps]
    assert names.index("Set the lab up") < names.index("Keep the guest kernel") < names.index("Run the gate")
    taken, kept = (step for step in steps if "uses" in step)
    for step, way in ((taken, "restore"), (kept, "save")):
        assert re.fullmatch(f"actions/cache/{way}@[0-9a-f]{{40}}", step["uses"])  # a tag can be moved to other code
        assert step["with"]["path"] == "~/.cache/priolab/linux-*"
    assert kernel.path().name.startswith("linux-")
    assert cache_folder().name == "priolab"
    assert (ROOT / "testbed/guest").is_dir()
    assert os.access(ROOT / "experiments/setup/setup.sh", os.X_OK)


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
    setup = tmp_path / "experiments" / "setup" / "setup.sh"
    setup.parent.mkdir(parents=True)
    setup.write_text('#!/bin/sh\nprintf "%s" "$PRIOLAB_KNOBS"\n')
    setup.chmod(0o755)
    environment = {**os.environ, "PRIOLAB_KNOBS": "FABRIC=virtual", "SERVER": server}
    environment["GITHUB_ACTION_PATH"] = str(tmp_path)
    assert _said("Set the lab up", environment) == knobs


def test_the_name_of_the_kernel(tmp_path: Path) -> None:
    """The cache's key follows from the files that decide the guest kernel, wherever the action is."""
    digests = []
    for name, config in (("a", "CONFIG_NET=y"), ("b", "CONFIG_NET=y"), ("c", "CONFIG_NET=n")):
        folder, output = tmp_path / name / "testbed/guest", tmp_path / f"{name}.output"
        folder.mkdir(parents=True)
        (folder / "kernel.config").write_text(config)
        (folder / "kernel.pyc").write_text(name)
        variables = {"GITHUB_ACTION_PATH": str(tmp_path / name), "GITHUB_OUTPUT": str(output)}
        _said("Name the guest kernel", os.environ | variables)
        digests.append(output.read_text())
    assert all(re.fullmatch(r"digest=[0-9a-f]{16}\n", digest) for digest in digests)
    assert digests[0] == digests[1] != digests[2]


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> StockRunner:
    """A stock runner that has carried out the steps before the gate, with the kernel from the cache."""
    made = StockRunner(
        tree=stock_tree.make(cache_folder().parent).root,
        folder=tmp_path_factory.mktemp("runner"),
        inputs={"server": "./front", "expect": "expect.toml"},
    )
    made.check_out()
    made.path(f"{WORKSPACE}/expect.toml").write_text(_EXPECT)
    made.put_kernel(kernel.path())
    done = made.step("Set the lab up", Refused.AT_ONCE)
    assert done.code == 0, done.err
    assert "kernel" not in done.out
    return made


@pytest.mark.needs("stock-runner", "guest-kernel")
@pytest.mark.parametrize(
    ("fault", "refused", "code", "last"),
    [(Fault.NONE, Refused.AT_ONCE, 0, "pass: "), (Fault.BUFFERS, Refused.WITHOUT_RIGHTS, 1, "FAIL: ")],
)
def test_a_stock_runner(runner: StockRunner, fault: Fault, refused: Refused, code: int, last: str) -> None:
    """Without user namespaces and with two processors the gate gives its result. In a log each run has one line."""
    runner.put_front(fault)
    done = runner.step("Run the gate", refused, GITHUB_STEP_SUMMARY="summary.md")
    assert done.code == code, done.out + done.err
    lines = done.out.splitlines()
    assert lines[-2].startswith(last)
    begun = re.fullmatch(r"3 checks of .*, (\d+) runs", lines[0])
    assert begun is not None, lines[0]
    ended = [line for line in lines if re.match(r" *\d+\.\d s  ", line)]
    assert all(line.endswith(": ok") for line in ended), ended
    assert len(ended) == int(begun[1])
    workspace = runner.path(WORKSPACE)
    assert f"## priolab gate: {last}" in (workspace / "summary.md").read_text()
    assert (workspace / "priolab-gate.xml").read_text().count("<testcase ") == 3


@pytest.mark.needs("stock-runner", "guest-kernel")
@pytest.mark.parametrize(
    ("refused", "said", "remedy"),
    [
        (Refused.AT_ONCE, "unshare failed: Operation not permitted", "run as root"),
        (
            Refused.WITHOUT_RIGHTS,
            ": Operation not permitted",
            "the setting kernel.apparmor_restrict_unprivileged_userns=1",
        ),
    ],
)
def test_without_user_namespaces(runner: StockRunner, refused: Refused, said: str, remedy: str) -> None:
    """The doctor knows that guests work and namespaces do not. The set-up refuses FABRIC=netns, and says why."""
    done = runner.run([f"{LAB}/.venv/bin/priolab", "doctor", "--json"], refused)
    assert done.code == 0, done.err
    options = json.loads(done.out)["fabrics"]
    assert {option["fabric"] for option in options if option["usable"]} == {"virtual"}
    for option in options:
        if option["fabric"] == "netns":
            assert option["reason"].startswith("namespaces cannot be made: exit code 1: unshare: ")
            assert option["reason"].endswith(said)
            assert option["remedy"].startswith(remedy)
    done = runner.run([f"{LAB}/experiments/setup/setup.sh", "FABRIC=netns"], refused)
    assert done.code == 1
    (line,) = done.err.splitlines()
    assert line.startswith("setup: FABRIC=netns: ")
    assert remedy in line
    assert line.endswith(", or use FABRIC=virtual")


def test_a_kernel_source_that_does_not_fit(runner: StockRunner) -> None:
    """Without Debian's archive the distribution's source stands in; if it does not fit, one line has the remedies.

    It is unpacked once. What knows Debian's archive and its keys is installed.
    """
    for file in runner.path(KEPT).glob("linux-*"):
        file.unlink()
    _put_source(runner.path("/usr/src/linux-source-6.8.0.tar.bz2"))
    noted = []
    for _ in range(2):
        done = runner.step("Set the lab up", Refused.AT_ONCE, MIRROR="http://127.0.0.1:9/debian")
        assert done.code == 1
        (line,) = done.err.splitlines()
        assert line.startswith("priolab: building the guest kernel: Linux 6.8 has other lines than the change ")
        assert "MIRROR=http://HOST/debian" in line
        assert "KERNEL=FILE#sha256=DIGEST" in line
        (misfit,) = runner.path(KEPT).glob("linux-6.8-*.misfit")
        noted.append(misfit.stat().st_mtime_ns)
    assert noted[0] == noted[1]
    assert all(runner.path(name).exists() for name in ARCHIVE_FILES)


def _put_source(tarball: Path) -> None:
    """Write a Linux source that has the files which the lab changes, with other lines."""
    tarball.parent.mkdir(parents=True, exist_ok=True)
    names = {name for change in kernel.needed((6, 8)) for name in change.files}
    with tarfile.open(tarball, "w:bz2") as packed:
        for name in (*sorted(names), "last"):
            content = b"int other;\n"
            entry = tarfile.TarInfo(f"linux-source-6.8.0/{name}")
            entry.size = len(content)
            packed.addfile(entry, io.BytesIO(content))
