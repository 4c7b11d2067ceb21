"""Measures LOWAT=auto on synthetic traces: `make traces` fills docs/measured/traces.md."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

import priolab
from priolab import Experiment, Run
from priolab.analysis.reports.markdown import Table
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.study import Findings, Study
from priolab.experiments.execution.cli_request import joined_words
from priolab.netem.trace_generator import KINDS, synthetic

_SEEDS = range(1, 6)
_DURATION_MS = 20_000
_FIXED = (4096, 16_384, 65_536, 131_072, 524_288)
_KNOBS = {"DELAY": "30ms", "SIZE": "4M", "QUEUE": "100"}
_SAMPLE = {"SAMPLE": "100ms"}
_EVERY_MS = 10
_EVEN = {"CONTROL": "no", "LOWAT": "16384", "SHAPER": "ferry"}
_PACKET_BITS = 1514 * 8
_AUTO, _UNSET = "auto", "none"
_REGRET = ("regret, median:", "regret, largest:")


@dataclass(frozen=True, kw_only=True)
class TraceArms:
    """The arms of one trace. first_byte_ms: the time of the focal resource's first byte, by LOWAT.

    kind: the kind of the trace, of which others differ by their seed. goodput: with auto, as a fraction of the goodput
    with LOWAT unset.
    """

    kind: str
    first_byte_ms: Mapping[str, float]
    goodput: float

    @property
    def best(self) -> str:
        """The fixed LOWAT with the soonest first byte."""
        return min(
            (name for name in self.first_byte_ms if name not in (_AUTO, _UNSET)), key=self.first_byte_ms.__getitem__
        )

    @property
    def regret_ms(self) -> float:
        """The delay of the first byte with LOWAT=auto against the best fixed value."""
        return self.first_byte_ms[_AUTO] - self.first_byte_ms[self.best]


def findings(even: Mapping[str, tuple[float, float]], arms: Sequence[TraceArms]) -> Findings:
    """Returns the results. even: by figure, its value with even opportunities and with the same rate, in ms."""
    kinds = list(dict.fromkeys(each.kind for each in arms))
    pairs = tuple((name, f"{trace:.1f} ms", f"{rate:.1f} ms") for name, (trace, rate) in even.items())
    head = ("trace", "LOWAT unset:", "best fixed value:", "auto:", *_REGRET, "goodput, of unset:")
    rows = tuple(_row(kind, [each for each in arms if each.kind == kind]) for kind in kinds)
    found = {
        "even": Table(head=("", "trace:", "rate:"), rows=pairs).markdown(),
        "trace-seeds": str(len(arms) // len(kinds)),
        "trace-knobs": f"`{joined_words(_KNOBS)}`",
        "traces": Table(head=head, rows=rows).markdown(),
    }
    return Findings(places=found)


def _row(kind: str, arms: Sequence[TraceArms]) -> tuple[str, ...]:
    unset_ms, auto_ms = (mean(each.first_byte_ms[name] for each in arms) for name in (_UNSET, _AUTO))
    best_ms = mean(each.first_byte_ms[each.best] for each in arms)
    values = ", ".join(sorted({each.best for each in arms}, key=int))
    regrets_ms = [each.regret_ms for each in arms]
    times = (f"{unset_ms:.0f} ms", f"{best_ms:.0f} ms ({values})", f"{auto_ms:.0f} ms")
    regrets = (f"{median(regrets_ms):.0f} ms", f"{max(regrets_ms):.0f} ms")
    return (kind, *times, *regrets, f"{mean(each.goodput for each in arms):.1%}")


def _experiment(words: dict[str, str], report: Report) -> Experiment:
    return priolab.run(**{"REUSE": "yes", "FABRIC": "virtual", **_SAMPLE, **words}, progress=report).check()


def _even(folder: Path, report: Report) -> dict[str, tuple[float, float]]:
    """Returns figures with a trace of even opportunities, and with the same rate."""
    file = folder / "even"
    file.write_text("".join(f"{_EVERY_MS * number}\n" for number in range(1, 101)))
    rate = f"{_PACKET_BITS * 1000 // _EVERY_MS}bit"
    (traced,) = _experiment({**_EVEN, "TRACE": str(file)}, report).runs
    (rated,) = _experiment({**_EVEN, "RATE": rate}, report).runs
    return {
        f"{name}, {what.replace('_', ' ')}": (_ms(traced, name, what), _ms(rated, name, what))
        for name in ("script", "image")
        for what in ("first_byte", "last_byte")
    }


def _ms(run: Run, name: str, what: str) -> float:
    return float(getattr(run.record.measured.resources[name], f"{what}_ms"))


def _arms(kind: str, seed: int, folder: Path, report: Report) -> TraceArms:
    """Runs LOWAT unset, fixed and auto on a trace."""
    trace = synthetic(kind, seed=seed, duration_ms=_DURATION_MS)
    file = folder / trace.name
    file.write_text(trace.to_text())
    runs = _experiment({**_KNOBS, "TRACE": str(file), "LOWAT": ",".join([_AUTO, *map(str, _FIXED)])}, report).runs
    by_lowat = {_UNSET if (lowat := run.scenario.lowat) is None else str(lowat): run for run in runs}
    return TraceArms(
        kind=kind,
        first_byte_ms={name: run.record.measured.first_byte_ms for name, run in by_lowat.items()},
        goodput=by_lowat[_UNSET].record.measured.complete_ms / by_lowat[_AUTO].record.measured.complete_ms,
    )


def _measure(results: Path, report: Report) -> Findings:
    arms = [_arms(kind, seed, results, report) for kind in KINDS for seed in _SEEDS]
    return findings(_even(results, report), arms)


add_to = Study(name="traces", step="the traces", measure=_measure).add_to
