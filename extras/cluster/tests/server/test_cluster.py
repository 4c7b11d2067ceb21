"""Tests of sweeps on a scheduler and workers on loopback, with a fabric that copies a finished run."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

from priolab.common.descriptors import process_ids
from priolab.common.errors import ScenarioError, StepFailed, Unavailable
from priolab.common.home import ROOT
from priolab.experiments.execution.conclusion import Run
from priolab.experiments.hosts.namespaces.netns import Netns
from priolab.experiments.sweep.sweep import Sweep
from priolab.extras.cluster.cluster import Cluster
from priolab.extras.cluster.parcel import BadParcel, unpack
from priolab.extras.cluster.tests.server.cluster import Dask, Heard, swept
from tests.support.endings import words_of
from tests.support.sweeping import KERNEL, CopyingFabric, sweep_of
from tests.support.waiting import until

VALUES = {"LOWAT": ("none", "4096", "16384", "65536")}
_KILL_WORKER = "kill -9 $(cut -d ' ' -f 4 /proc/$PPID/stat)"
"""The shell's parent is the supervisor, whose parent is the worker."""


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dask]:
    """Start a scheduler with one worker."""
    with Dask(tmp_path_factory.mktemp("cluster") / "dask") as dask:
        dask.start_workers({})
        yield dask


def names(results: Path) -> list[str]:
    """Return the names of the finished runs in the results folder."""
    (folder,) = (path for path in results.iterdir() if not path.is_symlink())
    return sorted(path.parent.name for path in folder.glob("*/run.json") if path.parent.suffix != ".partial")


def sleeping(seconds: str) -> bool:
    """Return True if a job of the sweep runs `sleep` with this duration."""
    return any(words_of(pid).split() == ["sleep", seconds] for pid in process_ids())


def with_a_sleeper(results: Path, seconds: str) -> Sweep:
    """Return a sweep in which the second run never ends."""
    fabric = CopyingFabric()
    sweep = sweep_of(VALUES, results=results, fabric=fabric)
    fabric.troubles = {sweep.order()[1].rpartition(".")[0]: f"exec sleep {seconds}"}
    return sweep


def test_a_worker_is_killed_and_another_refuses(tmp_path: Path) -> None:
    """If a worker is killed, every run is in the results once, and no process of the killed worker's job survives.
    A worker with another guest kernel than the head refuses in one line that names both kernels.
    """
    once = tmp_path / "once"
    fabric = CopyingFabric(runs_per_command=3, log=tmp_path / "made")
    kill = f"[ -e {once} ] || {{ touch {once}; {_KILL_WORKER}; exec sleep 61.5; }}; {fabric.copying()}"
    fabric.troubles = {"lowat-4096": kill}
    sweep = sweep_of(VALUES, repeat=3, results=tmp_path / "results", fabric=fabric)
    heard = Heard()
    with Dask(tmp_path / "dask") as dask:
        dask.start_workers({}, {}, {KERNEL: "another"})
        folder = swept(sweep, dask.address, heard)
        assert [worker.exitcode for worker in dask.workers if not worker.is_alive()] == [-signal.SIGKILL]
        assert not sleeping("61.5")
    assert {ending.status for ending in heard.endings.values()} == {"ok"}
    assert sorted(heard.endings) == names(sweep.results) == sorted(sweep.order())
    (refused,) = (step for step in heard.steps if "refuses" in step)
    assert refused.endswith("refuses: guest kernel another on the worker and none on the head")
    assert any("is lost" in step for step in heard.steps)
    made = (tmp_path / "made").read_text().split()
    assert len(sweep.order()) < len(made) <= len(sweep.order()) + fabric.runs_per_command
    assert sorted(path.name for path in folder.iterdir()) == sorted([*sweep.order(), "sweep.json", "experiment.json"])
    document = json.loads((folder / "lowat-none.1" / "run.json").read_text())
    assert document["experiment"] == folder.name


