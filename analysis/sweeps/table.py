"""A sweep's summary as tables: a line for each network, and a line for each LOWAT=auto that is judged. Pure.

Cells are text. Markdown is for people; CSV is for programs, with plain numbers, the unit in the column's name, and
nothing where something is not known.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from analysis.sweeps import words
from analysis.sweeps.bootstrap import Estimate
from analysis.sweeps.measures import COSTS, Measure

_UNKNOWN = "-"
_NOT_MEASURED = "not measured"
_HEAD = (
    "network",
    "recommended LOWAT",
    "script first byte",
    "in the send queue",
    "LOWAT unset",
    "goodput",
    "goodput falls at",
    "no difference up to",
    "front CPU per MB",
    "context switches per MB",
    "read and write calls per MB",
)
_NO_DIFFERENCE = ("no_difference_ms", "no_difference_part")
_AUTO_HEAD = ("network", "value", "script first byte", "best fixed", "ratio", "near", "goodput of unset", "kept")


def rows(summary: Mapping[str, Any]) -> list[list[str]]:
    """A line for each network, under `head`."""
    return [_row(network) for network in summary["networks"]]


def head() -> list[str]:
    """Of `rows`."""
    return list(_HEAD)


def auto_rows(summary: Mapping[str, Any]) -> list[list[str]]:
    """A line for each judgement, under `auto_head`; none if LOWAT=auto was not tried."""
    return [_auto(network["network"], judgement) for network in summary["networks"] for judgement in network["auto"]]


def auto_head() -> list[str]:
    """Of `auto_rows`."""
    return list(_AUTO_HEAD)


def notes(summary: Mapping[str, Any]) -> list[str]:
    """What must be known to read the table: runs that are not in it, what nobody measured, how few repetitions."""
    found = []
    runs = summary["runs"]
    if not summary["finished"]:
        found.append(f"The sweep is not finished: {runs['ok']} of {runs['asked']} runs are there and ok.")
    found += [f"{trouble['run']} is {trouble['status']}: {trouble['reason']}." for trouble in runs["troubles"]]
    if summary["repeat"] == 1:
        found.append("Every value is from one repetition, and has no interval.")
    elif (chance := _coverage(summary)) < _SURE:
        found.append(
            f"An interval of so few repetitions ({summary['repeat']}) is sure to hold the true median in {chance:.0%} "
            f"of cases only."
        )
    if _nobody_counted(summary):
        where = f"in the {summary['fabric']} fabric" if summary["fabric"] == "virtual" else "here"
        found.append(
            f"Processor time and system calls were not measured {where}: the kernel that ran the front keeps no such "
            f"account."
        )
    return found


_SURE = 0.95


def _coverage(summary: Mapping[str, Any]) -> float:
    first = [value["measured"][Measure.FIRST_BYTE] for network in summary["networks"] for value in network["values"]]
    return min((estimate["coverage"] for estimate in first if estimate), default=1.0)


def markdown(summary: Mapping[str, Any]) -> str:
    """The tables, with the sentences of each network below."""
    lines = [_markdown_row(_HEAD), _markdown_row(["---"] * len(_HEAD)), *map(_markdown_row, rows(summary)), ""]
    for network in summary["networks"]:
        lines += [f"**{network['network']}**", "", *(f"- {sentence}" for sentence in sentences(network)), ""]
    if judged := auto_rows(summary):
        lines += [_markdown_row(_AUTO_HEAD), _markdown_row(["---"] * len(_AUTO_HEAD)), *map(_markdown_row, judged), ""]
    lines += [f"- {note}" for note in notes(summary)]
    return "\n".join(lines).rstrip() + "\n"


def sentences(network: Mapping[str, Any]) -> list[str]:
    """What is to be said of a network of the summary."""
    knee = network["knee"]
    said = [knee["reason"], knee["goodput_falls_words"], knee["documentation"], network["no_difference_words"]]
    said += [judgement["words"] for judgement in network["auto"]]
    if knee["put_back"]:
        said.append(f"To see it: priolab run {' '.join(knee['put_back'])}")
    return said


def to_csv(summary: Mapping[str, Any]) -> str:
    """A line for each network: recommended value, and medians and intervals of everything measured, with it and unset.

    Without a recommended value, or without LOWAT unset, these columns are empty.
    """
    text = io.StringIO()
    parts = ("median", "low", "high")
    names = [f"{which}_{measure}_{part}" for which in ("recommended", "unset") for measure in Measure for part in parts]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["network", "recommended_lowat", "goodput_falls_at", *_NO_DIFFERENCE, "repetitions", *names])
    for network in summary["networks"]:
        knee = network["knee"]
        chosen, unset = _value(network, knee["recommended"]), _value(network, "none")
        cells = [
            (value["measured"][measure] or {}).get(part) if value else None
            for value in (chosen, unset)
            for measure in Measure
            for part in parts
        ]
        none = network["no_difference"][Measure.FIRST_BYTE]
        repetitions = chosen["ok"] if chosen else None
        writer.writerow(
            [
                network["network"],
                knee["recommended"],
                knee["goodput_falls_at"],
                none["grain"],
                none["pair_part"],
                repetitions,
                *cells,
            ]
        )
    return text.getvalue()


def _row(network: Mapping[str, Any]) -> list[str]:
    knee = network["knee"]
    chosen, unset = _value(network, knee["recommended"]), _value(network, "none")
    return [
        network["network"],
        knee["recommended"] or _UNKNOWN,
        _cell(chosen, Measure.FIRST_BYTE),
        _cell(chosen, Measure.SEND_QUEUE),
        _cell(unset, Measure.FIRST_BYTE),
        _cell(chosen, Measure.GOODPUT),
        knee["goodput_falls_at"] or "none tried",
        _no_difference(network["no_difference"][Measure.FIRST_BYTE]),
        _cell(chosen, Measure.CPU, _NOT_MEASURED),
        _both(chosen, Measure.VOLUNTARY, Measure.INVOLUNTARY),
        _both(chosen, Measure.READS, Measure.WRITES),
    ]


def _no_difference(spread: Mapping[str, Any]) -> str:
    grain = words.milliseconds(spread["grain"])
    if spread["pair"] is None or spread["pair"] <= spread["grain"]:
        return grain
    return f"{spread['pair_part']:.0%}, {grain} at least"


def _auto(name: str, judgement: Mapping[str, Any]) -> list[str]:
    part, ratio = judgement["goodput_part"], judgement["ratio"]
    best = judgement["best_fixed"]
    return [
        name,
        judgement["value"],
        _milliseconds(judgement["script_first_byte_ms"]),
        f"{best}: {_milliseconds(judgement['best_fixed_ms'])}" if best else _UNKNOWN,
        _UNKNOWN if ratio is None else f"{ratio:.2f}",
        _yes_or_no(judgement["near"]),
        _UNKNOWN if part is None else f"{part:.1%}",
        _yes_or_no(judgement["keeps_goodput"]),
    ]


def _value(network: Mapping[str, Any], wanted: str | None) -> Mapping[str, Any] | None:
    return next((value for value in network["values"] if value["value"] == wanted), None)


def _cell(value: Mapping[str, Any] | None, measure: Measure, unknown: str = _UNKNOWN) -> str:
    found = value["measured"][measure] if value else None
    return unknown if found is None else words.interval(measure, Estimate(**found))


def _both(value: Mapping[str, Any] | None, one: Measure, other: Measure) -> str:
    cells = [_cell(value, measure, _NOT_MEASURED) for measure in (one, other)]
    return cells[0] if cells[0] == cells[1] == _NOT_MEASURED else " + ".join(cells)


def _nobody_counted(summary: Mapping[str, Any]) -> bool:
    known = [value["measured"] for network in summary["networks"] for value in network["values"] if value["ok"]]
    return bool(known) and any(all(each[cost] is None for each in known) for cost in COSTS)


def _milliseconds(time_ms: float | None) -> str:
    return _UNKNOWN if time_ms is None else words.milliseconds(time_ms)


def _yes_or_no(answer: bool | None) -> str:  # noqa: FBT001
    return {True: "yes", False: "no", None: _UNKNOWN}[answer]


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"
