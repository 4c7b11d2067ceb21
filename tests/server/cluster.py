"""A scheduler and workers of Dask on loopback, each a process, for tests."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from distributed import Client

from common.formats.run import RunRecord
from experiments.execution.cluster import Cluster
from experiments.execution.conclusion import Ending, Run
from experiments.sweep.sweep import Sweep, SweepProgress, run_sweep
from tests.lab.endings import descendants

_ROOT = Path(__file__).resolve().parents[2]
_SOON_S = 20.0


@dataclass
class Dask:
    """A context: at its end every process of it is gone, or it says which is not. folder: its scratch files.

    allowed_failures: how often a task may lose its worker and be given to another.
    """

    folder: Path
    allowed_failures: int = 3
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __enter__(self) -> Self:
        self.folder.mkdir()
        self.scheduler = self._start(
            "scheduler", "--scheduler-file", str(self._file), "--port", "0",
            DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES=str(self.allowed_failures),
        )  # fmt: skip
        until(lambda: self._address or self.scheduler.poll() is not None)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        for process in [*self.workers, self.scheduler]:  # the scheduler last, so that workers can take their leave
            family = descendants(process.pid)
            process.send_signal(signal.SIGINT)
            try:
                process.wait(_SOON_S)
            except subprocess.TimeoutExpired:  # the scheduler was lost, and Dask's own farewell waits for it
                process.kill()
                process.wait()
            until(lambda family=family: not any(Path(f"/proc/{pid}").exists() for pid in family))
        shutil.rmtree(self.folder)

    @property
    def address(self) -> str:
        """Of the scheduler."""
        assert self._address, "there is no scheduler"
        return self._address

    def start_workers(self, *environments: Mapping[str, str]) -> None:
        """As many as there are environments, of one thread each, all there."""
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
        """None until the scheduler has told."""
        try:
            return str(json.loads(self._file.read_text())["address"])
        except (FileNotFoundError, json.JSONDecodeError):
            return None

    def _start(self, what: str, *words: str, **environment: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", "--host", "127.0.0.1", "--no-dashboard"]
        with (self.folder / f"{what}.log").open("ab") as log:
            return subprocess.Popen(
                [*command, *words],
                cwd=_ROOT,
                env=os.environ | {"DASK_TEMPORARY_DIRECTORY": str(self.folder)} | environment,
                stdout=log,
                stderr=log,
            )


def until(true: Any) -> None:
    """Wait for something that comes soon."""
    end = time.monotonic() + _SOON_S
    while not true():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.02)


@dataclass
class Heard:
    """What a sweep told. steps: lines before runs and between them."""

    endings: dict[str, Ending] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)

    def ended(self, run: Run, ending: Ending, record: RunRecord) -> None:
        assert record.run == run.name
        assert run.name not in self.endings, "told twice"
        self.endings[run.name] = ending


def swept(sweep: Sweep, address: str, heard: Heard) -> Path:
    """The sweep, on the scheduler's workers."""
    with Cluster.connect(sweep.manner, address) as cluster:
        progress = SweepProgress(step=heard.steps.append, opened=lambda _: None, ended=heard.ended)
        return run_sweep(sweep, cluster, progress)
