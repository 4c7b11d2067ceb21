"""Makes the summary of an experiment: a document in a stable format, for other programs (docs/reference/results.md)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from priolab.analysis.loads.layer import Layer
from priolab.analysis.records.runs import Experiment, Run, load_run, read_experiment
from priolab.analysis.reports.notes import advice
from priolab.common.formats.page import MAPS
from priolab.common.formats.run import Verdict

SUMMARY_FORMAT = 1
"""The version of the summary's format. The format of run folders has its own version."""

_AnyRun = TypeVar("_AnyRun", bound=Run)

_EDGES = ("first_byte_ms", "last_byte_ms")
_WORST_FIRST = ("failed", "invalid", "unsupported", "ok")


def summarize(experiment: Experiment) -> dict[str, Any]:
    """Returns the summary of an experiment, which `priolab show --json` prints."""
    return {
        "format": SUMMARY_FORMAT,
        "experiment": experiment.record.experiment,
        "fabric": experiment.record.fabric,
        "status": _worst(run.status for run in experiment.runs),
        "arms": [_arm(name, runs) for name, runs in experiment.arms().items()],
    }


def arms(path: Path) -> Iterator[dict[str, Any]]:
    """Yields the summary of each arm of an experiment's folder. Only one arm's runs are in memory at a time.

    Raises FolderError.
    """
    names_of: dict[str, list[str]] = {}
    for name in read_experiment(path).runs:
        names_of.setdefault(name.rpartition(".")[0], []).append(name)
    for arm, names in names_of.items():
        yield _arm(arm, [load_run(path / name) for name in names])


def typical(runs: Sequence[_AnyRun]) -> _AnyRun | None:
    """Returns the repetition with the median first byte of the focal resource; None if no repetition is ok."""
    good = sorted((run for run in runs if run.status == "ok"), key=lambda run: run.record.measured.first_byte_ms)
    return good[(len(good) - 1) // 2] if good else None


def longest_part(ledger: Mapping[str, Any]) -> str:
    """Returns the longest part of a wait in words, and its seconds. ledger: that of an arm in a summary."""
    largest = ledger["largest"]
    return f"{Layer(largest).words}, {ledger['parts_ms'][largest] / 1000:.2f}"


def _worst(statuses: Any) -> str:
    present = set(statuses)
    return next(status for status in _WORST_FIRST if status in present)


def _arm(name: str, runs: Sequence[Run]) -> dict[str, Any]:
    good = [run for run in runs if run.status == "ok"]
    chosen = typical(runs) or runs[0]
    document = chosen.record.as_document()
    verdict, reason = _verdict(good)
    arm = {
        "name": name,
        "status": _worst(run.status for run in runs),
        "reason": next((run.record.reason for run in runs if run.status != "ok"), None),
        **{name: document[name] for name in ("scenario", "observed")},
        "verdict": verdict,
        "verdict_reason": reason,
        **_figures(good, chosen.scenario.page),
        **{name: document[name] for name in ("oracle", "probe", "ledger", "ledger_reason")},
        "wall_s": round(median(run.record.wall_s for run in runs), 3),
        "loads": document["loads"],
        "instruments": document["instruments"],
        "warnings": advice(chosen.record) if chosen.status == "ok" else [],
    }
    if len(runs) > 1:
        arm["repetitions"] = [
            {
                "status": run.status,
                "verdict": run.record.verdict,
                **_figures([run] if run.status == "ok" else [], run.scenario.page),
                "wall_s": run.record.wall_s,
            }
            for run in runs
        ]
    return arm


def _verdict(good: Sequence[Run]) -> tuple[str | None, str | None]:
    verdicts = Counter(run.record.verdict for run in good)
    if not verdicts:
        return None, None
    if len(verdicts) == 1:
        chosen = typical(good)
        return next(iter(verdicts)), chosen.record.verdict_reason if chosen else None
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    return Verdict.UNDECIDED, f"the repetitions have different verdicts: {counts}"


def _whole_bit_s(run: Run) -> float:
    """Returns the payload of the measured load without documents, over the time from the request of the page."""
    return run.scenario.whole_page.contents_bytes * 8 * 1000 / run.record.measured.complete_ms


_WHOLE = ("other_bytes_before", "other_bytes_during")
_OF_FOCAL = ("available_ms", "first_byte_ms")
_MEASURED = ("_ms", "_bit_s")
_TIMES = ("important_last_byte_ms", "others_first_byte_ms", "others_last_byte_ms")
_OF_MAPS = ("script", "image")
_WHOLE_OF_MAPS = ("image_bytes_before_script", "image_bytes_during_script")


def _figures(good: Sequence[Run], page: str) -> dict[str, Any]:
    """Returns the medians of the times and sizes of the measured loads; None for a median without values.

    good: the runs of an arm that are ok. page: the value of PAGE. Only PAGE=maps has keys for script and image. The
    focal resource is that of the typical run; runs whose verdict is about another one count for their own times only.
    """

    def middle(values: Iterable[float], digits: int | None) -> float | None:
        """Returns the median, rounded to the given number of digits; None without values."""
        found = list(values)
        return round(median(found), digits) if found else None

    def times(entries: Sequence[Mapping[str, Any]], names: Iterable[str]) -> dict[str, Any]:
        found = {name: [entry[name] for entry in entries if entry[name] is not None] for name in names}
        return {name: middle(values, 6) for name, values in found.items()}

    loads = [run.record.as_document()["loads"][-1] for run in good]
    chosen = typical(good)
    focal = chosen.record.measured.focal if chosen else None
    alike = [load for load in loads if load["focal"] == focal]
    first = alike[0] if alike else {}
    is_maps = page == MAPS and all(key in load for load in loads for key in (*_OF_MAPS, *_WHOLE_OF_MAPS))
    resources = {
        name: {
            "important": entry["important"],
            "size_bytes": entry["size_bytes"],
            **times([load["resources"][name] for load in loads], [key for key in entry if key.endswith(_MEASURED)]),
        }
        for name, entry in first.get("resources", {}).items()
    }
    return {
        "focal": focal,
        "resources": resources,
        **times(alike, _OF_FOCAL),
        **times(loads, _TIMES),
        "goodput_bit_s": middle((_whole_bit_s(run) for run in good), 0),
        **{key: middle((load[key] for load in alike), None) for key in (*_WHOLE, *(_WHOLE_OF_MAPS if is_maps else ()))},
        **{name: times([load[name] for load in loads], _EDGES) for name in (_OF_MAPS if is_maps else ())},
    }
