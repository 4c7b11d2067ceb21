"""The tables of a sweep: what it would run, and what came of it."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

from analysis.sweeps.networks import network_of
from experiments.sweep import estimate
from experiments.sweep.grid import Point

_STYLES = {"kept": "green", "inverted": "red", "invalid": "bold red", "failed": "bold red", "unsupported": "bold red"}


def _table(*headings: str, numbers: Sequence[str] = ()) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading, no_wrap=True)
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def expansion(points: Sequence[Point]) -> Table:
    """A line per arm."""
    table = _table("arm", "twin of", numbers=["link time"])
    for point in points:
        link_s = estimate.link_s(point.arm.scenario)
        table.add_row(escape(point.arm.name), escape(point.twin_of or ""), f"{link_s:.1f} s")
    return table


def results(sweep: Mapping[str, Any], summary: Mapping[str, Any]) -> Table:
    """A line per arm, network by network; times are medians of the repetitions. sweep: sweep.json."""
    found = {arm["name"]: arm for arm in summary["arms"]}
    of_network = [name for name, _ in network_of(dict.fromkeys(sweep["grid"], ""))]
    knobs = [*of_network, *(name for name in sweep["grid"] if name not in of_network)]
    table = _table(*knobs, "", "verdict", numbers=["script\nfirst", "script\nlast", "image\nlast", "ok"])
    networks: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for arm in sweep["arms"]:
        networks.setdefault(tuple(arm["levels"][name] for name in of_network), []).append(arm)
    for members in networks.values():
        for arm in members:
            _add(table, [arm["levels"].get(name, "") for name in knobs], arm["twin_of"], found[arm["arm"]])
        table.add_section()
    return table


def _add(table: Table, levels: Sequence[str], twin_of: str | None, arm: Mapping[str, Any]) -> None:
    word = arm["verdict"] if arm["status"] == "ok" else arm["status"]
    good = [each["status"] for each in arm.get("repetitions", [arm])].count("ok")
    table.add_row(
        *map(escape, levels),
        "twin" if twin_of else "",
        f"[{_STYLES.get(word, 'bold')}]{word}[/]",
        *(_seconds(arm[name][edge]) for name, edge in _FIGURES),
        f"{good}/{len(arm.get('repetitions', [arm]))}",
    )


_FIGURES = (("script", "first_byte_ms"), ("script", "last_byte_ms"), ("image", "last_byte_ms"))


def _seconds(time_ms: float | None) -> str:
    return "-" if time_ms is None else f"{time_ms / 1000:.2f} s"
