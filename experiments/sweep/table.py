"""The tables of a sweep: the table of its arms, and the table of the arms' results.

A sweep may have a million runs, each with a run.json of twenty kilobytes, so results are read arm by arm.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from rich.table import Table

from priolab.analysis.reports.summary import arms
from priolab.analysis.sweeps.network_knobs import network_of
from priolab.common.amounts import seconds
from priolab.common.formats.sweep import SweepArmRecord, SweepRecord
from priolab.experiments.commands.arm_results import queue_of
from priolab.experiments.commands.printable import shown
from priolab.experiments.commands.tables import bare_table
from priolab.experiments.execution.cost import link_s
from priolab.experiments.sweep.grid import Point

_STYLES = {"kept": "green", "inverted": "red", "invalid": "bold red", "failed": "bold red", "unsupported": "bold red"}


def _table(*headings: str, numbers: Sequence[str] = ()) -> Table:
    table = bare_table()
    for heading in headings:
        table.add_column(heading, no_wrap=True)
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def expansion(points: Sequence[Point]) -> Table:
    """Returns the table of arms, with a line for each arm."""
    table = _table("arm", "twin of", numbers=["link time"])
    for point in points:
        table.add_row(shown(point.arm.name), shown(point.twin_of or ""), f"{link_s(point.arm.scenario):.1f} s")
    return table


@dataclass(frozen=True, kw_only=True)
class ArmResult:
    """The result of an arm.

    reason: the reason of the arm's first run that is not ok. times_ms: the medians of the focal resource's first byte,
    of the important resources' last byte and of the others' last byte. queue: the bottleneck queue in words, if it is
    limited in bytes. good: the number of the arm's runs that are ok.
    of: the number of all runs of the arm.
    """

    name: str
    status: str
    reason: str | None
    verdict: str | None
    times_ms: tuple[float | None, ...]
    queue: str | None
    good: int
    of: int

    @classmethod
    def from_summary(cls, arm: Mapping[str, Any]) -> Self:
        """Builds the result from an arm's entry in a summary."""
        statuses = [each["status"] for each in arm.get("repetitions", [arm])]
        return cls(
            name=arm["name"],
            status=arm["status"],
            reason=arm["reason"],
            verdict=arm["verdict"],
            times_ms=tuple(arm[name] for name in _FIGURES),
            queue=queue_of(arm["scenario"]),
            good=statuses.count("ok"),
            of=len(statuses),
        )


def arm_results(folder: Path) -> list[ArmResult]:
    """Returns the result of every arm of a finished sweep. Raises FolderError."""
    return [ArmResult.from_summary(arm) for arm in arms(folder)]


def results(sweep: SweepRecord, of_arms: Sequence[ArmResult]) -> Table:
    """Returns the table of results, with a line for each arm, network by network. Times are medians."""
    found = {result.name: result for result in of_arms}
    of_network = [name for name, _ in network_of(dict.fromkeys(sweep.grid, ""))]
    knobs = [*of_network, *(name for name in sweep.grid if name not in of_network)]
    table = _table(*map(shown, knobs), "", "verdict", numbers=["first\nbyte", "last\nbyte", "others\nlast", "ok"])
    networks: dict[tuple[str, ...], list[SweepArmRecord]] = {}
    for arm in sweep.arms:
        networks.setdefault(tuple(arm.levels.get(name, "") for name in of_network), []).append(arm)
    for members in networks.values():
        for arm in members:
            levels = [_level(name, arm.levels.get(name, ""), found[arm.arm].queue) for name in knobs]
            _add(table, levels, arm.twin_of, found[arm.arm])
        table.add_section()
    return table


def _level(name: str, level: str, queue: str | None) -> str:
    """Returns the cell of a knob's value. queue: what QUEUE became; None if it is a number of packets."""
    return f"{level} ({queue})" if name == "QUEUE" and queue else level


def _add(table: Table, levels: Sequence[str], twin_of: str | None, result: ArmResult) -> None:
    word = result.verdict if result.status == "ok" else result.status
    table.add_row(
        *map(shown, levels),
        "twin" if twin_of else "",
        f"[{_STYLES.get(word or '', 'bold')}]{shown(str(word))}[/]",
        *map(seconds, result.times_ms),
        f"{result.good}/{result.of}",
    )


_FIGURES = ("first_byte_ms", "important_last_byte_ms", "others_last_byte_ms")
