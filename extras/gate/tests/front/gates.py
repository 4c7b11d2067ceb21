"""Gates of fronts with planted faults, many in one experiment, so that they share guests."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from priolab.analysis.records.runs import load_experiment
from priolab.experiments.execution.experiment import run_experiment
from priolab.experiments.execution.progress import Progress
from priolab.extras.gate.checks import DEFAULT, Check, read_expectations
from priolab.extras.gate.faults import Fault as Named
from priolab.extras.gate.judging import Result, judged
from priolab.extras.gate.runs import request_of, seen_of
from priolab.extras.gate.tests.front.folder import front_folder
from priolab.extras.gate.tests.front.scheduler import Fault

NAMES: Mapping[Fault, Named] = {
    Fault.IGNORES_URGENCY: Named.IGNORES_URGENCY,
    Fault.IGNORES_INCREMENTAL: Named.IGNORES_INCREMENTAL,
    Fault.INVERTS: Named.INVERTS,
    Fault.STARVES: Named.STARVES,
    Fault.FORGETS_UPDATES: Named.FORGETS_UPDATES,
    Fault.BUFFERS: Named.BUFFERS,
    Fault.BY_STREAM_ID: Named.BY_STREAM_ID,
    Fault.LOST_BY_RESET: Named.LOST_BY_RESET,
    Fault.MIXES_CONNECTIONS: Named.MIXES_CONNECTIONS,
    Fault.ONLY_FIRST_LOAD: Named.ONLY_FIRST_LOAD,
}
"""The name under which the gate must report each planted fault."""


ALL: tuple[Check, ...] = read_expectations(DEFAULT).check
"""The checks of the gate's own expectations."""

_BASIC = ("urgency", "incremental")
_OWN: Mapping[Fault, str] = {
    Fault.STARVES: "late",
    Fault.FORGETS_UPDATES: "update",
    Fault.BUFFERS: "late",
    Fault.LOST_BY_RESET: "reset",
    Fault.MIXES_CONNECTIONS: "connections",
    Fault.ONLY_FIRST_LOAD: "late",
}


def all_checks(_: Fault) -> tuple[Check, ...]:
    """Return all checks, for every fault."""
    return ALL


def few_checks(fault: Fault) -> tuple[Check, ...]:
    """Return the checks that the name of a fault depends on, and all checks for the sound front."""
    kinds = (*_BASIC, _OWN.get(fault, _BASIC[0]))
    return tuple(each for each in ALL if fault is Fault.NONE or each.kind in kinds)


def gates(
    faults: list[Fault],
    folder: Path,
    *,
    repeat: int = 1,
    seed: int = 1,
    checks_of: Callable[[Fault], tuple[Check, ...]] = all_checks,
) -> Iterator[tuple[Fault, Result]]:
    """Yield the result of a gate for each planted fault, `repeat` times; all runs are one experiment in the guest.

    folder: an empty folder for the fronts and the results. seed: the seed of the first repetition; each further one
    adds 1. checks_of: returns the checks of a fault's gate.
    """
    began_s = time.monotonic()
    request, arms = None, []
    for fault in faults:
        own = front_folder(folder / fault, fault)
        request = request_of(
            checks_of(fault), {"SERVER": str(own), "FABRIC": "virtual", "RESULTS": str(folder / "results")}
        )
        arms += [replace(arm, name=f"{fault}.{arm.name}") for arm in request.arms]
    assert request is not None
    request = replace(request, arms=tuple(arms), repeat=repeat, seed=seed)
    path = run_experiment(request, Progress(step=lambda *_: None, ended=lambda *_: None))
    experiment, took_s = load_experiment(path), time.monotonic() - began_s
    for repetition in range(1, repeat + 1):
        for fault in faults:
            checks = checks_of(fault)
            seen = seen_of(experiment, checks, prefix=f"{fault}.", repetition=repetition)
            findings = judged(checks, seen)
            yield fault, Result(target=str(fault), title="RFC 9218", findings=findings, took_s=took_s)
