"""Makes tables from a sweep's summary: its networks, a network's values of LOWAT, the judgements of LOWAT=auto. Pure.

Cells are text. Markdown and the terminal are for people; CSV is for programs, with plain numbers, the unit in the
column's name, and an empty cell for an unknown value.
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any

from priolab.analysis.reports.markdown import Table
from priolab.analysis.sweeps import words
from priolab.analysis.sweeps.bootstrap import Estimate
from priolab.analysis.sweeps.measures import COSTS, Measure
from priolab.analysis.sweeps.network_knobs import LOWAT, NONE
from priolab.common.amounts import UNKNOWN, milliseconds

_NOT_MEASURED = "not measured"
_SURE = 0.95
_PARTS = ("median", "low", "high")

Document = Mapping[str, Any]


def of_networks(summary: Document) -> Table:
    """Makes a line for each network: the recommended LOWAT, and first byte and goodput with this LOWAT."""
    head = (
        "network",
        "recommended LOWAT",
        "script first byte",
        "first byte with it unset",
        "goodput",
        "goodput falls at",
    )
    return Table(head=(*head, "noise band"), rows=tuple(_network(network) for network in summary["networks"]))


def of_values(network: Document) -> Table:
    """Makes a line for each value of LOWAT that was tried in a network of the summary."""
    unset = words.setting(NONE, network["knob"])
    head = (network["knob"], "script first byte", "wait in the send queue", f"first byte against {unset}", "goodput")
    against = (f"goodput against {unset}",)
    costs = ("front CPU per MB", "context switches per MB", "read, write calls per MB", "repetitions")
    return Table(head=head + against + costs, rows=tuple(_value_row(network, value) for value in network["values"]))


def of_auto(summary: Document) -> Table | None:
    """Makes a line for each judgement of LOWAT=auto; None if LOWAT=auto was not tried."""
    rows = [_auto(network, judgement) for network in summary["networks"] for judgement in network["auto"]]
    head = ("network", "value", "script first byte", "best fixed", "ratio", "near", "goodput, of unset", "kept")
    return Table(head=(*head, "noise band"), rows=tuple(rows)) if rows else None


def sentences(network: Document) -> list[str]:
    """Returns sentences about a network of the summary: the recommended LOWAT, its reasons, and how to check it."""
    knee = network["knee"]
    said = [knee["reason"], knee["instants"], knee["goodput_falls_words"], knee["documentation"]]
    said.append(network["no_difference_words"])
    if knee["front"]:
        *before, last = (words.setting(value, network["knob"]) for value in knee["front"])
        measures = "first byte, goodput and processor time (if known)"
        if before:
            told = f"The best trade-offs of {measures} are {', '.join(before)} and {last}."
        else:
            told = f"The best trade-off of {measures} is {last}."
        said.insert(3, told)
    said[1:1] = filter(None, [network["configuration"], knee["price"], knee["left_out_words"]])
    said += [judgement["words"] for judgement in network["auto"]]
    if knee["put_back"]:
        said.append(f"This command checks the recommended value in new runs: priolab run {' '.join(knee['put_back'])}")
    return said


def notes(summary: Document) -> list[str]:
    """Returns notes on the tables: runs that do not count, missing measures, too few repetitions."""
    runs = summary["runs"]
    alike: dict[tuple[str, str], list[str]] = {}
    for trouble in runs["troubles"]:
        alike.setdefault((trouble["status"], trouble["reason"]), []).append(trouble["run"])
    found = [
        f"These runs are left out as {status} ({reason}): {', '.join(names)}."
        for (status, reason), names in alike.items()
    ]
    invalid = sum(trouble["status"] == "invalid" for trouble in runs["troubles"])
    if told := mostly_invalid(invalid, runs["asked"], summary["fabric"]):
        found.insert(0, told)
    if not summary["finished"]:
        found.insert(0, f"The sweep is not finished: {runs['ok']} of {runs['asked']} runs are done and ok.")
    if summary["repeat"] == 1:
        found.append("Every number comes from a single repetition, so it has no interval.")
    elif (chance := _coverage(summary)) < _SURE:
        found.append(
            "The intervals come from few repetitions: an interval holds the true median in at least "
            f"{chance:.0%} of cases."
        )
    if any(_nobody_counted(summary, cost) for cost in COSTS):
        where = "in the virtual fabric" if summary["fabric"] == "virtual" else "here"
        found.append(
            "Some or all costs of the front (processor time, context switches, system calls) were not measured "
            f"{where}: run.json has the reasons."
        )
    with_ledger, good = _with_ledger(summary)
    if 0 < with_ledger < good:
        found.append(f"The time in the send queue is from {with_ledger} of {good} runs: the other runs have no ledger.")
    return found


def mostly_invalid(invalid: int, runs: int, fabric: str) -> str | None:
    """Returns what to do if at least half of the runs of a sweep are invalid; None if fewer are."""
    if 2 * invalid < runs or not invalid:
        return None
    told = f"{invalid} of {runs} runs are invalid, so this sweep tells nothing about LOWAT"
    if fabric != "virtual":
        return f"{told}: leave the machine to the sweep, or use FABRIC=virtual, where no run is late."
    return f"{told}: carry one out by `priolab run` with its knobs; if that is invalid, too, report the lab's fault."


def markdown(summary: Document) -> str:
    """Returns all tables, and the sentences of each network, in Markdown."""
    parts = [of_networks(summary).markdown()]
    for network in summary["networks"]:
        said = "\n".join(f"- {sentence}" for sentence in sentences(network))
        parts += [f"## {network['network']}", said, of_values(network).markdown()]
    if auto := of_auto(summary):
        parts += ["## LOWAT=auto", auto.markdown()]
    if told := notes(summary):
        parts += ["## Notes", "\n".join(f"- {note}" for note in told)]
    return "\n\n".join(parts) + "\n"


def networks_csv(summary: Document) -> str:
    """Returns CSV with a line per network: the recommended LOWAT, the measures with this LOWAT and with LOWAT unset."""
    which = ("recommended", "unset")
    names = [f"{name}_{measure}_{part}" for name in which for measure in Measure for part in _PARTS]
    none = ("no_difference_ms", "no_difference_ratio", "no_difference_part")
    head = ["network", "recommended_lowat", "goodput_falls_at", *none, *names]
    return _csv(head, (_network_cells(network) for network in summary["networks"]))


def values_csv(summary: Document) -> str:
    """Returns CSV with a line for each value of LOWAT in each network: medians and intervals of every measure."""
    names = [f"{measure}_{part}" for measure in Measure for part in _PARTS]
    head = ["network", "lowat", "asked", "ok", "is_recommended", "is_on_front", *names]
    return _csv(
        head,
        (
            [
                network["network"],
                *(value[key] for key in ("value", "asked", "ok")),
                int(value["value"] == network["knee"]["recommended"]),
                int(value["on_front"]),
                *_numbers(value),
            ]
            for network in summary["networks"]
            for value in network["values"]
        ),
    )


def _network_cells(network: Document) -> list[Any]:
    knee, none = network["knee"], network["no_difference"][Measure.FIRST_BYTE]
    chosen = [_value(network, knee["recommended"]), _value(network, "none")]
    cells = [cell for value in chosen for cell in _numbers(value)]
    apart = [none[key] for key in ("grain", "pair_ratio", "pair_part")]
    return [network["network"], knee["recommended"], knee["goodput_falls_at"], *apart, *cells]


def _numbers(value: Document | None) -> list[float | None]:
    measured = value["measured"] if value else {}
    return [(measured.get(measure) or {}).get(part) for measure in Measure for part in _PARTS]


def _csv(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()


def _network(network: Document) -> tuple[str, ...]:
    knee = network["knee"]
    chosen, unset = _value(network, knee["recommended"]), _value(network, "none")
    return (
        network["network"],
        _recommended(network),
        _cell(chosen, Measure.FIRST_BYTE),
        _cell(unset, Measure.FIRST_BYTE),
        _cell(chosen, Measure.GOODPUT),
        knee["goodput_falls_at"] or ("none of these" if knee["goodput_held_against"] else UNKNOWN),
        _no_difference(network["no_difference"][Measure.FIRST_BYTE]),
    )


def _recommended(network: Document) -> str:
    value, knob = network["knee"]["recommended"], network["knob"]
    return UNKNOWN if value is None else str(value) if knob == LOWAT else f"{knob}={value}"


def _value_row(network: Document, value: Document) -> tuple[str, ...]:
    against = value["against_unset"]
    is_recommended = value["value"] == network["knee"]["recommended"]
    return (
        f"{value['value']} (recommended)" if is_recommended else value["value"],
        _cell(value, Measure.FIRST_BYTE),
        _cell(value, Measure.SEND_QUEUE),
        _against(against[Measure.FIRST_BYTE]),
        _cell(value, Measure.GOODPUT),
        _against(against[Measure.GOODPUT]),
        _cell(value, Measure.CPU, _NOT_MEASURED),
        _both(value, Measure.VOLUNTARY, Measure.INVOLUNTARY),
        _both(value, Measure.READS, Measure.WRITES),
        f"{value['ok']} of {value['asked']}",
    )


def _auto(network: Document, judgement: Document) -> tuple[str, ...]:
    best, part, ratio = (judgement[key] for key in ("best_fixed", "goodput_part", "ratio"))
    return (
        network["network"],
        judgement["value"],
        milliseconds(judgement["script_first_byte_ms"]),
        f"{best}: {milliseconds(judgement['best_fixed_ms'])}" if best else UNKNOWN,
        UNKNOWN if ratio is None else f"{ratio:.2f}",
        _ANSWERS[judgement["near"]],
        UNKNOWN if part is None else f"{part:.1%}",
        _ANSWERS[judgement["keeps_goodput"]],
        _no_difference(network["no_difference"][Measure.FIRST_BYTE]),
    )


_ANSWERS = {True: "yes", False: "no", None: UNKNOWN}


def _no_difference(spread: Document) -> str:
    grain = milliseconds(spread["grain"])
    if spread["pair"] is None or spread["pair"] <= spread["grain"]:
        return grain
    ratio = inf if spread["pair_ratio"] is None else spread["pair_ratio"]
    return f"{words.factor(ratio)}, {grain} at least"


def _value(network: Document, wanted: str | None) -> Document | None:
    return next((value for value in network["values"] if value["value"] == wanted), None)


def _cell(value: Document | None, measure: Measure, unknown: str = UNKNOWN) -> str:
    found = value["measured"][measure] if value else None
    return unknown if found is None else words.interval(measure, Estimate(**found))


def _both(value: Document, one: Measure, other: Measure) -> str:
    cells = [_cell(value, measure, _NOT_MEASURED) for measure in (one, other)]
    return cells[0] if cells[0] == cells[1] == _NOT_MEASURED else " + ".join(cells)


def _against(found: Document | None) -> str:
    return str(found["words"]) if found else UNKNOWN


def _coverage(summary: Document) -> float:
    first = [value["measured"][Measure.FIRST_BYTE] for network in summary["networks"] for value in network["values"]]
    return min((estimate["coverage"] for estimate in first if estimate), default=1.0)


def _nobody_counted(summary: Document, cost: Measure) -> bool:
    known = [value["measured"] for network in summary["networks"] for value in network["values"] if value["ok"]]
    return bool(known) and all(each[cost] is None for each in known)


def _with_ledger(summary: Document) -> tuple[int, int]:
    """Returns (number of ok runs with a ledger, number of ok runs). Twins do not count, because no table shows them."""
    values = [value for network in summary["networks"] for value in network["values"]]
    measured = [value["measured"][Measure.SEND_QUEUE] for value in values]
    return sum(each["repetitions"] for each in measured if each), sum(value["ok"] for value in values)
