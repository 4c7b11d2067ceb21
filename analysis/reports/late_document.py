"""Writes docs/late-urgent.md: late urgent requests, and small pieces, at servers that follow RFC 9218. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.loads.layer import Layer
from analysis.loads.ledger import WORDS
from analysis.reports.markdown import filled, row

_LATE_HEAD = (
    "| server | LOWAT | verdict | script waited | possible | longest part |",
    "|---|---|---|---:|---:|---|",
)
_PIECES_HEAD = (
    "| server | LOWAT | verdict | first piece | last piece |",
    "|---|---|---|---:|---:|",
)
_INTRODUCTION = (
    "Servers that follow RFC 9218 are often shown with a few large responses that are all requested at once. Then every"
    " byte of them waits in the server until the network can take it, and the order is right. Real pages differ in two"
    " ways: the important request comes late, and the other responses are smaller than the kernel's send buffer. By the"
    " time of the request the kernel has all their bytes, and no scheduler can change their order any more."
)
_MADE = (
    "`make late` makes this page. Each row is one run in the guest over the default link, 128 kB/s and 300 ms. The"
    " client sends RFC 9218 alone: the header field `priority`, and SETTINGS_NO_RFC7540_PRIORITIES. nginx does not read"
    " RFC 9218; it stands here for comparison."
)
_LATE = (
    "`PAGE=late` has six images of 120 KiB, requested at once with the urgency 5, and a script of 100 KiB, requested"
    " 0.6 s after them with the urgency 0. All images together are a sixth of the send buffer. *Waited* is the time"
    " from the moment at which the origin had the script until the client could use its first byte; *possible* is the"
    " shortest such time, whatever server and kernel do."
)
_PIECES = (
    "`PAGE=tokens` has a stream of 400 small pieces, as a language model writes them, beside a bulk download of 1.4 MB."
    " The stream has urgency 1 and the flag `incremental`, the download urgency 6. The origin writes a piece of 40"
    " bytes every 20 ms from 0.2 s on, so the last one is written 8.2 s after its request. The times count from the"
    " load's first request. Without LOWAT all pieces come at the end, within a quarter of a second."
)
_READING = (
    "Without LOWAT the servers do not differ: the script waits in the kernel, behind all images. With LOWAT=16384 they"
    " do. A wait *in the front, still reorderable* is short, because the next free place is the script's. A wait *in"
    " the front's output queue* means that the server fixed the order of its bytes before the kernel took them. Envoy"
    " does that with whole responses, unless BUFFERING=off."
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A row: the server, BUFFERING and LOWAT."""

    server: str
    buffering: str
    lowat: str


def document(late: Mapping[Case, Mapping[str, Any]], pieces: Mapping[Case, Mapping[str, Any]]) -> str:
    """Returns the text of docs/late-urgent.md. late, pieces: the arms of the summaries for the two pages."""
    lines = ["# The late urgent request", "", filled(_INTRODUCTION), "", filled(_MADE), ""]
    lines += ["## A script that is requested late", "", filled(_LATE), "", *_LATE_HEAD]
    lines += [_late_row(case, arm) for case, arm in late.items()]
    lines += ["", filled(_READING), "", "## Small pieces", "", filled(_PIECES), "", *_PIECES_HEAD]
    lines += [_pieces_row(case, arm) for case, arm in pieces.items()]
    return "\n".join(lines) + "\n"


def _late_row(case: Case, arm: Mapping[str, Any]) -> str:
    ledger = arm["ledger"]
    largest = ledger["largest"]
    waited_ms, early_ms = ledger["wait_ms"], arm["first_byte_ms"] - arm["oracle"]["first_byte_ms"]
    longest = f"{WORDS[Layer(largest)]}, {_s(ledger['parts_ms'][largest])}"
    return row([*_named(case), arm["verdict"], _s(waited_ms), _s(waited_ms - early_ms), longest])


def _pieces_row(case: Case, arm: Mapping[str, Any]) -> str:
    times = [_s(arm[name]) for name in ("first_byte_ms", "important_last_byte_ms")]
    return row([*_named(case), arm["verdict"], *times])


def _named(case: Case) -> Sequence[str]:
    off = ", `BUFFERING=off`" if case.buffering == "off" else ""
    return f"`{case.server}`{off}", case.lowat.replace("none", "unset")


def _s(time_ms: float) -> str:
    return f"{time_ms / 1000:.2f} s"
