"""The image of the lab: it runs the default experiment in the guest, and by namespaces."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.lab import Lab
from tools.image import __main__ as image

pytestmark = [pytest.mark.usefixtures("compose", "guest"), pytest.mark.containers, pytest.mark.release]

_MOST_BYTES = 700 * 10**6
_MAY_MAKE_NAMESPACES = (
    *("--cap-add", "SYS_ADMIN", "--cap-add", "NET_ADMIN", "--cap-add", "SYS_PTRACE"),
    *("--security-opt", "seccomp=unconfined"),
)
_WITHOUT_SECCOMP = {
    "defaultAction": "SCMP_ACT_ALLOW",
    "syscalls": [
        {"names": ["seccomp"], "action": "SCMP_ACT_ERRNO"},
        {"names": ["prctl"], "action": "SCMP_ACT_ERRNO", "args": [{"index": 0, "value": 22, "op": "SCMP_CMP_EQ"}]},
    ],
}
"""A profile that refuses filters of system calls: seccomp(2), and prctl(2) with PR_SET_SECCOMP."""

_LIMITS = ("--pids-limit", "500", "--memory", "3g")


@pytest.fixture(scope="module", autouse=True)
def made() -> None:
    """Makes the image."""
    assert image.main() == 0


def _docker(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["docker", *words], capture_output=True, text=True, timeout=300, check=False)


def _run(results: Path, *words: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return _docker("run", "--rm", *_LIMITS, *options, "-v", f"{results}:/results", image.NAME, *words)


def test_its_size() -> None:
    """It is small enough to be fetched for a try."""
    assert int(_docker("image", "inspect", "--format", "{{.Size}}", image.NAME).stdout) < _MOST_BYTES


def _maps(results: Path, user: int, *options: str) -> tuple[Path, str]:
    """Runs the default experiment as a user. Returns its folder, and what it printed."""
    results.mkdir()
    os.chown(results, user, user)
    done = _run(results, "run", "LOWAT=131072", "SEED=1", options=("--user", f"{user}:{user}", *options))
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = results.glob("maps-*")
    return folder, done.stdout


def _entry(folder: Path) -> str:
    """Returns the way in which programs entered the guest's kernel."""
    entry: str = json.loads((folder / "control.1" / "run.json").read_text())["kernel"]["entry"]
    return entry


def test_the_default_experiment(lab: Lab, tmp_path: Path) -> None:
    """Under Docker's default profile, root and any other user get the same event logs, with table and picture.

    A profile that refuses seccomp(2) makes runs slower, and their event logs are the same. First bytes are those
    outside of the image, where servers read other files (decision 0011).
    """
    (tmp_path / "profile.json").write_text(json.dumps(_WITHOUT_SECCOMP))
    without = f"--security-opt=seccomp={tmp_path / 'profile.json'}"
    (inside, said), (again, _), (slower, _) = (
        _maps(tmp_path / str(user), user, *options) for user, options in ((0, ()), (12345, ()), (12346, (without,)))
    )
    assert (_entry(inside), _entry(again), _entry(slower)) == ("seccomp", "seccomp", "ptrace")
    assert "picture: results/" in said
    logs = sorted(file.relative_to(inside) for file in inside.rglob("*.jsonl"))
    assert len(logs) > 10
    for name in logs:
        assert (inside / name).read_bytes() == (again / name).read_bytes() == (slower / name).read_bytes(), name
    outside = lab.run("LOWAT=131072", "SEED=1")
    for arm, verdict in (("control", "inverted"), ("lowat-131072", "kept")):
        run = json.loads((inside / f"{arm}.1" / "run.json").read_text())
        assert (run["status"], run["fabric"], run["verdict"]) == ("ok", "virtual", verdict)
        there = outside.arm(arm)["script"]["first_byte_ms"]
        assert run["loads"][-1]["first_byte_ms"] == pytest.approx(there, abs=1)


@pytest.mark.punctual
def test_by_namespaces(tmp_path: Path) -> None:
    """With the rights that --privileged includes, the lab makes namespaces in the container.

    This is how it runs on other processors than x86-64. Here --privileged itself may be denied.
    """
    done = _run(
        tmp_path,
        "run",
        "FABRIC=netns",
        "CONTROL=no",
        "RELOADS=0",
        "SIZE=20480",
        "DELAY=20ms",
        options=_MAY_MAKE_NAMESPACES,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = tmp_path.glob("maps-*")
    (run,) = (json.loads(file.read_text()) for file in folder.glob("*/run.json"))
    assert (run["status"], run["fabric"]) == ("ok", "netns")
