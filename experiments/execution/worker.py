"""A worker of a cluster: checks whether it may run a batch, carries it out, packs the run folders.

Rules:
1. A worker equals the head or it refuses: the same guest kernel, programs, packages and code of the lab. It checks
   before every batch, because a worker outlives the programs that were there when it started.
2. Programs are looked for on the worker. Nothing of the head's machine is needed but what is in `BatchSettings` and the
   runs.
3. A batch is carried out by the executor of one machine (`local.py`), in a folder of its own that is removed
   afterwards.
4. A batch that is no longer wanted ends soon, and its guest with it.
5. Any other failure of a batch raises BatchFailed. Only the head can tell whether worker or batch is at fault, from how
   others fare.
"""

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.errors import LabError
from experiments.execution.conclusion import Ending, Run
from experiments.execution.fingerprint import versions_here
from experiments.execution.local import Local
from experiments.execution.parcel import pack
from experiments.execution.request import Manner
from experiments.host.tools import Tools
from experiments.results import digest
from experiments.results.run_folder import PARTIAL, RunFolder
from experiments.scenario.scenario import LOWAT_AUTO, Scenario

_CODE = digest.code()
"""The digest of the code this process has loaded; programs it starts load the code of that moment."""


class _NoResult(Exception):
    """A worker returns no batch. worker: its address."""

    def __init__(self, worker: str, why: str) -> None:
        super().__init__(worker, why)
        self.worker = worker
        self.why = why


class Refusal(_NoResult):
    """A worker cannot run a batch; another may."""


class BatchFailed(_NoResult):
    """A batch came to nothing here."""


class BatchCancelled(Exception):
    """The batch is no longer wanted."""


@dataclass(frozen=True, kw_only=True)
class BatchSettings:
    """The part that all batches of a sweep share. identity: see `identity`; scenarios: one of each kind (`kinds`)."""

    manner: Manner
    scenarios: tuple[Scenario, ...]
    identity: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Parcel:
    """A finished run. content: its folder, packed; worker: the address of the worker that made it."""

    name: str
    worker: str
    ending: Ending
    content: bytes


def kinds(scenarios: Sequence[Scenario]) -> tuple[Scenario, ...]:
    """Returns one scenario of each kind that may decide whether a machine is fit."""
    largest = max(scenario.page.total_bytes for scenario in scenarios)
    found = {
        (
            each.server,
            each.client,
            each.congestion_control,
            each.lowat == LOWAT_AUTO,
            each.page.total_bytes == largest,
        ): each
        for each in scenarios
    }
    return tuple(found.values())


def identity(manner: Manner, tools: Mapping[str, Tools]) -> dict[str, str]:
    """Everything that must be equal for runs to be equal, by name: as in a fingerprint, and the tuner of LOWAT=auto."""
    tuners = {Path(each.tuner.program).name if each.tuner.program else "none" for each in tools.values()}
    return {
        "guest kernel": manner.fabric.kernel(),
        "code": digest.code(),
        "tuner": ", ".join(sorted(tuners)),
        **versions_here(tools),
    }


def fit(settings: BatchSettings, local: Local) -> None:
    """Checks that this machine equals the head, and lets the executor find its programs. Raises LabError."""
    manner = settings.manner
    if digest.code() != _CODE:
        raise LabError("its code has changed since it was started; start it again")
    for scenario in settings.scenarios:
        manner.fabric.check_usable(scenario, manner.shaper)
    here = identity(manner, local.prepare(settings.scenarios, lambda _: None))
    differing = [
        f"{name} {here.get(name, 'none')} there and {settings.identity.get(name, 'none')} here"
        for name in {**settings.identity, **here}
        if here.get(name) != settings.identity.get(name)
    ]
    if differing:
        raise LabError("; ".join(differing))


def refusal(settings: BatchSettings) -> str | None:
    """Returns why this machine would not do, in one line; None if it would."""
    try:
        fit(settings, Local(settings.manner, 1))
    except (LabError, OSError) as error:
        return str(error)
    return None


def carry_out(
    settings: BatchSettings, runs: Sequence[Run], *, final: Path, scratch: Path, worker: str, wanted: Callable[[], bool]
) -> list[Parcel]:
    """Carries out all runs in one command. Raises Refusal, BatchCancelled, BatchFailed.

    final: the final path of the sweep's folder, at the head. scratch: a folder with space for the runs' folders.
    """

    def meanwhile() -> None:
        if not wanted():
            raise BatchCancelled

    endings: dict[str, Ending] = {}
    local = Local(settings.manner, 1, share=lambda waiting, *_: waiting, meanwhile=meanwhile)
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
    """See RunStore. packed: the filed folders, as bytes."""

    def __init__(self, path: Path, final: Path) -> None:
        self.final = final
        self.packed: dict[str, bytes] = {}
        self._path = path

    def building(self, name: str) -> RunFolder:
        return RunFolder(self._path / f"{name}{PARTIAL}")

    def file(self, name: str) -> None:
        folder = self.building(name).path
        self.packed[name] = pack(folder)
        shutil.rmtree(folder)