def test_a_run_that_kills_workers(tmp_path: Path) -> None:
    """A run that kills its workers fails with a reason. Runs of the same batch are repeated, and the sweep goes on."""
    fabric = CopyingFabric(runs_per_command=2, troubles={"lowat-4096": _KILL_WORKER})
    sweep = sweep_of(VALUES, results=tmp_path / "results", fabric=fabric)
    heard = Heard()
    with Dask(tmp_path / "dask", allowed_failures=0) as dask:
        dask.start_workers({}, {}, {})
        swept(sweep, dask.address, heard)
    assert sorted(heard.endings) == names(sweep.results) == sorted(sweep.order())
    bad = {name: ending.reason for name, ending in heard.endings.items() if ending.status != "ok"}
    assert bad == {"lowat-4096.1": "1 worker was lost during this run"}


def test_a_run_that_comes_to_nothing(dask: Dask, tmp_path: Path) -> None:
    """A run fails with the worker's exception as its reason. The other runs are made, and the worker goes on."""
    fabric = CopyingFabric(runs_per_command=3, faults={"lowat-4096": ValueError("odd")})
    sweep = sweep_of(VALUES, results=tmp_path / "results", fabric=fabric)
    heard = Heard()
    swept(sweep, dask.address, heard)
    bad = {name: ending.reason for name, ending in heard.endings.items() if ending.status != "ok"}
    assert bad == {"lowat-4096.1": "it failed 3 times: ValueError: odd"}
    assert sorted(heard.endings) == names(sweep.results) == sorted(sweep.order())
    assert not any("refuses" in step for step in heard.steps)
    assert sum("lowat-4096.1 failed: ValueError: odd" in step for step in heard.steps) >= 3


