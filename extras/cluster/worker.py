"""A worker of a cluster: checks whether its machine may run a batch, carries out the batch, packs the run folders.

Rules:
1. A worker refuses a batch unless its guest kernel, programs, packages and code of the lab equal the head's. It checks
   before every batch, because programs may be replaced while the worker runs.
2. A worker uses its own machine's programs. From the head it needs only `BatchSettings` and the runs.
3. A batch is carried out by the executor of one machine (`local.py`), in a folder of its own that is removed
   afterwards.
4. A batch that the head has cancelled ends soon, together with its guest.
5. A failure that is neither a refusal nor a cancellation raises BatchFailed. Only the head, which sees all workers,
   can find out whether the worker or the batch is at fault.
"""

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from priolab.common.errors import LabError
from priolab.common.formats.scenario import AUTO
from priolab.experiments.execution.conclusion import Ending, Run
from priolab.experiments.execution.fingerprint import versions_here
from priolab.experiments.execution.local import Local
from priolab.experiments.execution.request import RunSettings
from priolab.experiments.results import digest
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.scenario.scenario import FrontKey, Scenario
from priolab.experiments.setup.tools import Tools
from priolab.extras.cluster.parcel import pack
from priolab.testbed import work_folder

_CODE = digest.code()
"""The digest of the lab's code that this process has loaded.

Programs that this process starts load the code from the disk, so the code on the disk must still be the same.
"""


class _NoResult(Exception):
    """A worker returns no run folders of a batch. worker: the worker's address. why: the reason."""

    def __init__(self, worker: str, why: str) -> None:
        super().__init__(worker, why)
        self.worker = worker
        self.why = why


class Refusal(_NoResult):
    """A worker cannot run a batch, but another worker may be able to."""


class BatchFailed(_NoResult):
    """A batch failed on a worker."""


class BatchCancelled(Exception):
    """A batch was broken off: the head has cancelled it, or the worker is closing."""


@dataclass(frozen=True, kw_only=True)
class BatchSettings:
    """The settings that all batches of a sweep share.

    scenarios: one scenario for each combination of the settings that decide whether a machine can run it. identity: the
    versions or digests of the head's programs, packages, kernel and code, by name.
    """

    run_settings: RunSettings
    scenarios: tuple[Scenario, ...]
    identity: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Parcel:
    """A finished run, as a worker returns it to the head.

    name: the run's name. worker: the address of the worker that carried out the run. content: the run folder, packed.
    """

    name: str
    worker: str
    ending: Ending
    content: bytes


def kinds(scenarios: Sequence[Scenario]) -> tuple[Scenario, ...]:
    """Returns one scenario for each combination of the settings that decide whether a machine can run it."""
    largest = max(scenario.whole_page.total_bytes for scenario in scenarios)
    found = {
        (
            each.front_key,
            each.client,
            each.congestion_control,
            each.lowat == AUTO,
            each.whole_page.total_bytes == largest,
        ): each
        for each in scenarios
    }
    return tuple(found.values())


def identity(run_settings: RunSettings, tools: Mapping[FrontKey, Tools]) -> dict[str, str]:
    """Returns the versions and digests, by name, that must be equal on two machines so that their runs are equal."""
    return {
        "guest kernel": run_settings.fabric.kernel(),
        "code": digest.code(),
        **versions_here(tools),
    }


def fit(settings: BatchSettings, local: Local) -> None:
    """Checks that this machine's programs, kernel and code equal the head's; prepares the executor. Raises LabError."""
    run_settings = settings.run_settings
    if digest.code() != _CODE:
        raise LabError("the worker's code has changed since it started; start the worker again")
    for scenario in settings.scenarios:
        run_settings.fabric.check_usable(scenario, run_settings.shaper)
    here = identity(run_settings, local.prepare(settings.scenarios, lambda _: None))
    differing = [
        f"{name} {here.get(name, 'none')} on the worker and {settings.identity.get(name, 'none')} on the head"
        for name in {**settings.identity, **here}
        if here.get(name) != settings.identity.get(name)
    ]
    if differing:
        raise LabError("; ".join(differing))


def refusal(settings: BatchSettings) -> str | None:
    """Returns in one line why this machine refuses batches; None if it accepts them."""
    try:
        fit(settings, Local(settings.run_settings, 1))
    except (LabError, OSError) as error:
        return str(error)
    return None


def carry_out(
    settings: BatchSettings, runs: Sequence[Run], *, final: Path, scratch: Path, worker: str, wanted: Callable[[], bool]
) -> list[Parcel]:
    """Carries out all runs of a batch in one process. Raises Refusal, BatchCancelled, BatchFailed.

    final: the final path of the sweep's folder, on the head. scratch: a folder with space for the run folders. worker:
    the worker's address. wanted: returns False if the head has cancelled the batch or the worker is closing.
    """

    def meanwhile() -> None:
        if not wanted():
            raise BatchCancelled

    endings: dict[str, Ending] = {}
    local = Local(settings.run_settings, 1, meanwhile=meanwhile)
    try:
        try:
            fit(settings, local)
        except LabError as error:
            raise Refusal(worker, str(error)) from error
        with tempfile.TemporaryDirectory(prefix="priolab-", dir=scratch) as folder:
            packing = _PackedRuns(Path(folder), final)
            local.carry_out(runs, packing, lambda run, ending: endings.update({run.name: ending}))
    except (Refusal, BatchCancelled):
        raise
    except (LabError, OSError) as error:
        raise BatchFailed(worker, str(error)) from error
    except Exception as error:
        raise BatchFailed(worker, f"{type(error).__name__}: {error}") from error
    return [
        Parcel(name=name, worker=worker, ending=ending, content=packing.packed[name])
        for name, ending in endings.items()
    ]


class _PackedRuns:
    """A RunStore that packs each run folder and then removes it. packed: the packed folders, by the run's name."""

    def __init__(self, path: Path, final: Path) -> None:
        self.final = final
        self.packed: dict[str, bytes] = {}
        self._path = path

    def building(self, name: str) -> RunFolder:
        return RunFolder(self._path / f"{name}{work_folder.PARTIAL}")

    def file(self, name: str) -> None:
        folder = self.building(name).path
        self.packed[name] = pack(folder)
        shutil.rmtree(folder)
