"""The executor on many machines: batches of runs as tasks of Dask distributed, on workers that the user has started.

Only this module and `worker_pool.py` use Dask. Rules:
1. A task is a batch: runs that share a guest. The result of a task is the packed run folders, which the head unpacks
   into the sweep's folder. The machines share no file system.
2. A worker is admitted if its programs and code equal the head's. The head hands out as many tasks as the admitted
   workers have threads, and a further task when a task has ended. So no task waits for a thread, in the head or in
   Dask's scheduler, which gives tasks to workers.
3. When a worker is lost, Dask gives its tasks to another worker; at most one batch per thread has to be repeated. If
   several workers in turn are lost while they carry out the same batch, the head hands out each run of this batch
   again, as a batch of its own; a run during which several workers are lost has failed. The head does the same if a
   batch fails (`worker.BatchFailed`), or does not return its run folders; a run has failed if this happens three times
   while the run is a batch of its own.
4. When the head is interrupted or killed, its tasks end on the workers within a second.
"""

import re
import shutil
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Self

from distributed import Client, Future, KilledWorker, Status, get_worker

from priolab.common.errors import ScenarioError, StepFailed, Unavailable
from priolab.common.plural import counted
from priolab.experiments.execution.conclusion import Run, give_up, lay_out
from priolab.experiments.execution.executor import OnEnded, RunStore, Waiting, unwritable
from priolab.experiments.execution.preparation import prepare
from priolab.experiments.execution.request import RunSettings
from priolab.experiments.scenario.knobs import NAMED_BY_PATH
from priolab.experiments.scenario.scenario import FrontKey, Scenario
from priolab.experiments.setup.tools import Tools
from priolab.extras.cluster.parcel import BadParcel, unpack
from priolab.extras.cluster.worker import (
    BatchCancelled,
    BatchFailed,
    BatchSettings,
    Parcel,
    Refusal,
    carry_out,
    identity,
    kinds,
)
from priolab.extras.cluster.worker_pool import WorkerPool

_OPTION = "--scheduler"
_ADDRESS = re.compile(r"(tcp|tls)://(\[[0-9a-fA-F:]+\]|[^\s/:\[\]]+):\d{1,5}")
_CONNECT_S = 10.0
_CLOSE_S = 5.0
_WAIT_S = 1.0
_MOST = 10
"""The most runs per task. A task's results come back at its end, so a lost task costs at most this many runs.

A guest starts in two seconds, which is little when ten runs share the guest.
"""

_ATTEMPTS = 3
_ENDING = (Status.closing, Status.closing_gracefully, Status.closed, Status.failed)


@dataclass(frozen=True, kw_only=True)
class _SubmittedBatch:
    """A batch that the head has handed out to workers.

    future: the result of the batch, once a worker has returned it. workers: the workers that may carry it out. end_s:
    the time at which it should end, by time.monotonic.
    """

    future: "Future[list[Parcel]]"
    runs: Sequence[Run]
    workers: frozenset[str]
    end_s: float


