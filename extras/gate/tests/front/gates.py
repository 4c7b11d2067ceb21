"""Gates of fronts with planted faults, many in one experiment, so that they share guests."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from priolab.analysis.records.runs import load_experiment
from priolab.experiments.execution.experiment import run_experiment
from priolab.experiments.execution.progress import Progress
from priolab.extras.gate.checks import DEFAULT, KINDS, Check, read_expectations
from priolab.extras.gate.faults import Fault as Named
from priolab.extras.gate.findings import Result
from priolab.extras.gate.judging import judged
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
    Fault.HEADERS_LAST: Named.LATE_LAST,
    Fault.BY_STREAM_ID: Named.BY_STREAM_ID,
    Fault.LOST_BY_RESET: Named.LOST_BY_RESET,
    Fault.MIXES_CONNECTIONS: Named.MIXES_CONNECTIONS,
    Fault.ONLY_FIRST_LOAD: Named.ONLY_FIRST_LOAD,
    Fault.BY_WEIGHT: Named.SHARES,
    Fault.ZERO_IS_DEFAULT: Named.ZERO_IS_DEFAULT,
    Fault.SEVEN_IS_DEFAULT: Named.SEVEN_IS_DEFAULT,
    Fault.DEFAULT_IS_ZERO: Named.WRONG_DEFAULT,
    Fault.DEFAULT_IS_SEVEN: Named.WRONG_DEFAULT,
    Fault.DEFAULT_IS_FOUR: Named.WRONG_DEFAULT,
    Fault.THREE_LEVELS: Named.COARSE,
    Fault.EARLY_UPDATE: Named.EARLY_UPDATE,
    Fault.SECOND_UPDATE: Named.SECOND_UPDATE,
    Fault.MERGES_UPDATES: Named.MERGES_UPDATES,
    Fault.CLAMPS: Named.OUT_OF_RANGE,
    Fault.NO_NUMBER: Named.NO_INTEGER,
    Fault.UNKNOWN_PARAMETER: Named.UNKNOWN_PARAMETER,
    Fault.LENIENT: Named.MALFORMED,
    Fault.ITS_PARAMETERS: Named.ITS_PARAMETERS,
    Fault.FALSE_IS_TRUE: Named.FALSE_IS_TRUE,
    Fault.NUMBER_IS_TRUE: Named.NUMBER_IS_TRUE,
    Fault.BREAKS_OFF: Named.BREAKS_OFF,
    Fault.WAITS_FOR_BLOCKED: Named.WAITS_FOR_BLOCKED,
    Fault.FORGETS_BLOCKED: Named.FORGETS_BLOCKED,
    Fault.SHARES_EQUALS: Named.SHARES_EQUALS,
    Fault.LAST_FIRST: Named.LAST_FIRST,
    Fault.UNFAIR: Named.UNFAIR,
    Fault.FEW_STREAMS: Named.FIRST_REQUESTS,
    Fault.NO_PREEMPTION: Named.NO_PREEMPTION,
    Fault.LATER_REQUESTS: Named.LATER_REQUESTS,
    Fault.INCREMENTAL_LAST: Named.INCREMENTAL_LAST,
    Fault.NO_SPACE: Named.NO_SPACE,
    Fault.BREAKS_AT_ENDED: Named.BREAKS_AT_UPDATE,
    Fault.FIRST_CONNECTION: Named.MIXES_CONNECTIONS,
    Fault.IGNORES_RESPONSE: Named.IGNORES_RESPONSE,
    Fault.REPLACES_BY_RESPONSE: Named.REPLACES_BY_RESPONSE,
    Fault.BITS: Named.BITS,
    Fault.TEXT: Named.TEXT,
    Fault.AGES: Named.AGES,
    Fault.SMALL_FIRST: Named.SMALL_FIRST,
    Fault.ENDS_LATE: Named.ENDS_LATE,
    Fault.STALE: Named.STALE,
    Fault.ONE_LINE: Named.ONE_LINE,
    Fault.REQUEUES: Named.REQUEUES,
    Fault.LATE_CHOICE: Named.LATE_CHOICE,
    Fault.AFTER_WINDOW: Named.AFTER_WINDOW,
    Fault.FOUR: Named.UNORDERED,
    Fault.FIELD_FIRST: Named.EARLY_UPDATE,
    Fault.FOUR_LEVELS: Named.COARSE,
    Fault.SEVEN_IS_SIX: Named.COARSE,
    Fault.TRUE_IS_FALSE: Named.TRUE_IS_FALSE,
    Fault.FIRST_OF_KEY: Named.FIRST_OF_KEY,
    Fault.BREAKS_AT_RESET: Named.BREAKS_AT_RESET,
    Fault.TEN_IS_ONE: Named.OUT_OF_RANGE,
    Fault.PARTS_COUNT: Named.NO_INTEGER,
    Fault.NO_FIELD_SHARES: Named.NO_FIELD_SHARES,
    Fault.SHORTEST_FIRST: Named.NO_ARRIVAL,
    Fault.UPPERCASE: Named.MALFORMED,
    Fault.NEWEST: Named.WRONG_STREAM,
    Fault.BEFORE_RESPONSE: Named.UPDATE_AT_ONCE,
    Fault.RESET_HEAD: Named.LOSES_STREAM,
    Fault.RING_WAITS: Named.WAITS_FOR_BLOCKED,
    Fault.SKIPS_LEVEL: Named.SKIPS_LEVEL,
    Fault.INVERTS_INCREMENTAL: Named.INVERTS_INCREMENTAL,
    Fault.IDLE_UNREAD: Named.FIRST_UNREAD,
}
"""The name under which the gate must report each planted fault."""


ALL: tuple[Check, ...] = (*read_expectations(DEFAULT).check, Check(kind="response"))
"""The checks of the gate's own expectations, and the one that must be asked for."""

