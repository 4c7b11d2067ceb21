"""The results of an experiment's arms as text: the headline, the table, verdicts, ledgers and notes."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from priolab.analysis.loads import cost, limits
from priolab.analysis.loads.ledger import sentence
from priolab.analysis.reports.headline import headline
from priolab.common.amounts import UNKNOWN, kibibytes, rate, seconds
from priolab.common.formats.page import Page, Resource, called
from priolab.common.formats.run import CostRecord, LedgerRecord, LimitsRecord
from priolab.common.formats.scenario import bytes_in_words
from priolab.experiments.commands.printable import shown
from priolab.experiments.commands.tables import bare_table

_MOST_NAMED = 4
"""The largest number of resources in the table of goodput, which is as wide as a terminal of 80 columns."""
_VERDICT = re.compile(r"\b(?:kept|inverted)\b")
_STYLES = {"kept": "bold green", "inverted": "bold red", "invalid": "bold red", "failed": "bold red"}


@dataclass(frozen=True, kw_only=True)
class _Column:
    """A column of the table of arms. cell: formats an arm's cell."""

    heading: str
    cell: Callable[[Mapping[str, Any]], str]


def results(summary: Mapping[str, Any]) -> Iterator[str | Table]:
    """Yields the lines, in rich's markup, and the tables that present a summary, in their order."""
    arms = summary["arms"]
    yield from head(arms)
    yield from _queues(arms)
    yield _of_arms(arms)
    yield from _verdicts(arms)
    if any(len(arm["loads"]) > 1 for arm in arms):
        yield _loads(arms)
    yield from _goodput(arms)
    yield from _limits(arms)
    yield from _gaps(arms)
    yield from _ledgers(arms)
    yield from _costs(arms)
    for note in dict.fromkeys(note for arm in arms for note in arm["warnings"]):
        yield f"[yellow]note:[/] {shown(note)}"