def test_what_comes_back_is_no_run_folder(dask: Dask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A run is repeated if its result is no run folder. It fails if no repetition gives one, and the sweep goes on."""
    damaged = {"lowat-4096.1": 1, "lowat-16384.1": 9}

    def damaging(content: bytes, folder: Path) -> None:
        name = folder.name.removesuffix(".partial")
        if damaged.get(name, 0):
            damaged[name] -= 1
            folder.mkdir()
            raise BadParcel("it ends in the middle")
        unpack(content, folder)

    monkeypatch.setattr("priolab.extras.cluster.cluster.unpack", damaging)
    sweep = sweep_of(VALUES, results=tmp_path / "results")
    heard = Heard()
    swept(sweep, dask.address, heard)
    bad = {name: ending.reason for name, ending in heard.endings.items() if ending.status != "ok"}
    assert bad == {
        "lowat-16384.1": "it failed 3 times: the worker returned no complete run folder: it ends in the middle"
    }
    assert damaged == {"lowat-4096.1": 0, "lowat-16384.1": 6}
    assert sorted(heard.endings) == names(sweep.results) == sorted(sweep.order())


def test_a_task_is_no_larger_than_what_may_be_lost(dask: Dask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A task contains at most ten runs, even if the fabric's command could carry out 40."""
    sizes: list[int] = []
    submit = Client.submit

    def counting(client: Client, do: Any, terms: Any, runs: Sequence[Run], *rest: Any, **more: Any) -> Any:
        sizes.append(len(runs))
        return submit(client, do, terms, runs, *rest, **more)

    monkeypatch.setattr(Client, "submit", counting)
    fabric = CopyingFabric(runs_per_command=40)
    sweep = sweep_of(VALUES, repeat=5, results=tmp_path / "results", fabric=fabric)
    swept(sweep, dask.address, Heard())
    assert sum(sizes) == 25
    assert max(sizes) == 10


def test_the_head_is_killed(dask: Dask, tmp_path: Path) -> None:
    """The workers' jobs end soon after the head. The next head continues the folder, and repeats no finished run."""
    results = tmp_path / "results"
    head = (
        "from pathlib import Path\n"
        "from priolab.extras.cluster.tests.server.cluster import Heard, swept\n"
        "from priolab.extras.cluster.tests.server.test_cluster import with_a_sleeper\n"
        f"swept(with_a_sleeper(Path({str(results)!r}), '62.5'), {dask.address!r}, Heard())\n"
    )
    with subprocess.Popen([sys.executable, "-c", head], cwd=ROOT) as process:
        try:
            until(lambda: sleeping("62.5") and names(results))
        finally:
            process.kill()
    there = names(results)
    until(lambda: not sleeping("62.5"))
    heard = Heard()
    sweep = sweep_of(VALUES, results=results)
    swept(sweep, dask.address, heard)
    assert sorted([*heard.endings, *there]) == names(results) == sorted(sweep.order())


def test_an_interrupted_head(dask: Dask, tmp_path: Path) -> None:
    """An interrupted head cancels its tasks, so that the workers are free at once."""

    class Interrupted(Heard):
        def ended(self, *_: object) -> None:
            until(lambda: sleeping("63.5"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        swept(with_a_sleeper(tmp_path / "results", "63.5"), dask.address, Interrupted())
    until(lambda: not sleeping("63.5"))
    assert len(names(tmp_path / "results")) == 1


def test_nobody_may_work(dask: Dask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If all workers refuse, the sweep starts nothing and gives their reasons."""
    monkeypatch.setenv(KERNEL, "another")
    sweep = sweep_of(VALUES, results=tmp_path / "results")
    with pytest.raises(
        Unavailable, match=r"all its workers refuse: .* kernel none on the worker and another on the head"
    ):
        swept(sweep, dask.address, Heard())
    assert not (tmp_path / "results").exists()


def test_a_worker_takes_its_leave(dask: Dask, tmp_path: Path) -> None:
    """A worker that is interrupted ends its jobs, and another worker makes their runs."""
    once = tmp_path / "once"
    stop = _KILL_WORKER.replace("-9", "-INT")
    fabric = CopyingFabric()
    fabric.troubles = {
        "lowat-4096": f"[ -e {once} ] || {{ touch {once}; {stop}; exec sleep 65.5; }}; {fabric.copying()}"
    }
    sweep = sweep_of(VALUES, results=tmp_path / "results", fabric=fabric)
    dask.start_workers({})
    heard = Heard()
    swept(sweep, dask.address, heard)
    until(lambda: not sleeping("65.5"))
    assert once.exists()
    assert sorted(heard.endings) == names(sweep.results) == sorted(sweep.order())
    assert {ending.status for ending in heard.endings.values()} == {"ok"}


def test_the_scheduler_is_lost(tmp_path: Path) -> None:
    """If the scheduler is lost, the sweep fails with this reason. Finished runs stay, and the workers' jobs end."""
    with Dask(tmp_path / "dask") as dask:
        dask.start_workers({})

        class Killing(Heard):
            def ended(self, *_: object) -> None:
                until(lambda: sleeping("64.5"))
                dask.scheduler.kill()
                dask.scheduler.join()

        with pytest.raises(StepFailed, match=f"the scheduler at {dask.address}: the connection is lost"):
            swept(with_a_sleeper(tmp_path / "results", "64.5"), dask.address, Killing())
        until(lambda: not sleeping("64.5"))
    assert len(names(tmp_path / "results")) == 1


def test_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection fails within a bounded time if no scheduler answers."""
    monkeypatch.setattr("priolab.extras.cluster.cluster._CONNECT_S", 0.5)
    sweep = sweep_of(VALUES)
    with (
        pytest.raises(Unavailable, match=r"no scheduler answers within 0\.5 s; `dask scheduler` starts one"),
        Cluster.connect(sweep.run_settings, "tcp://127.0.0.1:9"),
    ):
        pass


@pytest.mark.parametrize("address", ["127.0.0.1:8786", "tcp://host", "http://host:1", "tcp://:8786", ""])
def test_an_address_that_is_none(address: str) -> None:
    """The error message names the allowed form of an address."""
    with pytest.raises(ScenarioError, match="tcp://HOST:PORT"), Cluster.connect(sweep_of(VALUES).run_settings, address):
        pass


def test_real_clocks_stay_at_home() -> None:
    """A fabric with the real clock is refused, because arms would differ by the machine that ran them."""
    run_settings = replace(sweep_of(VALUES).run_settings, fabric=Netns())
    with (
        pytest.raises(ScenarioError, match="FABRIC with --scheduler=netns is not allowed; allowed: virtual"),
        Cluster.connect(run_settings, "tcp://127.0.0.1:1"),
    ):
        pass