class Cluster:
    """The executor that hands out runs to the workers of a Dask cluster. Implements the interface Executor."""

    def __init__(self, run_settings: RunSettings, client: Client, address: str) -> None:
        self.runs_per_command = min(_MOST, run_settings.fabric.runs_per_command)
        self._run_settings = run_settings
        self._client = client
        self._address = address
        self._tools: Mapping[FrontKey, Tools] = {}
        self._settings: BatchSettings
        self._pool: WorkerPool

    @classmethod
    @contextmanager
    def connect(cls, run_settings: RunSettings, address: str) -> Iterator[Self]:
        """Connects to the cluster's Dask scheduler; yields the Cluster. Closes the connection when the context ends.

        address: the scheduler's address. run_settings: the execution options that all runs share.

        Raises ScenarioError for a bad address or a fabric with a real clock; Unavailable if no scheduler answers. On a
        real clock, results depend on the machine, so arms on different machines could not be compared.
        """
        if not _ADDRESS.fullmatch(address):
            raise ScenarioError(_OPTION, address, "tcp://HOST:PORT or tls://HOST:PORT, as the scheduler prints it")
        if not run_settings.fabric.virtual_clock:
            allowed = "virtual, because runs on real clocks depend on the machine"
            raise ScenarioError(f"FABRIC with {_OPTION}", run_settings.fabric.name, allowed)
        try:
            client = Client(address, timeout=_CONNECT_S, set_as_default=False, name="priolab")
        except (OSError, ValueError) as error:
            reason = f"no scheduler answers within {_CONNECT_S:g} s"
            raise Unavailable(f"{_OPTION} {address}", reason, "`dask scheduler` starts one") from error
        try:
            with suppress(TimeoutError):
                client.wait_for_workers(1, timeout=_CONNECT_S)
            yield cls(run_settings, client, address)
        finally:
            with suppress(OSError, TimeoutError):
                client.close(timeout=_CLOSE_S)

    @property
    def side_by_side(self) -> int:
        """The number of runs that the cluster carries out at once: the threads of all workers; at least 1."""
        there: Mapping[str, int] = self._client.nthreads()
        return max(1, sum(there.values()))

    def prepare(self, scenarios: Sequence[Scenario], tell: Callable[[str], None]) -> Mapping[FrontKey, Tools]:
        """Finds this machine's programs for the scenarios, and asks the workers if their machines have the same ones.

        Returns the programs of the runs, by SERVER, PROGRAM, CONFIG and VIA. Raises LabError. tell: called with a line
        about each step, and about each refusal or loss of a worker.
        """
        for scenario in scenarios:
            for name, text in scenario.named_files.items():
                if text and NAMED_BY_PATH[name](text) and not Path(text).is_absolute():
                    raise ScenarioError(name, text, "with --scheduler, an absolute path, which every worker has")
        self._tools = prepare(self._run_settings, scenarios, tell)
        self._settings = BatchSettings(
            run_settings=self._run_settings,
            scenarios=kinds(scenarios),
            identity=identity(self._run_settings, self._tools),
        )
        self._pool = WorkerPool(self._client, self._address, self._settings, tell)
        with self._reached():
            self._pool.update()
        return self._tools

    def carry_out(self, runs: Sequence[Run], store: RunStore, ended: OnEnded) -> None:
        """Hands out the runs in batches to the workers until no run is left. Calls `ended` for each run that ended."""
        waiting = _Waiting(runs, self._run_settings, self.runs_per_command)
        tasks: dict[str, _SubmittedBatch] = {}
        over: SimpleQueue[str] = SimpleQueue()
        try:
            while waiting or tasks:
                with self._reached():
                    self._pool.update()
                    self._take_back(tasks, waiting)
                    self._hand_out(tasks, waiting, over, store.final)
                try:
                    task = tasks.pop(over.get(timeout=_WAIT_S), None)
                except Empty:
                    continue
                if task is None:
                    continue  # the task was taken back
                if task.future.status == "finished":
                    with self._reached():
                        self._hand_out(tasks, waiting, over, store.final)
                self._receive(task, waiting, store, ended)
            with self._reached():
                self._pool.report_lost()
        finally:
            self._client.cancel([task.future for task in tasks.values()])

    def _hand_out(
        self, tasks: dict[str, _SubmittedBatch], waiting: "_Waiting", over: "SimpleQueue[str]", final: Path
    ) -> None:
        """Hands out tasks until every thread of the workers has a task, or no run waits.

        tasks: the tasks on the workers, by key. waiting: the runs that are not handed out yet. over: receives the key
        of each task that has ended. final: the final path of the sweep's folder.
        """
        while waiting and len(tasks) < self._pool.threads:
            now_s, key = time.monotonic(), f"priolab-{uuid.uuid4().hex}"
            runs = waiting.batch((max(0.0, task.end_s - now_s) for task in tasks.values()), self._pool.threads)
            workers = self._pool.admitted
            future = self._client.submit(
                _carry_out,
                self._settings,
                runs,
                final,
                key=key,
                pure=False,
                workers=list(workers),
                allow_other_workers=False,
            )
            end_s = now_s + waiting.cost_s(runs, start=True)
            tasks[key] = _SubmittedBatch(future=future, runs=runs, workers=workers, end_s=end_s)
            future.add_done_callback(lambda done: over.put(done.key))

    def _take_back(self, tasks: dict[str, _SubmittedBatch], waiting: "_Waiting") -> None:
        """Cancels submitted batches that no worker can carry out any more; their runs wait for other workers again.

        A batch may be carried out by certain workers only; the head may have lost or refused all of them.
        """
        for key, task in list(tasks.items()):
            if not task.workers & self._pool.admitted and not task.future.done():
                del tasks[key]
                self._client.cancel([task.future])
                waiting.put_back(task.runs)

    def _receive(self, task: _SubmittedBatch, waiting: "_Waiting", store: RunStore, ended: OnEnded) -> None:
        """Handles the end of a task: moves its run folders into the sweep's folder.

        If the task failed, its runs are handed out again, or recorded as failed. Raises StepFailed.
        """
        try:
            with self._reached():
                parcels = task.future.result()
        except StepFailed:
            raise
        except Refusal as error:
            self._pool.refuse(error.worker, error.why)
            waiting.put_back(task.runs)
        except BatchCancelled:  # the worker is closing
            waiting.put_back(task.runs)
        except KilledWorker as error:
            if len(task.runs) > 1:
                waiting.put_back(task.runs, alone=True)
            else:
                lost = error.allowed_failures + 1
                why = f"{counted(lost, 'worker')} {'was' if lost == 1 else 'were'} lost during this run"
                self._give_up(task.runs[0], why, store, ended)
        except BatchFailed as error:
            self._pool.failed(error.worker, task.runs[0].name, error.why)
            self._again(task.runs, error.why, waiting, store, ended)
        except Exception as error:  # whatever the error, no runs came back
            self._again(task.runs, f"{type(error).__name__}: {error}", waiting, store, ended)
        else:
            self._open(task, parcels, waiting, store, ended)

    def _open(
        self, task: _SubmittedBatch, parcels: Sequence[Parcel], waiting: "_Waiting", store: RunStore, ended: OnEnded
    ) -> None:
        """Unpacks the run folders that a worker returned into the sweep's folder. Raises StepFailed.

        A run whose folder is missing or damaged is handed out again.
        """
        packed = {parcel.name: parcel for parcel in parcels}
        for run in task.runs:
            try:
                _file(run, packed[run.name], store)
            except (BadParcel, KeyError) as error:
                shutil.rmtree(store.building(run.name).path, ignore_errors=True)
                self._again([run], f"the worker returned no complete run folder: {error}", waiting, store, ended)
            else:
                self._pool.succeeded(packed[run.name].worker)
                ended(run, packed[run.name].ending)

    def _again(self, runs: Sequence[Run], why: str, waiting: "_Waiting", store: RunStore, ended: OnEnded) -> None:
        """Puts runs back among the waiting runs, each as a batch of its own. Gives up a run after three attempts.

        why: the reason why the last attempt failed.
        """
        if len(runs) == 1 and waiting.attempts[runs[0].name] + 1 >= _ATTEMPTS:
            self._give_up(runs[0], f"it failed {_ATTEMPTS} times: {why}", store, ended)
            return
        waiting.attempts.update(run.name for run in runs if len(runs) == 1)
        waiting.put_back(runs, alone=True)

    def _give_up(self, run: Run, why: str, store: RunStore, ended: OnEnded) -> None:
        """Writes a run folder with the status `failed`, for a run whose folder no worker returned."""
        folder = store.building(run.name)
        try:
            lay_out(run, folder, self._run_settings, self._tools[run.arm.scenario.front_key])
            ending = give_up(run, folder, self._run_settings, final=store.final, wall_s=0.0, why=why)
            store.file(run.name)
        except OSError as error:
            raise unwritable(run, error) from error
        ended(run, ending)

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """A context that raises StepFailed if the connection to the scheduler is lost inside it."""
        try:
            yield
        except (OSError, TimeoutError, CancelledError) as error:
            raise StepFailed(f"the scheduler at {self._address}", f"the connection is lost ({error})") from error


