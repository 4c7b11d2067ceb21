"""The marked places of docs/measured/late-urgent.md: late urgent requests, and two responses of one urgency. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from priolab.analysis.reports.markdown import Table, filled
from priolab.analysis.reports.summary import longest_part
from priolab.common.amounts import seconds
from priolab.common.formats.run import Verdict
from priolab.extras.matrix import equal_urgency
from priolab.extras.matrix.equal_urgency import Sequels

_LATE_HEAD = ("server", "LOWAT", "verdict", "script waited:", "possible:", "longest part")
_PIECES_TIMES = ("first piece:", "last piece:", "longest gap:")
_PIECES_HEAD = ("server", "LOWAT", "verdict", *_PIECES_TIMES, "longest part of the first piece's wait")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A row: the server, BUFFERING and LOWAT."""

    server: str
    buffering: str
    lowat: str


INVALID = "invalid"
_Arms = Mapping[Case, Mapping[str, Any]]


def places(late: _Arms, pieces: _Arms, equals: Sequels, compared: str) -> dict[str, str]:
    """Returns the marked places.

    late, pieces: the arms of the summaries for the two pages; the arm of an invalid run has the key INVALID alone, with
    the reason. equals: the probes of two responses of the same urgency. compared: the server that does not read RFC
    9218.
    """
    return {
        "late": Table(head=_LATE_HEAD, rows=tuple(_late_row(case, arm) for case, arm in late.items())).markdown(),
        "late-kept": filled(_kept(late, compared)),
        "late-invalid": _invalid(late),
        "pieces": Table(
            head=_PIECES_HEAD, rows=tuple(_pieces_row(case, arm) for case, arm in pieces.items())
        ).markdown(),
        "pieces-kept": filled(_kept(pieces, compared)),
        "pieces-invalid": _invalid(pieces),
        **equal_places(equals, compared),
    }


def equal_places(equals: Sequels, compared: str) -> dict[str, str]:
    """Returns the places about two responses of the same urgency. equals, compared: as for places."""
    follow = {server: cases for server, cases in equals.items() if not _is_compared(server, compared)}
    return {"equals": equal_urgency.table(equals), "equals-order": "\n\n".join(equal_urgency.reading(follow))}


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
        others = {case: verdict for case, verdict in rows.items() if verdict != Verdict.KEPT}
        unknown = [_told(case) for case, verdict in others.items() if verdict == Verdict.UNDECIDED]
        lost = [_told(case) for case, verdict in others.items() if verdict != Verdict.UNDECIDED]
        if not rows:
            continue
        if not kept:
            told.append(f"{words} no server keeps the order.")
        elif not others:
            told.append(f"{words} every server keeps the order.")
        else:
            parts = (("these keep the order", kept), ("these are undecided", unknown), ("these do not", lost))
            said = "; ".join(f"{part}: {', '.join(each)}" for part, each in parts if each)
            told.append(f"{words} {said}.")
    return " ".join(told)


def _invalid(arms: _Arms) -> str:
    """Returns a paragraph about the invalid runs; an empty text if there are none."""
    told = [f"{_told(case)}, LOWAT={case.lowat}: {arm[INVALID]}" for case, arm in arms.items() if INVALID in arm]
    return filled(f"Invalid runs, which the lab does not judge: {'; '.join(told)}.") if told else ""


def _late_row(case: Case, arm: Mapping[str, Any]) -> tuple[str, ...]:
    if INVALID in arm:
        return (*_named(case), "invalid", *[""] * 3)
    waited_ms, early_ms = arm["ledger"]["wait_ms"], arm["first_byte_ms"] - arm["oracle"]["first_byte_ms"]
    times = (seconds(waited_ms), seconds(waited_ms - early_ms))
    return (*_named(case), arm["verdict"], *times, f"{longest_part(arm['ledger'])} s")


def _pieces_row(case: Case, arm: Mapping[str, Any]) -> tuple[str, ...]:
    if INVALID in arm:
        return (*_named(case), "invalid", *[""] * 4)
    times_ms = (arm["first_byte_ms"], arm["important_last_byte_ms"], arm["resources"]["tokens"]["gap_longest_ms"])
    return (*_named(case), arm["verdict"], *map(seconds, times_ms), f"{longest_part(arm['ledger'])} s")


def _told(case: Case) -> str:
    return _named(case)[0].replace(", ", " with ")


def _named(case: Case) -> tuple[str, str]:
    off = ", `BUFFERING=off`" if case.buffering == "off" else ""
    return f"`{case.server}`{off}", case.lowat.replace("none", "unset")
