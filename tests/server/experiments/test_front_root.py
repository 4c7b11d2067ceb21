"""Tests of a front's root: a program from a tiny file tree runs in it, and cannot change it; nothing stays mounted."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from priolab.experiments.hosts.namespaces.front_root import without_env
from priolab.testbed.topology.namespace_requirements import entering

pytestmark = pytest.mark.usefixtures("netns")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a root with a shell, its libraries, and nothing else."""
    made = tmp_path / "root"
    listed = subprocess.run(["ldd", "/bin/sh"], capture_output=True, text=True, check=True).stdout
    for file in ["/bin/sh", *re.findall(r"(/\S+) \(0x", listed)]:
        target = made / file.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    (made / "usr/share").mkdir(parents=True)
    (made / "usr/share/version").write_text("tiny")
    (made / "share").symlink_to("usr/share")
    return made


def _seen(root: Path, shared: Path, *command: str) -> tuple[dict[str, Any], str]:
    """Returns what in_root.py printed, and the command's output."""
    log = shared.parent / "output.log"
    words = [sys.executable, "-m", "tests.server.experiments.in_root", str(root), str(shared), str(log), *command]
    done = subprocess.run([*entering(), *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen, log.read_text()


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """Return a folder that the front may write to."""
    folder = tmp_path / "run" / "front"
    folder.mkdir(parents=True)
    return folder


def test_a_program_sees_its_root_and_the_shared_folder(root: Path, shared: Path) -> None:
    """The program finds its own files, /proc and devices, and writes to the shared folder under its path outside."""
    script = f"read version </share/version; echo $version >{shared}/said; echo >/dev/null; [ -d /proc/self ]; echo $?"
    seen, output = _seen(root, shared, "/bin/sh", "-c", script)
    assert seen["succeeded"], output
    assert output == "0\n"
    assert (shared / "said").read_text() == "tiny\n"
    own = {path.name for path in root.iterdir()} | {"dev", "proc", "run", "tmp", shared.parts[1]}
    assert set(seen["names"]) == own


def test_a_readable_folder_cannot_be_written(root: Path, shared: Path) -> None:
    """The program reads a file of the lab's under its path outside, and can neither change it nor add one."""
    readable = shared.with_name("readable")
    readable.mkdir()
    (readable / "server.mjs").write_text("the lab's\n")
    script = f"read line <{readable}/server.mjs; echo $line; echo >{readable}/server.mjs; echo >{readable}/more"
    seen, output = _seen(root, shared, "/bin/sh", "-c", script)
    assert output.startswith("the lab's\n")
    assert output.count("Read-only file system") == 2
    assert (readable / "server.mjs").read_text() == "the lab's\n"
    assert [path.name for path in readable.iterdir()] == ["server.mjs"]
    assert seen["mounts"][0] == seen["mounts"][2]


def test_nothing_stays_mounted(root: Path, shared: Path) -> None:
    """After the program's end all mounts are gone, and the folder that they were in."""
    seen, _ = _seen(root, shared, "/bin/sh", "-c", ":")
    before, during, after = seen["mounts"]
    assert before == after < during
    assert seen["left"] is False
    assert (root / "usr/share/version").exists()


def test_a_program_cannot_change_its_root(root: Path, shared: Path) -> None:
    """The root's folders are read-only; /tmp is not, and does not reach this machine's /tmp."""
    script = "echo >/tmp/mine-alone && ! (echo >/usr/share/version) && ! (echo >/usr/new)"
    seen, output = _seen(root, shared, "/bin/sh", "-c", script)
    assert seen["succeeded"], output
    assert output.count("Read-only file system") + output.count("cannot create") >= len(["version", "new"])
    assert (root / "usr/share/version").read_text() == "tiny"
    assert not Path("/tmp/mine-alone").exists()


def test_a_shared_folder_may_lie_below_a_folder_of_the_root(root: Path, tmp_path: Path) -> None:
    """The root's other files in the same folders stay visible."""
    outside = tmp_path / "usr" / "share" / "front"
    outside.mkdir(parents=True)
    beside = root / outside.relative_to("/").parent / "version"
    beside.parent.mkdir(parents=True)
    beside.write_text("beside")
    script = f"read found <{beside.parent.relative_to(root) / 'version'}; echo $found >{outside}/said"
    seen, output = _seen(root, outside, "/bin/sh", "-c", script)
    assert seen["succeeded"], output
    assert (outside / "said").read_text() == "beside\n"


def test_variables_need_no_env_in_the_root(root: Path, shared: Path) -> None:
    """A command that begins with env(1) gets its variables, though the root has no such program."""
    seen, output = _seen(root, shared, "env", "HOME=/there", "N=1=2", "/bin/sh", "-c", "echo $HOME $N")
    assert seen["succeeded"], output
    assert output == "/there 1=2\n"


@pytest.mark.parametrize(
    ("command", "variables", "words"),
    [
        (["nginx", "A=1"], {}, ("nginx", "A=1")),
        (["env", "A=1", "B=", "caddy", "run"], {"A": "1", "B": ""}, ("caddy", "run")),
        (["env", "caddy"], {}, ("caddy",)),
        ([], {}, ()),
    ],
)
def test_a_commands_variables_come_before_its_program(
    command: list[str], variables: dict[str, str], words: tuple[str, ...]
) -> None:
    """Words with an equals sign are variables only directly after `env`."""
    assert without_env(command) == (variables, words)
