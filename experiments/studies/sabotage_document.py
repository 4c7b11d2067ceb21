"""docs/sabotage.md: the cards of the sabotage catalogue, each with its measurements. Pure."""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

from analysis.loads import ledger
from experiments.scenario.named import LAYERS, Card, Entry

_WIDTH = 118
_HEAD = (
    "| | verdict | script first | script last | image last | longest part of the script's wait |",
    "|---|---|---|---|---|---|",
)
_LABELS = ("LOWAT unset", "with LOWAT")
_INTRODUCTION = (
    "Every way to spoil the demonstration is a switch. Each has a card: what one sees, which layer did it, how to tell,"
    " and the knob that undoes it. Each is a scenario as well, `make experiment SCENARIO=deep-queue`, and the lab's"
    " tests assert what its card says."
)
_MADE = (
    "The tables are of one run each, in the guest, made by `make sabotage`; times are seconds from the request of the"
    " measured load's page. This is the Maps case as it should be, with LOWAT 131072:"
)

Arm = Mapping[str, Any]
"""An arm of the summary."""


def document(plain: Sequence[Arm], entries: Mapping[str, tuple[Entry, Sequence[Arm]]]) -> str:
    """The document. plain: control and treatment of the unspoiled scenario.

    entries: by name, each with these two arms, and two more cured.
    """
    lines = ["# Ways to spoil it", "", _filled(_INTRODUCTION), "", _filled(_MADE), "", *_table(_LABELS, plain)]
    for entry, arms in entries.values():
        if entry.card:
            cured = [f"{entry.card.cure}, {label}" for label in _LABELS]
            lines += ["", *words(entry, entry.card), "", *_table([*_LABELS, *cured], arms)]
    return "\n".join(lines) + "\n"


def words(entry: Entry, card: Card) -> list[str]:
    """The lines about an entry, without figures."""
    knobs = " ".join(f"{name}={value}" for name, value in entry.knobs.items())
    told = {"See": card.see, "Layer": f"{LAYERS[card.layer]}.", "Tell": card.tell, "Cure": f"`{card.cure}`"}
    return [
        f"## {entry.name}",
        "",
        _filled(f"{entry.title}: `{knobs}`."),
        "",
        *(_filled(f"- **{name}**: {text}", hanging="  ") for name, text in told.items()),
    ]


def _table(labels: Sequence[str], arms: Sequence[Arm]) -> list[str]:
    return [*_HEAD, *(_row(label, arm) for label, arm in zip(labels, arms, strict=False))]


def _row(label: str, arm: Arm) -> str:
    times = (arm["script"]["first_byte_ms"], arm["script"]["last_byte_ms"], arm["image"]["last_byte_ms"])
    return " | ".join(
        [f"| {label}", arm["verdict"], *(f"{time_ms / 1000:.2f}" for time_ms in times), f"{_longest(arm)} |"]
    )


def _longest(arm: Arm) -> str:
    if arm["ledger"] is None:
        return "-"
    largest = arm["ledger"]["largest"]
    return f"{ledger.WORDS[ledger.Layer(largest)]}, {arm['ledger']['parts_ms'][largest] / 1000:.2f}"


def _filled(text: str, hanging: str = "") -> str:
    return fill(text, _WIDTH, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False)
