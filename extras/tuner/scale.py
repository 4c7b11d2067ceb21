"""Measures the tuner with many connections: `make tuner-scale` fills docs/measured/tuner-scale.md.

The study has two parts:
1. A crowd of slow, middling and fast clients, each of which loads a page with a late urgent file, with the tuner and
   with fixed values of LOWAT.
2. A few fast clients with long files, in pairs of trials with and without the tuner: does it cost throughput?
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import median

from priolab.analysis.reports.markdown import Table
from priolab.analysis.sweeps.bootstrap import Estimate
from priolab.common.home import ROOT
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.study import Findings, Study
from priolab.extras.tuner.scale_trials import TUNER, UNSET, Group, Programs, Trial, measure

CROWD = (
    Group(name="slow", count=14_400, rate="1mbit", file_bytes=300_000, queue_packets=64),
    Group(name="middling", count=1440, rate="10mbit", file_bytes=1_000_000, queue_packets=128),
    Group(name="fast", count=160, rate="100mbit", file_bytes=4_000_000, queue_packets=512),
)
LOADS_PER_S = 300.0
"""Connections that begin to load in a second: some 1 Gbit/s."""

ARMS = (UNSET, "131072", "16384", TUNER)
REPEAT = 1
FAST = (Group(name="fast", count=8, rate="50mbit", file_bytes=25_000_000, queue_packets=2000),)
PAIRS = 10
_SEED = 1
_MOST_APART = 0.02


def findings(crowd: Mapping[str, Sequence[Trial]], pairs: Mapping[str, Sequence[Trial]], load: float) -> Findings:
    """Returns the tables. crowd, pairs: the trials of both parts, by arm. load: the machine's at the end."""
    ratios = [
        with_it.goodput_bit_s(FAST[0].name) / without.goodput_bit_s(FAST[0].name)
        for with_it, without in zip(pairs[TUNER], pairs[UNSET], strict=True)
    ]
    change = Estimate.of([ratio - 1 for ratio in ratios])
    works = [trial.tuner for trial in crowd[TUNER] if trial.tuner is not None]
    part = sum(work.ran_ns for work in works) / 10**9 / sum(trial.cpu_s for trial in crowd[TUNER])
    runs, connections = sum(work.runs for work in works), sum(len(trial.pages) for trial in crowd[TUNER])
    tuned, decisions = sum(work.tuned for work in works), sum(work.decisions for work in works)
    return Findings(
        places={
            "crowd": _groups().markdown(),
            "first-bytes": _first_bytes(crowd).markdown(),
            "costs": _costs(crowd).markdown(),
            "tuner-part": f"{part:.1%}",
            "tuner-run": f"{sum(work.ran_ns for work in works) / runs:.0f} ns",
            "tuner-runs": f"{runs / connections:.0f}",
            "tuned": f"{tuned:,} of {connections:,} connections",
            "decisions": f"{decisions:,}",
            "unlogged": f"{sum(work.unlogged for work in works):,}",
            "pairs": f"{change.median:+.2%} ({change.low:+.2%} to {change.high:+.2%}, {len(ratios)} pairs)",
            "load": f"{load:.1f} on {os.cpu_count()} processors",
        },
        holds=-_MOST_APART <= change.low <= 0 <= change.high <= _MOST_APART and tuned == connections,
    )


def _groups() -> Table:
    rows = [
        (
            group.name,
            f"{group.count:,}",
            f"{group.rate.removesuffix('mbit')} Mbit/s",
            f"{group.file_bytes / 1000:,.0f} KB",
            str(group.queue_packets),
        )
        for group in CROWD
    ]
    return Table(head=("clients", "connections:", "rate of each:", "file:", "queue in packets:"), rows=tuple(rows))


def _first_bytes(crowd: Mapping[str, Sequence[Trial]]) -> Table:
    rows = [(arm, *(_first_byte(trials, group.name) for group in CROWD)) for arm, trials in crowd.items()]
    return Table(head=("LOWAT", *(f"{group.name}:" for group in CROWD)), rows=tuple(rows))


def _first_byte(trials: Sequence[Trial], group: str) -> str:
    """Returns the median and the 95th percentile of a group's connections."""
    median_s = _middle(trials, lambda trial: trial.first_byte_s(group))
    late_s = _middle(trials, lambda trial: trial.late_first_byte_s(group))
    return f"{median_s * 1000:.0f}, {late_s * 1000:.0f} ms"


def _costs(crowd: Mapping[str, Sequence[Trial]]) -> Table:
    unset = crowd[UNSET]
    rows = [
        (
            arm,
            f"{_middle(trials, _cpu_s) / _middle(unset, _cpu_s):.2f}",
            f"{_middle(trials, _memory) / _middle(unset, _memory):.2f}",
            f"{_middle(trials, _memory) / 10**6:.0f} MB",
        )
        for arm, trials in crowd.items()
    ]
    head = ("LOWAT", "nginx's processor time, of unset:", "memory of sockets, of unset:", "at most:")
    return Table(head=head, rows=tuple(rows))


def _cpu_s(trial: Trial) -> float:
    return trial.cpu_s


def _memory(trial: Trial) -> float:
    return trial.memory_bytes


def _middle(trials: Sequence[Trial], value: Callable[[Trial], float]) -> float:
    return median(value(trial) for trial in trials)


def _measure(results: Path, report: Report) -> Findings:
    programs = Programs(crowd=ROOT / "build" / "crowd", tuner=ROOT / "build" / "priority-tuner")
    random = Random(_SEED)
    order = [arm for _ in range(REPEAT) for arm in random.sample(ARMS, len(ARMS))]
    crowd = measure(CROWD, LOADS_PER_S, order, programs, results / "crowd", report)
    order = [arm for _ in range(PAIRS) for arm in random.sample((UNSET, TUNER), 2)]
    pairs = measure(FAST, float(FAST[0].count * 100), order, programs, results / "pairs", report)
    return findings({arm: crowd[arm] for arm in ARMS}, pairs, os.getloadavg()[0])


add_to = Study(name="tuner-scale", step="many connections", measure=_measure).add_to
