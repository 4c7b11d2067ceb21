"""The image of the lab: it runs the default experiment in the guest, and by namespaces."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.lab import Lab
from tools.image import __main__ as image

pytestmark = [pytest.mark.usefixtures("compose", "guest"), pytest.mark.containers]

_MOST_BYTES = 700 * 10**6
_MAY_MAKE_NAMESPACES = (
    *("--cap-add", "SYS_ADMIN", "--cap-add", "NET_ADMIN", "--cap-add", "SYS_PTRACE"),
    *("--security-opt", "seccomp=unconfined"),
)
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


def _maps(results: Path, user: int) -> tuple[Path, str]:
    """Runs the default experiment as a user. Returns its folder, and what it printed."""
    results.mkdir()
    os.chown(results, user, user)
    done = _run(results, "run", "LOWAT=131072", "SEED=1", options=("--user", f"{user}:{user}"))
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = results.glob("maps-*")
    return folder, done.stdout


def test_the_default_experiment(lab: Lab, tmp_path: Path) -> None:
    """Under Docker's default profile, root and any other user get the same event logs, with table and picture.

    First bytes are those outside of the image, where Python and Node may have other versions.
    """
    (inside, said), (again, _) = (_maps(tmp_path / str(user), user) for user in (0, 12345))
    assert "picture: results/" in said
    logs = sorted(file.relative_to(inside) for file in inside.rglob("*.jsonl"))
    assert len(logs) > 10
    for name in logs:
        assert (inside / name).read_bytes() == (again / name).read_bytes(), name
    outside = lab.run("LOWAT=131072", "SEED=1")
    for arm, verdict in (("control", "inverted"), ("lowat-131072", "kept")):
        run = json.loads((inside / f"{arm}.1" / "run.json").read_text())
        assert (run["status"], run["fabric"], run["verdict"]) == ("ok", "virtual", verdict)
        there = outside.arm(arm)["script"]["first_byte_ms"]
        assert run["loads"][-1]["first_byte_ms"] == pytest.approx(there, abs=1)


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
