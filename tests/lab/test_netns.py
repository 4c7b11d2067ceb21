"""Experiments in namespaces of this machine, in real time: verdicts, failures, and that nothing is left."""

import os
import random
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from priolab.common.descriptors import with_descendants
from priolab.experiments.setup.wheels import program_in_cache
from priolab.netem.calibration import REAL
from priolab.proxy.server import catalogue, server_of
from tests.support import ordinary
from tests.support.endings import Traces, must_have_failed, nothing_is_left, started, words_of
from tests.support.lab import Done, Lab, make_lab
from tests.support.ordinary_lab import OrdinaryLab
from tests.support.punctuality import Witness, any_late, must_be_punctual, was_late

pytestmark = pytest.mark.usefixtures("netns")

_QUICK = ("FABRIC=netns", "SHAPER=ferry", "RATE=unlimited", "DELAY=10ms", "CONTROL=no")
_ENDLESS = (*_QUICK, "JS_DELAY=30s")
_LOADING = "load 1 of 3"
_PLACES = 4
_SOON_S = 25.0
_LOSSLESS = ("FABRIC=netns", "RATE=8mbit", "DELAY=10ms", "QUEUE=300")
"""A lost packet brings the image's end and the script in one read, so that less of the image seems to come before."""
_MAPS = ("FABRIC=netns", "LOWAT=16384", "SIZE=400000", "RELOADS=0")
_ANNOUNCED = ("maps: ", "fabric: ", "link: ")
_STEP = re.compile(r" +[\d.]+ s  (control|lowat-16384)[.]1: ")
_AT_ONCE = 10


@pytest.mark.parametrize(
    ("victim", "server", "reason"),
    [
        ("nginx: master process", "nginx", "the front (nginx): it was ended by SIGKILL"),
        ("nginx: worker process", "nginx", "the front (nginx): the process that served the client has ended"),
        pytest.param(
            *("h2o -m worker", "h2o", "the front (h2o): it was ended by SIGKILL"), marks=pytest.mark.needs("h2o")
        ),
        ("-m priolab.netem.ferry", "nginx", "the link (ferry): it was ended by SIGKILL"),
        ("-m priolab.client", "nginx", "the client: it was ended by SIGKILL"),
        ("origin.mjs", "nginx", "the origin: it was ended by SIGKILL"),
        ("-m priolab.experiments.run.process", "nginx", "it ended without an outcome"),
    ],
)
def test_whoever_is_killed_during_the_load_is_the_reason(lab: Lab, victim: str, server: str, reason: str) -> None:
    """If a process is killed, the run fails within seconds, and the reason names that process's part and its end."""
    traces = Traces()
    with started(lab, traces, *_ENDLESS, f"SERVER={server}", until=_LOADING) as running:
        time.sleep(0.3)
        traces.look(running.pid)
        assert traces.networks() >= _PLACES
        # The last process is the innermost: unshare(1) has the same words in its command line.
        *_, killed = (pid for pid in with_descendants(running.pid) if victim in words_of(pid))
        os.kill(killed, signal.SIGKILL)
        running.communicate(timeout=_SOON_S)
        assert running.returncode == 1
    must_have_failed(lab.latest(), reason)
    nothing_is_left(lab)
    traces.must_be_gone()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("step", ["places", "origin and front", "link", _LOADING])
def test_an_interrupted_run_leaves_nothing(lab: Lab, step: str, number: signal.Signals) -> None:
    """A signal at any step, sent to all processes that a terminal would send it to, leaves nothing."""
    traces = Traces()
    with started(lab, traces, *_ENDLESS, until=f": {step}") as running:
        time.sleep(random.Random(f"{step} {number}").uniform(0, 0.3))
        traces.look(running.pid)
        os.killpg(running.pid, number)
        _, err = running.communicate(timeout=_SOON_S)
        assert running.returncode == 128 + number
        assert f"interrupted by {number.name}; nothing was kept" in err
    nothing_is_left(lab)
    assert list(lab.results.iterdir()) == []
    traces.must_be_gone()


