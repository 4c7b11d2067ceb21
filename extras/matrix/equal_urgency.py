"""Says how servers send two responses of the same urgency: in turn, or sharing the window. Pure.

Rules:
1. All follows from probes, in which both responses wait for a closed window. Only the order of the bytes counts.
2. RFC 9218, 10, says what a server should do: incremental responses of one urgency share; others come one after the
   other, in the order of the streams' numbers. It leaves open what an incremental response and another one do.
"""

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from statistics import median
from typing import Any

from msgspec import Struct, to_builtins

from priolab.analysis.judgement.order import Sharing, sharing
from priolab.analysis.reports.markdown import Table, filled
from priolab.common.formats.conversion import convert


class Case(StrEnum):
    """Two responses of one urgency, in the order of their requests."""

    BOTH = "two incremental"
    NEITHER = "two not incremental"
    INCREMENTAL_FIRST = "incremental, then not"
    INCREMENTAL_SECOND = "not, then incremental"


_KIB = 1024
_HEAD = ("server", *Case)
_WANTED = {Case.BOTH: Sharing.SHARED, Case.NEITHER: Sharing.REQUESTED_FIRST}


class Sequel(Struct, frozen=True, kw_only=True):
    """The bytes of a probe. names: the two responses, in the order of their requests. All else: as in a ProbeRecord."""

    names: tuple[str, str]
    steps: int
    important: str
    served: tuple[tuple[str, int], ...]

    @property
    def share(self) -> float:
        """The share of the window of the response that was requested first, 0 to 1."""
        first = sum(size for name, size in self.served if name == self.names[0])
        return first / sum(size for _, size in self.served)

    @property
    def order(self) -> Sharing:
        """The order of the two responses."""
        return sharing(self.share)

    @property
    def piece_bytes(self) -> float:
        """The median number of bytes that the server sends of one response before it sends the other."""
        return median(size for _, size in self.served)

    @property
    def words(self) -> str:
        """The order; if the responses share, their shares of the window and the size of the pieces."""
        if self.order.in_turn:
            return str(self.order)
        first = round(100 * self.share)
        return f"{self.order} {first}:{100 - first} %, {self.piece_bytes / _KIB:.0f} KiB at a time"


Sequels = Mapping[str, Mapping[Case, Sequel]]
"""The probes of each server, by case."""


def dumped(found: Sequels) -> str:
    """Returns the recorded frames as JSON, with a line for each probe."""
    servers = ",\n".join(
        f" {json.dumps(server)}: {{\n" + ",\n".join(_line(case, each) for case, each in cases.items()) + "\n }"
        for server, cases in found.items()
    )
    return f"{{\n{servers}\n}}\n"


def _line(case: Case, sequel: Sequel) -> str:
    return f"  {json.dumps(case)}: {json.dumps(to_builtins(sequel), separators=(',', ':'))}"


def sequels_from(document: Mapping[str, Any]) -> Sequels:
    """Returns the probes in a document that `dumped` made. Raises ValueError."""
    return convert(document, dict[str, dict[Case, Sequel]])


def table(found: Sequels) -> str:
    """Returns a Markdown table: a row for servers that do the same."""
    rows = tuple((f"`{server}`", *(cases[case].words for case in Case)) for server, cases in found.items())
    return Table(head=_HEAD, rows=rows).merged().markdown()


def reading(found: Sequels) -> list[str]:
    """Returns paragraphs that say which servers do what RFC 9218 asks for, and what the others do.

    found: the servers that read RFC 9218.
    """
    paragraphs = []
    for case, wanted in _WANTED.items():
        right = [server for server, cases in found.items() if cases[case].order is wanted]
        wrong = [f"`{server}`: {cases[case].words}" for server, cases in found.items() if server not in right]
        others = f" The others: {'; '.join(wrong)}." if wrong else ""
        paragraphs.append(filled(f"{_counted(right, len(found))} {_MEANT[case]}.{others}"))
    return [*paragraphs, filled(_mixed(found))]


_MEANT = {
    Case.BOTH: "share the window between incremental responses",
    Case.NEITHER: "send one response after the other, in the order of the requests",
}


def _mixed(found: Sequels) -> str:
    """Returns a paragraph about an incremental response beside another one."""
    kinds: dict[str, list[str]] = {}
    for server, cases in found.items():
        kinds.setdefault(_kind(cases), []).append(server)
    told = "; ".join(f"{kind}: {', '.join(_named(servers))}" for kind, servers in kinds.items())
    return f"*An incremental response and another one*: {told}."


def _kind(cases: Mapping[Case, Sequel]) -> str:
    orders = (cases[Case.INCREMENTAL_FIRST].order, cases[Case.INCREMENTAL_SECOND].order)
    return _KINDS.get(orders, f"{orders[0]} ({Case.INCREMENTAL_FIRST}), {orders[1]} ({Case.INCREMENTAL_SECOND})")


_KINDS = {
    (Sharing.REQUESTED_FIRST, Sharing.REQUESTED_FIRST): "the one requested first comes first",
    (Sharing.REQUESTED_LAST, Sharing.REQUESTED_LAST): "the one requested last comes first",
    (Sharing.REQUESTED_LAST, Sharing.REQUESTED_FIRST): "the incremental one waits until the other is complete",
    (Sharing.REQUESTED_FIRST, Sharing.REQUESTED_LAST): "the incremental one comes first",
    (Sharing.SHARED, Sharing.SHARED): "both share the window",
}


def _counted(some: Sequence[str], total: int) -> str:
    return f"{len(some)} of {total} servers"


def _named(servers: Sequence[str]) -> list[str]:
    return [f"`{server}`" for server in servers]
