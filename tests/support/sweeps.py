"""Small sweeps for tests: estimates, values of LOWAT, networks, and folders."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from priolab.analysis.sweeps.bootstrap import Estimate
from priolab.analysis.sweeps.folder import Trouble
from priolab.analysis.sweeps.measures import Measure
from priolab.analysis.sweeps.networks import Level, Network
from priolab.experiments.scenario.knobs import with_defaults
from tests.support import builders

GRAIN_MS = 10.0
GRAIN_BIT_S = 1000.0

Curve = Mapping[str, tuple[float | Sequence[float], float | Sequence[float]]]
"""By value of LOWAT: the script's first bytes in milliseconds, and goodputs in kbit/s."""


def level(value: str, first_ms: float | Sequence[float], goodput: float | Sequence[float], **more: float) -> Level:
    """Return a value of LOWAT with these repetitions. more: other measures, with one repetition each."""

    def estimate(values: float | Sequence[float], scale: float = 1) -> Estimate:
        return Estimate.of([number * scale for number in ([values] if isinstance(values, int | float) else values)])

    estimates: dict[Measure, Estimate | None] = dict.fromkeys(Measure)
    estimates[Measure.FIRST_BYTE] = estimate(first_ms)
    estimates[Measure.GOODPUT] = estimate(goodput, 1000)
    for name, number in more.items():
        estimates[Measure(name)] = estimate(number)
    first = estimates[Measure.FIRST_BYTE]
    assert first is not None
    return Level(value=value, asked=first.repetitions, estimates=estimates)


def lost(value: str) -> Level:
    """Return a value of LOWAT without any result."""
    trouble = Trouble(run=f"lowat-{value}.1", status="invalid", reason="the rate")
    return Level(value=value, asked=1, estimates={}, troubles=(trouble,))


def network(
    curve: Curve,
    *others: Level,
    pair: tuple[Level, Level] | None = None,
    cpu: Mapping[str, float] = MappingProxyType({}),
) -> Network:
    """Return a network of these values of LOWAT, sorted as in a real sweep.

    cpu: the front's CPU time in milliseconds per MB, by value.
    """
    levels = [
        level(value, *both, **({Measure.CPU.value: cpu[value]} if value in cpu else {}))
        for value, both in curve.items()
    ]
    levels += others
    return Network(
        name="RATE=1mbit",
        knobs={"RATE": "1mbit"},
        words=("RATE=1mbit",),
        levels=tuple(
            sorted(levels, key=lambda each: (each.is_steered, each.lowat_bytes is None, each.lowat_bytes or 0))
        ),
        pair=pair,
        grains={Measure.FIRST_BYTE: GRAIN_MS, Measure.GOODPUT: GRAIN_BIT_S},
        record_ms=GRAIN_MS,
    )


def knobs(**changes: str) -> dict[str, str]:
    """Return all knobs of a scenario as text."""
    return with_defaults(changes)


def write_sweep(
    folder: Path,
    arms: Sequence[Mapping[str, Any]],
    *,
    repeat: int = 1,
    changes: Mapping[str, Any] = MappingProxyType({}),
) -> Path:
    """Write sweep.json with these arms, and return the folder. arms: each has at least `arm` and `knobs`."""
    grid: dict[str, list[str]] = {}
    for arm in arms:
        for name, word in arm["knobs"].items():
            words = grid.setdefault(name, [])
            words += [word] if word not in words else []
    document = {
        "format": 1,
        "sweep": folder.name,
        "name": "by-hand",
        "title": "By hand",
        "started_at": "2026-01-01T00:00:00+00:00",
        "grid": {name: words for name, words in grid.items() if len(words) > 1},
        "fixed": {},
        "repeat": repeat,
        "seed": 1,
        "order_seed": 1,
        "fabric": "virtual",
        "fingerprint": {},
        "arms": [{"levels": {}, "twin_of": None} | dict(arm) for arm in arms],
        "order": [f"{arm['arm']}.{number}" for arm in arms for number in range(1, repeat + 1)],
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sweep.json").write_text(json.dumps(document | dict(changes)))
    return folder


def write_run(folder: Path, arm: str, number: int, words: Mapping[str, str], first_ms: float) -> Path:
    """Write a run of an arm, and return its folder. first_ms: the time of the script's first byte."""
    load = builders.load_record((first_ms, 12_000.0), (500.0, 11_000.0))
    path = folder / f"{arm}.{number}"
    path.mkdir()
    (path / "run.json").write_text(json.dumps(builders.run(arm, loads=[load], knobs=words).record.as_document()))
    return path
