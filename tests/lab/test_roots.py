"""Experiments whose front is a Debian suite's: in the guest, and in namespaces as root and as an ordinary user."""

import json
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from priolab.common.descriptors import with_descendants
from priolab.experiments.results.journal_lines import JOURNALS, lines
from priolab.experiments.setup.debian_tree import Root
from priolab.experiments.setup.root_making import obtain
from priolab.proxy.server import server_of
from tests.support import ordinary
from tests.support.endings import Traces, must_have_failed, nothing_is_left, started, words_of
from tests.support.lab import Lab
from tests.support.ordinary_lab import OrdinaryLab
from tests.support.punctuality import any_late, must_be_punctual

SERVER = "nginx@trixie"
_VERSION = "nginx version: nginx/1.26"
_SOON_S = 25.0
_ESTABLISHED = "01"  # TCP_ESTABLISHED, <net/tcp_states.h>


@pytest.fixture(scope="module")
def root() -> Root:
    """Return the root of nginx in Debian 13. It is fetched once, and kept in the user's cache."""
    return obtain(server_of(SERVER), print)


def _front(folder: Path | None, run: str) -> dict[str, Any]:
    assert folder is not None
    front: dict[str, Any] = json.loads((folder / run / "run.json").read_text())["front"]
    return front


@pytest.mark.usefixtures("guest")
def test_a_suites_server_beside_this_machines(lab: Lab, root: Root) -> None:
    """Both show the effect; run.json names the packages of the suite's server, and has none for the other."""
    done = lab.run_here("FABRIC=virtual", f"SERVER={SERVER},nginx", "LOWAT=131072", "SAMPLE=100ms")
    assert done.code == 0, done.trouble
    assert done.folder is not None
    for server in (SERVER, "nginx"):
        assert done.arm(f"{server}-control")["verdict"] == "inverted"
        assert done.arm(f"{server}-lowat-131072")["verdict"] == "kept"
    recorded = _front(done.folder, f"{SERVER}-control.1")["root"]
    assert recorded == root.record()
    assert recorded["version"].startswith(_VERSION)
    packages = {package["name"]: package for package in recorded["packages"]}
    assert {"nginx", "libc6", "libssl3t64"} <= packages.keys()
    assert {len(package["sha256"]) for package in packages.values()} == {64}
    assert "root" not in _front(done.folder, "nginx-control.1")
    fingerprint = json.loads((done.folder / "experiment.json").read_text())["fingerprint"]
    assert fingerprint["versions"][f"root of SERVER={SERVER}"] == root.name


@pytest.mark.usefixtures("guest")
def test_a_suites_server_repeats_to_the_byte(lab: Lab, root: Root) -> None:
    """With another C library, too, the same seed gives the same journals, in a guest's first run and later."""
    assert root.server == "nginx"
    words = ("FABRIC=virtual", f"SERVER={SERVER}", "LOWAT=16384", "CONTROL=no", "LOSS=1%", "RELOADS=0")
    first = lab.run_here(*words, "SEED=8", "REPEAT=1")
    later = lab.run_here(*words, "SEED=7", "REPEAT=2")
    assert (first.code, later.code) == (0, 0), first.trouble + later.trouble
    assert first.folder is not None
    assert later.folder is not None
    for journal in JOURNALS:
        once = list(lines(first.folder / "lowat-16384.1" / journal))
        again = list(lines(later.folder / "lowat-16384.2" / journal))
        assert once, journal
        assert once == again, journal


@pytest.mark.punctual
@pytest.mark.usefixtures("netns")
def test_an_ordinary_user_needs_no_right_for_a_root(ordinary_lab: OrdinaryLab, root: Root) -> None:
    """In a user namespace the suite's server is measured as this machine's is; the user's cache is unchanged."""
    roots = ordinary_lab.cache / "priolab" / "roots"
    shutil.copytree(root.path, roots / root.name, symlinks=True)
    shutil.copy(root.path.parent / f"{root.name}.json", roots)
    user = ordinary.NOBODY if os.geteuid() == 0 else os.geteuid()
    for path in [*ordinary_lab.cache.rglob("*"), ordinary_lab.cache]:
        os.chown(path, user, user, follow_symlinks=False)
    words = ("FABRIC=netns", f"SERVER={SERVER}", "RATE=8mbit", "DELAY=10ms", "SIZE=400000", "RELOADS=0")
    done = must_be_punctual(lambda: ordinary_lab.run(*words), lambda done: any_late(done.summary))
    assert done.code == 0, done.trouble
    assert done.arm("control")["verdict"] == "inverted"
    assert _front(done.folder, "control.1")["root"]["digest"] == root.digest
    assert {path.name for path in roots.iterdir()} == {root.name, f"{root.name}.json"}
    nothing_is_left(ordinary_lab)


@pytest.mark.usefixtures("netns")
@pytest.mark.parametrize(
    ("victim", "reason"),
    [
        ("nginx: worker process", "the front"),  # the sampler or the client is the first to see that it is gone
        ("-m priolab.experiments.run.process", "it ended without an outcome"),
    ],
)
def test_an_end_at_any_time_leaves_no_mount(lab: Lab, root: Root, victim: str, reason: str) -> None:
    """If a process is killed, the run fails for that reason, and the root is neither mounted any more nor changed."""
    before = {path: path.lstat().st_mtime_ns for path in root.path.iterdir()}
    words = ("FABRIC=netns", "SHAPER=ferry", "RATE=unlimited", "DELAY=10ms", "CONTROL=no", "JS_DELAY=30s")
    traces = Traces()
    with started(lab, traces, *words, f"SERVER={SERVER}", until="load 1 of 3") as running:
        traces.look(running.pid)
        seen = {words_of(pid): pid for pid in with_descendants(running.pid)}
        (master,) = (pid for said, pid in seen.items() if "nginx: master process" in said)
        assert not Path(f"/proc/{master}/root/home").exists()
        *_, killed = (pid for pid in with_descendants(running.pid) if victim in words_of(pid))
        _wait_until_it_serves(master)
        os.kill(killed, signal.SIGKILL)
        running.communicate(timeout=_SOON_S)
        assert running.returncode == 1
    must_have_failed(lab.latest(), reason)
    nothing_is_left(lab)
    traces.must_be_gone()
    mounts = Path("/proc/self/mounts").read_text()
    assert str(root.path) not in mounts
    assert str(lab.root) not in mounts
    assert {path: path.lstat().st_mtime_ns for path in root.path.iterdir()} == before


def test_without_the_root_one_line_names_the_remedy(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server of a suite that has not been fetched is not replaced by another one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(lab.root / "cache"))
    done = lab.run("FABRIC=netns", f"SERVER={SERVER}", "CONTROL=no")
    assert done.code != 0
    (line,) = done.err.splitlines()
    assert f"SERVER={SERVER} cannot be used here: {SERVER} is not installed; `make setup SERVER={SERVER}`" in line


def _wait_until_it_serves(pid: int) -> None:
    """Wait until the front has connections from the client and to the origin, which holds the script back."""
    end_s = time.monotonic() + _SOON_S
    while True:
        states = [line.split()[3] for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
        if states.count(_ESTABLISHED) >= 2:
            return
        assert time.monotonic() < end_s, states
        time.sleep(0.05)
