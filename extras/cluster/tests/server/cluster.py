"""A Dask scheduler and Dask workers for tests, each a process on loopback.

The processes are forks of one that has imported Dask, because importing it takes most of their processor time.
"""

import importlib
import json
import multiprocessing
import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import TracebackType
from typing import Self

import dask
from distributed import Client

from priolab.common.descriptors import with_descendants
from priolab.common.formats.run import RunRecord
from priolab.common.home import ROOT
from priolab.experiments.execution.conclusion import Ending, Run
from priolab.experiments.sweep.sweep import Sweep, SweepProgress, run_sweep
from priolab.extras.cluster.cluster import Cluster
from tests.support.waiting import until, until_gone

_SOON_S = 20.0
_COMMANDS = "distributed.cli.dask_"
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload([f"{_COMMANDS}scheduler", f"{_COMMANDS}worker", "priolab.extras.cluster.cluster"])


@dataclass
class Dask:
    """A context manager for a Dask cluster. At its end, all its processes have ended, or an assertion fails.

    folder: the cluster's scratch files.
    allowed_failures: how often Dask gives a task to another worker after its worker was lost.
    """

    folder: Path
    allowed_failures: int = 3
    workers: list[ForkServerProcess] = field(default_factory=list)

    def __enter__(self) -> Self:
        self.folder.mkdir()
        self.scheduler = self._start(
            "scheduler", "--scheduler-file", str(self._file), "--port", "0",
            DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES=str(self.allowed_failures),
        )  # fmt: skip
        until(lambda: self._address or not self.scheduler.is_alive())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        for process in [*self.workers, self.scheduler]:  # the scheduler last, so that workers can sign off
            assert process.pid is not None
            family = with_descendants(process.pid)
            if process.is_alive():
                os.kill(process.pid, signal.SIGINT)
            process.join(_SOON_S)
            if process.is_alive():  # if the scheduler was lost, Dask waits for it even while shutting down
                process.kill()
                process.join()
            until_gone(*family)
        shutil.rmtree(self.folder)

    @property
    def address(self) -> str:
        """Return the scheduler's address."""
        assert self._address, "there is no scheduler"
        return self._address

    def start_workers(self, *environments: Mapping[str, str]) -> None:
        """Start one worker of one thread for each environment, and wait until all are connected."""
        for environment in environments:
            words = ("--nthreads", "1", "--no-nanny", "--memory-limit", "0")
            self.workers.append(self._start("worker", self.address, *words, **environment))
        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(len(self.workers), timeout=_SOON_S)

    @property
    def _file(self) -> Path:
        return self.folder / "scheduler.json"

    @property
    def _address(self) -> str | None:
        """Return the scheduler's address, or None until the scheduler has written its file."""
        try:
            return str(json.loads(self._file.read_text())["address"])
        except (FileNotFoundError, json.JSONDecodeError):
            return None

    def _start(self, what: str, *words: str, **environment: str) -> ForkServerProcess:
        words = ("--host", "127.0.0.1", "--no-dashboard", *words)
        variables = os.environ | {"DASK_TEMPORARY_DIRECTORY": str(self.folder)} | environment
        log = self.folder / f"{what}.log"
        process = _FORKS.Process(target=_become, args=(what, words, variables, log), daemon=True)
        process.start()
        return process


def _become(what: str, words: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
    """Carry out the command `dask scheduler` or `dask worker` in this process."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(ROOT)
    with log.open("ab") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    dask.config.refresh()
    importlib.import_module(f"{_COMMANDS}{what}").main(words)


@dataclass
class Heard:
    """A record of a sweep's progress. steps: the lines reported before and between runs."""

    endings: dict[str, Ending] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)

    def ended(self, run: Run, ending: Ending, record: RunRecord) -> None:
        assert record.run == run.name
        assert run.name not in self.endings, "told twice"
        self.endings[run.name] = ending


def swept(sweep: Sweep, address: str, heard: Heard) -> Path:
    """Carry out the sweep on the scheduler's workers, and return its folder."""
    with Cluster.connect(sweep.run_settings, address) as cluster:
        progress = SweepProgress(step=heard.steps.append, opened=lambda _: None, ended=heard.ended)
        return run_sweep(sweep, cluster, progress)
