"""The one stable summary of an experiment that scripts can read; docs/results.md describes it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from analysis.loads.verdict import Verdict
from analysis.records import shape
from analysis.records.runs import Experiment, Run, load_document, load_run
from analysis.reports.advice import advice
from common.formats.page import MAPS

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
    """The summary of each arm of an experiment's folder, one arm's runs in memory at a time.

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
    """The arm's repetition with the median first byte of the focal resource; None if none is ok."""
    good = sorted((run for run in runs if run.status == "ok"), key=lambda run: float(_first_byte_ms(run)))
    return good[(len(good) - 1) // 2] if good else None


def _first_byte_ms(run: Run) -> float:
    return float(measured(run)["first_byte_ms"])


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
        **_figures([measured(run) for run in good], chosen.scenario["page"]),
        **{name: chosen.document[name] for name in ("oracle", "prediction", "probe", "ledger", "ledger_reason")},
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
                **_figures([measured(run)] if run.status == "ok" else [], run.scenario["page"]),
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


_WHOLE = ("other_bytes_before", "other_bytes_during")
_TIMES = ("available_ms", "first_byte_ms", "important_last_byte_ms", "others_first_byte_ms", "others_last_byte_ms")
_OF_MAPS = ("script", "image")
_WHOLE_OF_MAPS = ("image_bytes_before_script", "image_bytes_during_script")


def _figures(loads: Sequence[Mapping[str, Any]], page: str) -> dict[str, Any]:
    """The medians of measured loads, null where there is none; the keys of PAGE=maps for that page alone."""

    def middle(values: Iterable[float], digits: int | None) -> float | None:
        """The median, rounded to the resolution of a single value."""
        found = list(values)
        return round(median(found), digits) if found else None

    def times(entries: Sequence[Mapping[str, Any]], names: Iterable[str]) -> dict[str, Any]:
        return {name: middle((entry[name] for entry in entries), 6) for name in names}

    first = loads[0] if loads else {}
    is_maps = page == MAPS and all(key in load for load in loads for key in (*_OF_MAPS, *_WHOLE_OF_MAPS))
    resources = {
        name: {
            "important": entry["important"],
            "size_bytes": entry["size_bytes"],
            **times([load["resources"][name] for load in loads], [key for key in entry if key.endswith("_ms")]),
        }
        for name, entry in first.get("resources", {}).items()
    }
    return {
        "focal": first.get("focal"),
        "resources": resources,
        **times(loads, _TIMES),
        **{key: middle((load[key] for load in loads), None) for key in (*_WHOLE, *(_WHOLE_OF_MAPS if is_maps else ()))},
        **{name: times([load[name] for load in loads], _EDGES) for name in (_OF_MAPS if is_maps else ())},
    }
