"""The one stable summary of an experiment that scripts can read; docs/results.md describes it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from analysis.loads.metrics import IMAGE, SCRIPT
from analysis.loads.verdict import Verdict
from analysis.records import shape
from analysis.records.runs import Experiment, Run, load_document, load_run
from analysis.reports.advice import advice

SUMMARY_FORMAT = 1
"""Of the document, not of the folders it is made of."""

_EDGES = ("first_byte_ms", "last_byte_ms")
_WORST_FIRST = ("failed", "invalid", "unsupported", "ok")


def summarize(experiment: Experiment) -> dict[str, Any]:
    """Everything `priolab show --json` prints."""
    return {
        "format": SUMMARY_FORMAT,
        "experiment": experiment.document["experiment"],
        "fabric": experiment.document["fabric"],
        "status": _worst(run.status for run in experiment.runs),
        "arms": [_arm(name, runs) for name, runs in experiment.arms().items()],
    }


def arms(path: Path) -> Iterator[dict[str, Any]]:
    """What the summary of an experiment's folder has of each arm, one arm's runs in memory at a time.

    Raises FolderError.
    """
    names_of: dict[str, list[str]] = {}
    for name in load_document(path / "experiment.json", shape.EXPERIMENT)["runs"]:
        names_of.setdefault(name.rpartition(".")[0], []).append(name)
    for arm, names in names_of.items():
        yield _arm(arm, [load_run(path / name) for name in names])


def measured(run: Run) -> Mapping[str, Any]:
    """The measured load, the last one, of a run whose status is ok."""
    load: Mapping[str, Any] = run.document["loads"][-1]
    return load


def typical(runs: Sequence[Run]) -> Run | None:
    """Of an arm's repetitions, the one with the median first byte of the script; None if none is ok."""
    good = sorted((run for run in runs if run.status == "ok"), key=lambda run: float(_first_byte_ms(run)))
    return good[(len(good) - 1) // 2] if good else None


def _first_byte_ms(run: Run) -> float:
    return float(measured(run)["script"]["first_byte_ms"])


def _worst(statuses: Any) -> str:
    present = set(statuses)
    return next(status for status in _WORST_FIRST if status in present)


def _arm(name: str, runs: Sequence[Run]) -> dict[str, Any]:
    good = [run for run in runs if run.status == "ok"]
    chosen = typical(runs) or runs[0]
    verdict, reason = _verdict(good)
    arm = {
        "name": name,
        "status": _worst(run.status for run in runs),
        "reason": next((run.document["reason"] for run in runs if run.status != "ok"), None),
        "scenario": dict(chosen.scenario),
        "observed": dict(chosen.observed),
        "verdict": verdict,
        "verdict_reason": reason,
        **_figures([measured(run) for run in good]),
        # Folders of format 1 have neither.
        "oracle": chosen.document.get("oracle"),
        "prediction": chosen.document.get("prediction"),
        "probe": chosen.document.get("probe"),
        "ledger": chosen.document.get("ledger"),
        "ledger_reason": chosen.document.get("ledger_reason"),
        "wall_s": round(median(run.document["wall_s"] for run in runs), 3),
        "loads": list(chosen.document["loads"]),
        "instruments": dict(chosen.document.get("instruments", {})),
        "warnings": advice(chosen.document) if chosen.status == "ok" else [],
    }
    if len(runs) > 1:
        arm["repetitions"] = [
            {
                "status": run.status,
                "verdict": run.document["verdict"],
                **_figures([measured(run)] if run.status == "ok" else []),
                "wall_s": run.document["wall_s"],
            }
            for run in runs
        ]
    return arm


def _verdict(good: Sequence[Run]) -> tuple[str | None, str | None]:
    verdicts = Counter(run.document["verdict"] for run in good)
    if not verdicts:
        return None, None
    if len(verdicts) == 1:
        chosen = typical(good)
        return next(iter(verdicts)), chosen.document["verdict_reason"] if chosen else None
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    return Verdict.UNDECIDED, f"the repetitions disagree: {counts}"


def _figures(loads: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    def middle(pick: Callable[[Mapping[str, Any]], float], digits: int | None) -> float | None:
        """The median, as finely as one value is measured: a mean of two has no more to say."""
        return round(median(map(pick, loads)), digits) if loads else None

    def milliseconds(resource: str, edge: str) -> float | None:
        return middle(lambda load: load[resource][edge], 6)

    def whole_bytes(key: str) -> float | None:
        return middle(lambda load: load[key], None)

    return {
        **{name: {edge: milliseconds(name, edge) for edge in _EDGES} for name in (SCRIPT, IMAGE)},
        "image_bytes_before_script": whole_bytes("image_bytes_before_script"),
        "image_bytes_during_script": whole_bytes("image_bytes_during_script"),
    }
