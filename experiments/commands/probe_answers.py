"""The answers that `priolab probe` found: as words, as a table, and as JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analysis.matrix.cells import OwnOrder, own_order, reading
from experiments.commands.console import Report

_FORMAT = 1
_MEANING = (
    "strict: the URL that the client marks as more urgent gets nearly the whole flow-control window.\n"
    "proportional: a URL gets a larger share of the window if the client marks it as more urgent.\n"
    "ignored: the shares do not depend on which URL the client marks as more urgent.\n"
    "contrary: a URL gets a smaller share of the window if the client marks it as more urgent."
)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer in one dialect: which share of the window each resource got.

    shares: the second resource's share of the window if the second resource is more urgent, and its share if the first
    resource is more urgent. doubt: the uncertainty of the shares. refusal: the reason why there are no shares. If
    shares and refusal are None, the deadline came before the answer.
    """

    shares: tuple[float, float] | None = None
    doubt: float = 0.0
    refusal: str | None = None

    @property
    def is_seen(self) -> bool:
        """True if the answer came before the deadline."""
        return self.shares is not None or self.refusal is not None

    @property
    def word(self) -> str:
        """The answer as one word."""
        if self.shares:
            return str(reading(*self.shares, doubt=self.doubt))
        return "refused" if self.is_seen else "not seen"

    def document(self) -> dict[str, Any]:
        """The answer as JSON."""
        if self.shares is None:
            return {"reading": None, "refusal": self.refusal}
        return {"reading": self.word, "second_share": dict(zip(("asked", "swapped"), self.shares, strict=True))}

    def row(self, dialect: str) -> tuple[str, ...]:
        """The answer as a row of the table."""
        if self.shares is None:
            return dialect, self.word, self.refusal or "", ""
        return dialect, self.word, f"{self.shares[0]:.0%}", f"{1 - self.shares[1]:.0%}"


def own_order_in_words(unasked: float, turned: float) -> str:
    """Describes the order in which the server sends two URLs without priorities.

    unasked, turned: the second URL's share if the second URL is requested second, and if it is requested first.
    """
    if own_order(1 - unasked, 1 - turned) is OwnOrder.SCRIPT_FIRST:
        return "the first URL before the second, whichever is requested first"
    if (found := own_order(unasked, turned)) is OwnOrder.SCRIPT_FIRST:
        return "the second URL before the first, whichever is requested first"
    return found


def show(report: Report, unasked: tuple[float, float] | None, answers: Mapping[str, Answer]) -> None:
    """Shows the answers, by dialect, as a table and sentences. unasked: the shares in `own_order_in_words`."""
    head = (
        "dialect",
        "answer",
        "second URL's share of the window if marked as more urgent",
        "first URL's share of the window if marked as more urgent",
    )
    report.table(head, [answer.row(dialect) for dialect, answer in answers.items()])
    if unasked:
        report.say(
            f"Without priorities: {own_order_in_words(*unasked)}. If the second URL is requested second, it gets"
            f" {unasked[0]:.0%} of the window; if the first URL is requested second, it gets {1 - unasked[1]:.0%}."
        )
    else:
        report.say("Without priorities: the answer was not seen.")
    report.say(_MEANING)


def document(
    target: Mapping[str, Any], unasked: tuple[float, float] | None, answers: Mapping[str, Answer]
) -> dict[str, Any]:
    """Returns the document that docs/results.md describes. target: the part of the document about the server."""
    return {
        "format": _FORMAT,
        **target,
        "unasked": unasked
        and {
            "own_order": own_order_in_words(*unasked),
            "second_share": {"requested_second": round(unasked[0], 4), "requested_first": round(unasked[1], 4)},
        },
        "dialects": {dialect: answer.document() for dialect, answer in answers.items()},
    }
