"""Writes docs/measured/sabotage.md: the cards of the sabotage catalogue, each with its measurements. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from priolab.analysis.loads.layer import Layer
from priolab.analysis.loads.ledger import WORDS
from priolab.analysis.reports.markdown import filled, head, row

_HEAD = head(
    "", "verdict", "script first byte", "script last byte", "image last byte", "longest part of the script's wait"
)
_LABELS = ("LOWAT unset", "with LOWAT")
_INTRODUCTION = (
    "This page lists ways to spoil the effect of LOWAT. Each way is a named scenario, such as `make experiment"
    " SCENARIO=deep-queue`, and has a card: what you see, which layer causes it, how to recognize it, and the knob"
    " that cures it. The lab's tests check the statements of the cards."
)
_MADE = (
    "Each row is one run in the guest, made by `make sabotage`. Times are seconds from the request of the measured"
    " load's page to the first or last byte. The table below has the unspoiled Maps case, with LOWAT unset and with"
    " LOWAT 131072:"
)

Arm = Mapping[str, Any]
"""An arm in the summary of an experiment."""


@dataclass(frozen=True, kw_only=True)
class Spoiler:
    """A scenario that spoils the effect of LOWAT. knobs: the scenario's knobs, as text.

    see, layer, tell, cure: the texts of its card: what you see, which layer causes it, how to recognize it, and the
    knob that cures it.
    """

    name: str
    title: str
    knobs: str
    see: str
    layer: str
    tell: str
    cure: str | None


def document(plain: Sequence[Arm], spoiled: Iterable[tuple[Spoiler, Sequence[Arm]]]) -> str:
    """Returns the text of docs/measured/sabotage.md.

    plain: control and treatment of the unspoiled scenario. spoiled: scenarios, each with four arms: control and
    treatment, then control and treatment with the cure.
    """
    lines = ["# Ways to spoil the effect", "", filled(_INTRODUCTION), "", filled(_MADE), "", *_table(_LABELS, plain)]
    for spoiler, arms in spoiled:
        cured = [f"{spoiler.cure}, {label}" for label in _LABELS]
        lines += ["", *words(spoiler), "", *_table([*_LABELS, *cured], arms)]
    return "\n".join(lines) + "\n"


def words(spoiler: Spoiler) -> list[str]:
    """Returns the title and the card of a scenario, as lines of Markdown."""
    told = {
        "See": spoiler.see,
        "Layer": f"{spoiler.layer}.",
        "How to recognize it": spoiler.tell,
        "Cure": f"`{spoiler.cure}`",
    }
    return [
        f"## {spoiler.name}",
        "",
        filled(f"{spoiler.title}: `{spoiler.knobs}`."),
        "",
        *(filled(f"- **{name}**: {text}", hanging="  ") for name, text in told.items()),
    ]


def _table(labels: Sequence[str], arms: Sequence[Arm]) -> list[str]:
    return [*_HEAD, *(_row(label, arm) for label, arm in zip(labels, arms, strict=False))]


def _row(label: str, arm: Arm) -> str:
    times = (arm["script"]["first_byte_ms"], arm["script"]["last_byte_ms"], arm["image"]["last_byte_ms"])
    return row([label, arm["verdict"], *(f"{time_ms / 1000:.2f}" for time_ms in times), _longest(arm)])


def _longest(arm: Arm) -> str:
    if arm["ledger"] is None:
        return "-"
    largest = arm["ledger"]["largest"]
    return f"{WORDS[Layer(largest)]}, {arm['ledger']['parts_ms'][largest] / 1000:.2f}"