_SHOWN_BY_ALL = (Fault.NONE, Fault.IGNORES_URGENCY, Fault.LATER_REQUESTS, Fault.AFTER_WINDOW)
"""The sound front, and faults to which several checks gave names of their own."""

_BASIC = ("urgency", "incremental")
_KINDS: Mapping[str, tuple[Fault, ...]] = {
    "late": (Fault.STARVES, Fault.BUFFERS, Fault.HEADERS_LAST, Fault.ONLY_FIRST_LOAD, Fault.ENDS_LATE),
    "preemption": (Fault.AFTER_WINDOW,),
    "update": (Fault.FORGETS_UPDATES,),
    "reset": (Fault.LOST_BY_RESET, Fault.BREAKS_AT_RESET, Fault.RESET_HEAD),
    "connections": (Fault.MIXES_CONNECTIONS, Fault.FIRST_CONNECTION),
    "levels": (
        *(Fault.ZERO_IS_DEFAULT, Fault.SEVEN_IS_DEFAULT, Fault.DEFAULT_IS_ZERO, Fault.DEFAULT_IS_SEVEN),
        *(Fault.DEFAULT_IS_FOUR, Fault.THREE_LEVELS, Fault.NO_PREEMPTION, Fault.INCREMENTAL_LAST),
        *(Fault.BITS, Fault.FOUR, Fault.FOUR_LEVELS, Fault.SEVEN_IS_SIX, Fault.INVERTS_INCREMENTAL),
    ),
    "updates": (
        *(Fault.EARLY_UPDATE, Fault.SECOND_UPDATE, Fault.MERGES_UPDATES),
        *(Fault.FIELD_FIRST, Fault.BEFORE_RESPONSE),
    ),
    "parameters": (
        *(Fault.CLAMPS, Fault.NO_NUMBER, Fault.UNKNOWN_PARAMETER, Fault.LENIENT, Fault.ITS_PARAMETERS),
        *(Fault.NO_SPACE, Fault.FALSE_IS_TRUE, Fault.NUMBER_IS_TRUE, Fault.BREAKS_OFF),
        *(Fault.ONE_LINE, Fault.TEXT, Fault.TRUE_IS_FALSE, Fault.FIRST_OF_KEY),
        *(Fault.TEN_IS_ONE, Fault.PARTS_COUNT, Fault.UPPERCASE),
    ),
    "blocked": (Fault.WAITS_FOR_BLOCKED, Fault.FORGETS_BLOCKED, Fault.SKIPS_LEVEL),
    "arrival": (
        *(Fault.SHARES_EQUALS, Fault.LAST_FIRST, Fault.REQUEUES),
        *(Fault.NO_FIELD_SHARES, Fault.SHORTEST_FIRST),
    ),
    "patience": (Fault.AGES, Fault.SMALL_FIRST),
    "fair": (Fault.UNFAIR, Fault.RING_WAITS, Fault.IDLE_UNREAD),
    "many": (Fault.FEW_STREAMS,),
    "used": (Fault.LATER_REQUESTS, Fault.BREAKS_AT_ENDED, Fault.STALE, Fault.NEWEST),
    "response": (Fault.IGNORES_RESPONSE, Fault.REPLACES_BY_RESPONSE),
}
_OWN: Mapping[Fault, str] = {fault: kind for kind, faults in _KINDS.items() for fault in faults}
"""For each fault that the basic checks do not find, the kind of the check that does."""


def all_checks(_: Fault) -> tuple[Check, ...]:
    """Return all checks, for every fault."""
    return ALL


def few_checks(fault: Fault) -> tuple[Check, ...]:
    """Return the checks that the name of a fault depends on, and all checks for the sound front and some faults."""
    kinds = [*_BASIC, _OWN.get(fault, _BASIC[0])]
    for kind in kinds:
        kinds += (
            each
            for each in (*KINDS[kind].basics, *(["arrival"] if KINDS[kind].mistakes or KINDS[kind].wholes else []))
            if each not in kinds
        )
    return tuple(each for each in ALL if fault in _SHOWN_BY_ALL or each.kind in kinds)


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
