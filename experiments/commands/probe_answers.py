"""The answers that `priolab probe` found: as words, as a table, and as JSON."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from priolab.analysis.judgement.order import NOT_MEASURED, OwnOrder, Reply, own_order, word
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.target import Site

_FORMAT = 1
_MEANING = (
    "strict: the URL that the client marks as more urgent gets nearly the whole flow-control window.\n"
    "proportional: a URL gets a larger share of the window if the client marks it as more urgent.\n"
    "ignored: the shares do not depend on which URL the client marks as more urgent.\n"
    "contrary: a URL gets a smaller share of the window if the client marks it as more urgent.\n"
    "refused: the server ended the connection or a stream, or answered with an error.\n"
    f"{NOT_MEASURED}: the order is unknown for another reason, which says nothing of the server."
)
_LATE = "the deadline came first"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer in one dialect.

    replies: the server's replies to the stimuli of this dialect; empty without an answer. refusal: how the server
    refused the dialect. obstacle: why the dialect could not be measured. Without all three, the deadline came first.
    """

    replies: tuple[Reply, ...] = ()
    refusal: str | None = None
    obstacle: str | None = None

    @property
    def is_missing(self) -> bool:
        """True if the deadline came before the answer."""
        return not (self.replies or self.refusal or self.obstacle)

    @property
    def word(self) -> str:
        """The answer as one word."""
        if self.replies:
            return str(word(self.replies))
        return "refused" if self.refusal else NOT_MEASURED

    def document(self) -> dict[str, Any]:
        """The answer as JSON."""
        if not self.replies:
            return {"reading": None, "refusal": self.refusal, "not_measured": self.obstacle}
        usual, *strong = map(_reply, self.replies)
        return {"reading": self.word, **usual, **({"strong": strong[0]} if strong else {})}

    def rows(self, dialect: str) -> Iterator[tuple[str, ...]]:
        """Yields the rows of the table: one for each stimulus, of which the first has the dialect and the word."""
        if not self.replies:
            yield dialect, self.word, self.refusal or self.obstacle or _LATE, "", ""
        for number, reply in enumerate(self.replies):
            head = ("", "") if number else (dialect, self.word)
            yield *head, reply.stimulus, f"{reply.shares[0]:.0%}", f"{1 - reply.shares[1]:.0%}"


def _reply(reply: Reply) -> dict[str, Any]:
    """Returns a reply as JSON."""
    shares = (round(share, 4) for share in reply.shares)
    return {
        "asked": [
            {"signals": each.words, "share": None if each.share is None else round(each.share, 4)}
            for each in reply.asked
        ],
        "second_share": dict(zip(("asked", "swapped"), shares, strict=True)),
    }


def own_order_in_words(unasked: float, turned: float) -> str:
    """Describes the order in which the server sends two URLs without priorities.

    unasked, turned: the second URL's share if the second URL is requested second, and if it is requested first.
    """
    if own_order(1 - unasked, 1 - turned) is OwnOrder.SCRIPT_FIRST:
        return "the first URL before the second, whichever is requested first"
    if (found := own_order(unasked, turned)) is OwnOrder.SCRIPT_FIRST:
        return "the second URL before the first, whichever is requested first"
    return found


def show(report: Report, unasked: tuple[float, float] | str | None, answers: Mapping[str, Answer]) -> None:
    """Shows the answers, by dialect, as a table and sentences.

    unasked: the shares in `own_order_in_words`, or why the server's own order was not measured; None at the deadline.
    """
    head = (
        "dialect",
        "answer",
        "what the client asks for the more urgent URL",
        "second URL's share of the window if marked as more urgent",
        "first URL's share of the window if marked as more urgent",
    )
    report.table(head, [row for dialect, answer in answers.items() for row in answer.rows(dialect)])
    if isinstance(unasked, tuple):
        report.say(
            f"Without priorities: {own_order_in_words(*unasked)}. If the second URL is requested second, it gets"
            f" {unasked[0]:.0%} of the window; if the first URL is requested second, it gets {1 - unasked[1]:.0%}."
        )
    else:
        report.say(f"Without priorities: {NOT_MEASURED}{f': {unasked}' if unasked else ''}.")
    report.say(_MEANING)


def document(site: Site, unasked: tuple[float, float] | str | None, answers: Mapping[str, Answer]) -> dict[str, Any]:
    """Returns the document that docs/reference/results.md describes. unasked: as for `show`."""
    return {
        "format": _FORMAT,
        "protocol": site.protocol,
        "host": site.host,
        "address": site.address,
        "port": site.port,
        "paths": (site.path, site.second),
        "unasked": {
            "own_order": own_order_in_words(*unasked),
            "second_share": {"requested_second": round(unasked[0], 4), "requested_first": round(unasked[1], 4)},
        }
        if isinstance(unasked, tuple)
        else None,
        "dialects": {dialect: answer.document() for dialect, answer in answers.items()},
    }
