"""Writes late-urgent.md: late urgent requests, small pieces and equal urgencies at servers of RFC 9218. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from priolab.analysis.loads.layer import Layer
from priolab.analysis.loads.ledger import WORDS
from priolab.analysis.reports.markdown import filled, head, row
from priolab.common.formats.run import Verdict
from priolab.extras.matrix import equal_urgency
from priolab.extras.matrix.equal_urgency import Sequels

_LATE_HEAD = head("server", "LOWAT", "verdict", "script waited:", "possible:", "longest part")
_PIECES_HEAD = head(
    "server",
    "LOWAT",
    "verdict",
    "first piece:",
    "last piece:",
    "longest gap:",
    "longest part of the first piece's wait",
)
_INTRODUCTION = (
    "Servers that follow RFC 9218 are often shown with a few large responses that are all requested at once. Then every"
    " byte of them waits in the server until the network can take it, and the order is right. Real pages differ in two"
    " ways: the important request comes late, and the other responses are smaller than the kernel's send buffer. By the"
    " time of the request the kernel has all their bytes, and no scheduler can change their order any more."
)
_MADE = (
    "`make late` makes this page. Each row is one run in the guest over the default link, 128 kB/s and 300 ms. The"
    " client sends RFC 9218 alone: the header field `priority`, and SETTINGS_NO_RFC7540_PRIORITIES. The servers are"
    " those that follow it according to [matrix.md](matrix.md), each in its newest version. nginx does not read RFC"
    " 9218; it stands here for comparison."
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
    " load's first request. *Gap* is the time between two pieces that come one after the other."
)
_READING = (
    "A wait *in the front, still reorderable* is short, because the next free place is the script's. A wait *in the"
    " front's output queue* means that the server fixed the order of its bytes before the kernel took them."
)
_EQUALS = (
    "Two responses of the same urgency: two that are `incremental`, two that are not, and one of each. As in the"
    " probes of the matrix, both wait for a closed flow-control window, which the client opens by 8 KiB at a time. So"
    " the server alone decides, and kernel and link have no effect. According to RFC 9218, 10, incremental responses of"
    " one urgency should share, and others should come one after the other, in the order of the streams. It leaves open"
    " what one of each should do. *The first* is the response that was requested first. late-urgent.json has the"
    " recorded bytes."
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A row: the server, BUFFERING and LOWAT."""

    server: str
    buffering: str
    lowat: str


INVALID = "invalid"
_Arms = Mapping[Case, Mapping[str, Any]]


def document(late: _Arms, pieces: _Arms, equals: Sequels, compared: str) -> str:
    """Returns the text of docs/measured/late-urgent.md.

    late, pieces: the arms of the summaries for the two pages; the arm of an invalid run has the key INVALID alone, with
    the reason. equals: the probes of two responses of the same urgency. compared: the server that does not read RFC
    9218.
    """
    lines = ["# The late urgent request", "", filled(_INTRODUCTION), "", filled(_MADE), ""]
    lines += ["## A script that is requested late", "", filled(_LATE), "", *_LATE_HEAD]
    lines += [_late_row(case, arm) for case, arm in late.items()]
    lines += ["", filled(f"{_kept(late, compared)} {_READING}"), *_invalid(late), ""]
    lines += ["## Small pieces", "", filled(_PIECES), "", *_PIECES_HEAD]
    lines += [_pieces_row(case, arm) for case, arm in pieces.items()]
    lines += ["", filled(_kept(pieces, compared)), *_invalid(pieces), "", *equal_section(equals, compared)]
    return "\n".join(lines) + "\n"


def equal_section(equals: Sequels, compared: str) -> list[str]:
    """Returns the lines of the section about two responses of the same urgency. equals, compared: as for document."""
    follow = {server: cases for server, cases in equals.items() if not _is_compared(server, compared)}
    lines = ["## The flag `incremental` alone", "", filled(_EQUALS), "", *equal_urgency.table(equals)]
    for paragraph in equal_urgency.reading(follow):
        lines += ["", paragraph]
    return lines


def _is_compared(server: str, compared: str) -> bool:
    return server.partition("@")[0] == compared


def _kept(arms: _Arms, compared: str) -> str:
    """Returns sentences about the verdicts: without LOWAT, with LOWAT, and with LOWAT and BUFFERING=off."""
    told = []
    for lowat, words in (("none", "Without LOWAT"), ("16384", "With LOWAT=16384")):
        rows = {
            case: arm["verdict"]
            for case, arm in arms.items()
            if INVALID not in arm and case.lowat == lowat and not _is_compared(case.server, compared)
        }
        kept = [_told(case) for case, verdict in rows.items() if verdict == Verdict.KEPT]
        others = ", ".join(_told(case) for case, verdict in rows.items() if verdict != Verdict.KEPT)
        if not rows:
            continue
        if not kept:
            told.append(f"{words} no server keeps the order.")
        elif not others:
            told.append(f"{words} every server keeps the order.")
        else:
            told.append(f"{words} these keep the order: {', '.join(kept)}; these do not: {others}.")
    return " ".join(told)


def _invalid(arms: _Arms) -> list[str]:
    """Returns a paragraph about the invalid runs, and an empty line before it; nothing if there are none."""
    told = [f"{_told(case)}, LOWAT={case.lowat}: {arm[INVALID]}" for case, arm in arms.items() if INVALID in arm]
    return ["", filled(f"Invalid runs, which the lab does not judge: {'; '.join(told)}.")] if told else []


def _late_row(case: Case, arm: Mapping[str, Any]) -> str:
    if INVALID in arm:
        return row([*_named(case), "invalid", *[""] * 3])
    ledger = arm["ledger"]
    waited_ms, early_ms = ledger["wait_ms"], arm["first_byte_ms"] - arm["oracle"]["first_byte_ms"]
    return row([*_named(case), arm["verdict"], _s(waited_ms), _s(waited_ms - early_ms), _longest(ledger)])


def _pieces_row(case: Case, arm: Mapping[str, Any]) -> str:
    if INVALID in arm:
        return row([*_named(case), "invalid", *[""] * 4])
    times = [_s(arm[name]) for name in ("first_byte_ms", "important_last_byte_ms")]
    gap_ms = arm["resources"]["tokens"]["gap_longest_ms"]
    return row([*_named(case), arm["verdict"], *times, _s(gap_ms), _longest(arm["ledger"])])


def _longest(ledger: Mapping[str, Any]) -> str:
    largest = ledger["largest"]
    return f"{WORDS[Layer(largest)]}, {_s(ledger['parts_ms'][largest])}"


def _told(case: Case) -> str:
    return _named(case)[0].replace(", ", " with ")


def _named(case: Case) -> Sequence[str]:
    off = ", `BUFFERING=off`" if case.buffering == "off" else ""
    return f"`{case.server}`{off}", case.lowat.replace("none", "unset")


def _s(time_ms: float) -> str:
    return f"{time_ms / 1000:.2f} s"