def head(arms: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yields the lines above the table, in rich's markup: the headline, and why an arm is not ok."""
    for told in headline(arms):
        text, bracket, verdicts = shown(told).rpartition(" (")
        verdicts = _VERDICT.sub(lambda found: _styled(found[0]), verdicts)
        yield f"[bold]{text}{bracket}{verdicts}[/]"
    for arm in arms:
        if arm["status"] != "ok":
            yield f"{shown(arm['name'])}: {_styled(arm['status'])} - {shown(str(arm['reason']))}"


def _queues(arms: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yields the size of each bottleneck queue that is limited in bytes, with its arms unless it is that of all."""
    queues = {arm["name"]: queue_of(arm["scenario"]) for arm in arms}
    for queue in filter(None, dict.fromkeys(queues.values())):
        which = "" if set(queues.values()) == {queue} else ", ".join(name for name in queues if queues[name] == queue)
        yield f"{shown(which)}{': ' if which else ''}bottleneck queue of {queue}"


def queue_of(scenario: Mapping[str, Any]) -> str | None:
    """Returns the size of a bottleneck queue in words, if it is limited in bytes. scenario: that of a summary."""
    return bytes_in_words(scenario.get("queue_bytes"), scenario.get("queue_up_bytes"))


def _of_arms(arms: Sequence[Mapping[str, Any]]) -> Table:
    """Returns the table of arms. A single important or other resource is called by its name."""
    names, table = _names(arms), bare_table("arm", "verdict")
    columns = [column for column in _COLUMNS if names["others"] or "{others}" not in column.heading]
    for column in columns:
        table.add_column(column.heading.format(**names), justify="right")
    for arm in arms:
        word = arm["verdict"] if arm["status"] == "ok" else arm["status"]
        table.add_row(shown(arm["name"]), _styled(word), *(column.cell(arm) for column in columns))
    return table


def _styled(word: str) -> str:
    return f"[{_STYLES.get(word, 'bold')}]{shown(word)}[/]"


def _verdicts(arms: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for arm in arms:
        if arm["verdict_reason"]:
            yield f"{shown(arm['name'])}: {_styled(arm['verdict'])} - {shown(arm['verdict_reason'])}"


def _loads(arms: Sequence[Mapping[str, Any]]) -> Table:
    table = bare_table(f"{_names(arms)['important']} first byte, by load")
    most = max(len(arm["loads"]) for arm in arms)
    for number in range(1, most + 1):
        table.add_column(f"load {number}", justify="right")
    for arm in arms:
        table.add_row(shown(arm["name"]), *(seconds(load["first_byte_ms"]) for load in arm["loads"]))
    return table


def _goodput(arms: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    """Yields the table of goodput: of the whole load from its request on, and of resources from their first byte on."""
    names = [name for name, each in arms[0]["resources"].items() if each.get("goodput_bit_s")][:_MOST_NAMED]
    if not names:
        return
    table = bare_table("goodput")
    for heading in ("whole load", *map(shown, names)):
        table.add_column(heading, justify="right")
    for arm in arms:
        found = [arm["goodput_bit_s"], *(arm["resources"].get(name, {}).get("goodput_bit_s") for name in names)]
        table.add_row(shown(arm["name"]), *(UNKNOWN if each is None else rate(each) for each in found))
    yield table


def _limits(arms: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yields what limited the measured load of each arm in which no resource competes with an important one."""
    from priolab.common.formats.conversion import convert

    for arm in arms:
        if _page(arm).is_judged and arm["others_last_byte_ms"] is not None:
            continue
        load = arm["loads"][-1] if arm["loads"] else {}
        if found := load.get("limits"):
            yield f"{shown(arm['name'])}: {shown(limits.sentence(convert(found, LimitsRecord)))}"
        elif "cost" in load:
            yield f"{shown(arm['name'])}: {limits.UNKNOWN}"


def _gaps(arms: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    """Yields the table of times between the arrivals of chunks, if the origin writes resources in chunks."""
    found = [(arm["name"], *each) for arm in arms for each in arm["resources"].items() if "gap_p50_ms" in each[1]]
    if not found:
        return
    table = bare_table("gaps between chunks")
    for heading in ("median", "99th percentile", "longest"):
        table.add_column(heading, justify="right")
    for arm, name, times in found:
        cells = (f"{times[key]:.1f} ms" for key in ("gap_p50_ms", "gap_p99_ms", "gap_longest_ms"))
        table.add_row(f"{shown(arm)}: {shown(name)}", *cells)
    yield table


def _ledgers(arms: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    from priolab.common.formats.conversion import convert

    for arm in arms:
        if arm["ledger"]:
            yield f"{shown(arm['name'])}: {shown(sentence(convert(arm['ledger'], LedgerRecord)))}"
        elif arm["ledger_reason"]:
            yield f"{shown(arm['name'])}: no ledger: {shown(arm['ledger_reason'])}"


def _costs(arms: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yields what the measured load of each arm cost the front, and the second front."""
    from priolab.common.formats.conversion import convert

    for arm in arms:
        for key, which in {"cost": "the front", "second_cost": "the second front"}.items():
            if arm["loads"] and (spent := arm["loads"][-1].get(key)):
                yield f"{shown(arm['name'])}: {shown(cost.sentence(convert(spent, CostRecord), which))}"


def _names(arms: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Returns the headings' words for important and other resources. A single resource is called by its name.

    The word for the others is empty if there are none.
    """
    page = _page(arms[0])
    return {
        "important": shown(called(page.important, "important")),
        "others": shown(called(page.others, "others")) if page.others else "",
    }


def _page(arm: Mapping[str, Any]) -> Page:
    """Returns the page that an arm of a summary loaded."""
    from priolab.common.formats.conversion import convert

    scenario = arm["scenario"]
    return Page(
        name=scenario["page"],
        title=scenario["page"],
        resources=convert(scenario["resources"], tuple[Resource, ...]),
    )


def _of_oracle(arm: Mapping[str, Any], key: str) -> float | None:
    """Returns the oracle's value for this key; None if the arm has no oracle."""
    found: float | None = (arm["oracle"] or {}).get(key)
    return found


_COLUMNS = (
    _Column(heading="{important}\npossible", cell=lambda arm: seconds(_of_oracle(arm, "first_byte_ms"))),
    _Column(heading="late\nby", cell=lambda arm: seconds(_of_oracle(arm, "inversion_ms"))),
    _Column(heading="{important}\nfirst", cell=lambda arm: seconds(arm["first_byte_ms"])),
    _Column(heading="{important}\nlast", cell=lambda arm: seconds(arm["important_last_byte_ms"])),
    _Column(heading="{others}\nfirst", cell=lambda arm: seconds(arm["others_first_byte_ms"])),
    _Column(heading="{others}\nlast", cell=lambda arm: seconds(arm["others_last_byte_ms"])),
    _Column(heading="{others}\nbefore", cell=lambda arm: kibibytes(arm["other_bytes_before"])),
    _Column(heading="{others}\nneedless", cell=lambda arm: kibibytes(_of_oracle(arm, "inversion_bytes"))),
    _Column(heading="wall\ntime", cell=lambda arm: f"{arm['wall_s']:.1f} s"),
)
"""The columns of the table of arms.

`possible` is the oracle's bound for the important resource's first byte. `late by` is the time from this bound to the
first byte. `needless` is the number of needless bytes.
"""
