"""The marked places of docs/measured/late-urgent.md: late urgent requests, and two responses of one urgency. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from priolab.analysis.reports.markdown import Table, filled
from priolab.analysis.reports.summary import longest_part
from priolab.common.formats.run import Verdict
from priolab.extras.matrix import equal_urgency
from priolab.extras.matrix.equal_urgency import Sequels

_LATE_HEAD = ("waited:", "possible:", "longest part")
_PIECES_HEAD = ("first piece:", "last piece:", "longest gap:", "longest part")


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
        "late": _table(_LATE_HEAD, {case: _late(arm) for case, arm in late.items()}),
        "late-kept": filled(_kept(late, compared)),
        "late-invalid": _invalid(late),
        "pieces": _table(_PIECES_HEAD, {case: _pieces(arm) for case, arm in pieces.items()}),
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
        if rows:
            who = f"these keep the order: {', '.join(kept)}" if kept else "no server keeps the order"
            told.append(f"{words} {who}.")
    return " ".join(told)


def _invalid(arms: _Arms) -> str:
    """Returns a paragraph about the invalid runs; an empty text if there are none."""
    told = [f"{_told(case)}, LOWAT={case.lowat}: {arm[INVALID]}" for case, arm in arms.items() if INVALID in arm]
    return filled(f"Invalid runs, which the lab does not judge: {'; '.join(told)}.") if told else ""


def _table(head: Sequence[str], rows: Mapping[Case, Sequence[str]]) -> str:
    """Returns a Markdown table: a row for each server and BUFFERING, which has the cells of each LOWAT."""
    lowats = dict.fromkeys(case.lowat for case in rows)
    own: dict[str, list[str]] = {}
    for case, cells in rows.items():
        own.setdefault(_named(case), []).extend(cells)
    heads = (each for lowat in lowats for each in (f"LOWAT{_LOWAT.get(lowat, f'={lowat}')}", *head))
    return Table(head=("server", *heads), rows=tuple((name, *cells) for name, cells in own.items())).markdown()


_LOWAT = {"none": " unset"}


def _late(arm: Mapping[str, Any]) -> tuple[str, ...]:
    if INVALID in arm:
        return (INVALID, *[""] * len(_LATE_HEAD))
    waited_ms, early_ms = arm["ledger"]["wait_ms"], arm["first_byte_ms"] - arm["oracle"]["first_byte_ms"]
    return (arm["verdict"], *_seconds(waited_ms, waited_ms - early_ms), longest_part(arm["ledger"]))


def _pieces(arm: Mapping[str, Any]) -> tuple[str, ...]:
    if INVALID in arm:
        return (INVALID, *[""] * len(_PIECES_HEAD))
    gap_ms = arm["resources"]["tokens"]["gap_longest_ms"]
    times = _seconds(arm["first_byte_ms"], arm["important_last_byte_ms"], gap_ms)
    return (arm["verdict"], *times, longest_part(arm["ledger"]))


def _seconds(*times_ms: float) -> list[str]:
    return [f"{time_ms / 1000:.2f}" for time_ms in times_ms]


def _told(case: Case) -> str:
    return _named(case).replace(", ", " with ")


def _named(case: Case) -> str:
    off = ", `BUFFERING=off`" if case.buffering == "off" else ""
    return f"`{case.server}`{off}"