class _Waiting(Waiting):
    """The runs that are not handed out yet, in their order; some of them must be batches of their own.

    attempts: for each run's name, how often the run has failed in a batch of its own.
    """

    def __init__(self, runs: Sequence[Run], run_settings: RunSettings, most: int) -> None:
        super().__init__(runs, run_settings, most)
        self._alone: deque[Run] = deque()
        self.attempts: Counter[str] = Counter()

    def __len__(self) -> int:
        return super().__len__() + len(self._alone)

    def batch(self, left_s: Iterable[float], side_by_side: int) -> list[Run]:
        """Returns the runs of the next batch; first the runs that must be batches of their own.

        left_s: for each batch that has been handed out, the expected cost of its unfinished runs. side_by_side: the
        number of batches carried out at once.
        """
        return [self._alone.popleft()] if self._alone else super().batch(left_s, side_by_side)

    def put_back(self, runs: Sequence[Run], *, alone: bool = False) -> None:
        """Puts runs back at the front of the waiting runs. alone: True to make each run a batch of its own."""
        if alone:
            self._alone.extend(runs)
        else:
            super().put_back(runs)


def _carry_out(settings: BatchSettings, runs: Sequence[Run], final: Path) -> list[Parcel]:
    """Carries out a batch: the task that Dask runs on the worker."""
    worker = get_worker()
    task = worker.state.tasks[worker.get_current_task()]
    return carry_out(
        settings,
        runs,
        final=final,
        scratch=Path(worker.local_directory),
        worker=worker.address,
        wanted=lambda: task.state != "cancelled" and worker.status not in _ENDING,
    )


def _file(run: Run, parcel: Parcel, store: RunStore) -> None:
    """Unpacks a run folder, and gives it its final name. Raises BadParcel, and StepFailed if a write fails."""
    try:
        unpack(parcel.content, store.building(run.name).path)
        store.file(run.name)
    except OSError as error:
        raise unwritable(run, error) from error