def test_nobody_looks_up_the_local_time(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every process of a run has TZ=UTC, whatever the user's time zone.

    nginx is not checked, because it writes its title over the environment that proc(5) shows.
    """
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    traces = Traces()
    with started(lab, traces, *_ENDLESS, until=_LOADING) as running:
        seen = {words_of(pid): Path(f"/proc/{pid}/environ").read_bytes() for pid in with_descendants(running.pid)[1:]}
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=_SOON_S)
    shown = {words for words in seen if not words.startswith("nginx: ")}
    for part in (
        "supervisor.py",
        "priolab.experiments.run.process",
        "priolab.netem.ferry",
        "origin.mjs",
        "-m priolab.client",
    ):
        assert any(part in words for words in shown), part
    assert [words for words in shown if b"TZ=UTC" not in seen[words].split(b"\0")] == []
    traces.must_be_gone()


def test_a_killed_lab_leaves_its_partial_folder_alone(lab: Lab) -> None:
    """A lab ended by SIGKILL leaves its partial folder, but no process, namespace or temporary file."""
    traces = Traces()
    with started(lab, traces, *_ENDLESS, until=_LOADING) as running:
        traces.look(running.pid)
        running.kill()
        running.communicate(timeout=_SOON_S)
    traces.must_be_gone()
    nothing_is_left(lab, partial=1)


def test_a_killed_keeper_leaves_nothing(lab: Lab) -> None:
    """If the supervisor is killed, all processes of the run end, and the run fails."""
    traces = Traces()
    with started(lab, traces, *_ENDLESS, until=_LOADING) as running:
        traces.look(running.pid)
        (supervisor,) = (pid for pid in with_descendants(running.pid) if "supervisor.py" in words_of(pid))
        os.kill(supervisor, signal.SIGKILL)
        running.communicate(timeout=_SOON_S)
        assert running.returncode == 1
    must_have_failed(lab.latest(), "it ended without an outcome")
    nothing_is_left(lab)
    traces.must_be_gone()


@pytest.mark.punctual
def test_ten_at_once_have_the_verdicts_of_a_lone_one(tmp_path: Path) -> None:
    """Ten labs at the same time have the verdicts of a single lab, and each has results of its own.

    Ten labs on few processors delay each other's processes. A lab may report that they were delayed too long, and then
    runs again alone. If the machine itself was not late, at least one lab is on time.
    """
    expected = {"control": "inverted", "lowat-16384": "kept"}
    assert _verdicts(make_lab(_made(tmp_path / "lone")).run_on_time(*_MAPS)) == expected
    traces = Traces()
    labs = [make_lab(_made(tmp_path / f"lab-{number}")) for number in range(_AT_ONCE)]
    with Witness() as witness:
        running = [
            subprocess.Popen(
                lab.command(*_MAPS, "--print-folder"),
                env=lab.environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            for lab in labs
        ]
        try:
            time.sleep(5)
            for process in running:
                traces.look(process.pid)
            errors = [process.communicate(timeout=120)[1] for process in running]
        finally:
            for process in running:
                process.kill()
                process.wait()
    said = [line for text in errors for line in text.splitlines()]
    assert [line for line in said if not (line.startswith(_ANNOUNCED) or _STEP.match(line))] == []
    late = []
    for lab, process in zip(labs, running, strict=True):
        verdicts = _verdicts(lab.latest())
        if _on_time(verdicts) == verdicts:
            assert (process.returncode, verdicts) == (0, expected)
        else:
            assert process.returncode == 1
            assert _on_time(verdicts).items() <= expected.items()
            late.append(lab)
        nothing_is_left(lab)
    traces.must_be_gone()
    assert len(late) < _AT_ONCE or witness.worst_ns > REAL.round_trip_ns
    for lab in late:
        assert _verdicts(lab.run_on_time(*_MAPS)) == expected
        nothing_is_left(lab)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _on_time(verdicts: dict[str, str]) -> dict[str, str]:
    """Returns the verdicts without those of arms that the machine delayed."""
    return {arm: verdict for arm, verdict in verdicts.items() if not was_late(verdict)}


def _verdicts(done: Done) -> dict[str, str]:
    """Returns the verdict of each arm, or the reason if the arm has no verdict."""
    assert done.summary is not None, done.err
    return {arm["name"]: arm["verdict"] or arm["reason"] for arm in done.summary["arms"]}


@pytest.mark.punctual
def test_an_ordinary_user(ordinary_lab: OrdinaryLab, server: str) -> None:
    """An ordinary user's run, in a user namespace, is measured as root's is, and the user owns all files."""
    words = (*_LOSSLESS, "SIZE=400000", "RELOADS=0", f"SERVER={server}")
    if program := program_in_cache(server_of(server)):
        shutil.copytree(program.parent, ordinary_lab.cache / "priolab" / "programs" / program.parent.name)
    run = ordinary_lab.run if server == "nginx" else ordinary_lab.run_unseen  # figures take as long as a run
    done = must_be_punctual(lambda: run(*words), lambda done: any_late(done.summary), or_if=_counted_late)
    assert done.code == 0, done.trouble
    assert done.folder is not None
    assert done.arm("control")["verdict"] == "inverted"
    cost = _cost(done)
    assert cost["wakeups"] > 0
    assert (cost["read_calls"], cost["write_calls"]) == (None, None)
    assert "BPF" in cost["reasons"]["read_calls"]
    user = ordinary.NOBODY if os.geteuid() == 0 else os.geteuid()
    assert {path.lstat().st_uid for path in ordinary_lab.results.rglob("*")} == {user}
    _must_not_name_users(done.folder)
    nothing_is_left(ordinary_lab)


def _cost(done: Done) -> dict[str, Any]:
    cost: dict[str, Any] = done.arm("control")["loads"][-1]["cost"]
    return cost


def _counted_late(done: Done) -> bool:
    """Returns True if the front had begun to work before the lab read its counters."""
    return done.code == 0 and "busy" in _cost(done)["reasons"].get("wakeups", "")


def _must_not_name_users(folder: Path) -> None:
    templates = {server.config_name for server in catalogue().values()}
    configurations = [file for file in folder.glob("*/asked/*") if file.name in templates]
    assert configurations
    for configuration in configurations:
        lines = configuration.read_text().splitlines()
        assert not [line for line in lines if line.strip().lower().startswith("user")], configuration
