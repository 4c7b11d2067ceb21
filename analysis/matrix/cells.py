"""One cell of the matrix: a server and a dialect, and what became of the order. Pure.

Rules:
1. Whether a server reads a dialect is told by two probes that ask for the opposite: only a difference between them is
   an answer. A third, in which nothing is asked, tells what the server does by itself.
2. Where the order is lost is told by probe and slow link together: what the server does with nothing in its way, and
   what is left of that at the client, without LOWAT and with it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from analysis.load import Run
from analysis.metrics import IMAGE, SCRIPT, PageLoad, measured_load
from analysis.probe import ALONE, Probe
from analysis.verdict import share_of_link

_DIFFERENCE = 0.03
"""Shares that lie closer together are the same; a step of the window is a hundredth."""

_AS_BEFORE = 0.1
_EARLY = 0.5
_LATE = 0.9


class Reading(StrEnum):
    """What a server makes of a dialect."""

    STRICT = "strict"
    """Whoever is asked for first has the window to himself."""
    PROPORTIONAL = "proportional"
    """The window is divided, the larger part for whoever is asked for first."""
    IGNORED = "ignored"
    """The same, whoever is asked for first."""
    CONTRARY = "contrary"
    """The larger part is the other's."""


class OwnOrder(StrEnum):
    """What a server does where nothing is asked."""

    SHARED = "shared"
    FIRST_COME = "first come, first served"
    LAST_COME = "last come, first served"
    SCRIPT_FIRST = "the script first, by itself"
    OTHER = "another"


class Outcome(StrEnum):
    """What became of the order on the slow link."""

    KEPT = "kept"
    """The favoured began early, and then had as much of the link as the front gives it."""
    LATE = "late"
    """It had that, but more than half of the other had arrived before."""
    LOST = "lost"


class Layer(StrEnum):
    """Where the order was lost."""

    NOWHERE = "nowhere"
    SERVER = "server"
    """It does not order by what it was told."""
    FRONT = "front"
    """Between the server's scheduler and the socket: LOWAT does not help."""
    SOCKET = "socket"
    """In the kernel's send buffer: LOWAT helps."""


SENTENCES: Mapping[Layer, str] = {
    Layer.NOWHERE: "kept, without LOWAT as well",
    Layer.SERVER: "the server does not order by it",
    Layer.FRONT: "lost between the server's scheduler and the socket; LOWAT does not help",
    Layer.SOCKET: "lost in the kernel's send buffer; LOWAT gives it back",
}


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """One load over the slow link, by its favoured resource.

    before: part of the other that had arrived at its first byte; share: its part of the link from then on until either
    was complete. lanes: (seconds since the page's request, resource, bytes) of each piece.
    """

    before: float
    share: float
    script_first_ms: float
    script_last_ms: float
    image_last_ms: float
    lanes: tuple[tuple[float, str, int], ...]

    def outcome(self, by_front: float) -> Outcome:
        """by_front: the share that the front gives it with nothing in the way."""
        if self.before >= _LATE or self.share < by_front - _AS_BEFORE:
            return Outcome.LOST
        return Outcome.KEPT if self.before <= _EARLY else Outcome.LATE


@dataclass(frozen=True, kw_only=True)
class Cell:
    """See the module. probes: by what they ask for, the script (`spdy`), the image (`swap`), nothing (`none`), and
    nothing with the script requested first (`reversed`).

    control, lowat, native: on the slow link, the script asked for first: LOWAT unset, LOWAT set, and the server's own
    mechanism instead, where it has one. swapped: LOWAT set, the image asked for first.
    """

    server: str
    dialect: str
    probes: Mapping[str, Probe]
    control: Crossing
    lowat: Crossing
    swapped: Crossing
    native: Crossing | None

    @property
    def reading(self) -> Reading:
        """What the server makes of the dialect."""
        asked, swapped = (self.probes[name].script_share for name in ("spdy", "swap"))
        if asked >= ALONE and swapped <= 1 - ALONE:
            return Reading.STRICT
        if abs(asked - swapped) < _DIFFERENCE:
            return Reading.IGNORED
        return Reading.PROPORTIONAL if asked > swapped else Reading.CONTRARY

    @property
    def own_order(self) -> OwnOrder:
        """What the server does when nothing is asked."""
        return own_order(self.probes["none"].script_share, self.probes["reversed"].script_share)

    @property
    def honoured(self) -> bool:
        """Whether the server orders by it."""
        return self.reading in (Reading.STRICT, Reading.PROPORTIONAL)

    def outcome(self, crossing: Crossing) -> Outcome:
        """What became of the order there."""
        asked, swapped = (self.probes[name].script_share for name in ("spdy", "swap"))
        return crossing.outcome(1 - swapped if crossing is self.swapped else asked)

    @property
    def layer(self) -> Layer:
        """Where the order was lost."""
        if not self.honoured:
            return Layer.SERVER
        if self.outcome(self.control) is Outcome.KEPT:
            return Layer.NOWHERE
        return Layer.SOCKET if self.outcome(self.lowat) is Outcome.KEPT else Layer.FRONT


def own_order(share: float, turned: float) -> OwnOrder:
    """From the script's shares when nothing is asked: the image requested first, and the script."""
    firsts = (share >= ALONE, turned >= ALONE)
    lasts = (share <= 1 - ALONE, turned <= 1 - ALONE)
    if not any(firsts + lasts):
        return OwnOrder.SHARED
    if all(firsts):
        return OwnOrder.SCRIPT_FIRST
    if lasts[0] and firsts[1]:
        return OwnOrder.FIRST_COME
    return OwnOrder.LAST_COME if firsts[0] and lasts[1] else OwnOrder.OTHER


def crossing(run: Run) -> Crossing:
    """Of a run on the slow link. Raises FolderError."""
    load, favoured = measured_load(run.evidence()), run.plan().favoured
    high, low = (load.image, load.script) if favoured == IMAGE else (load.script, load.image)
    return Crossing(
        before=low.bytes_before(high.first_byte_ns) / low.size_bytes,
        share=share_of_link(high, low),
        script_first_ms=load.ms(load.script.first_byte_ns),
        script_last_ms=load.ms(load.script.last_byte_ns),
        image_last_ms=load.ms(load.image.last_byte_ns),
        lanes=tuple(_lanes(load)),
    )


def _lanes(load: PageLoad) -> list[tuple[float, str, int]]:
    pieces = [
        (load.ms(piece.t_ns) / 1000, name, piece.size_bytes)
        for name, times in ((IMAGE, load.image), (SCRIPT, load.script))
        for piece in times.pieces
    ]
    return sorted(pieces)


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """All cells, by server and dialect. versions: of the servers; absent: servers that were not there, and why."""

    cells: Mapping[tuple[str, str], Cell]
    unasked: Mapping[str, Crossing]
    versions: Mapping[str, str]
    absent: Mapping[str, str]

    @property
    def servers(self) -> list[str]:
        """In their order."""
        return list(dict.fromkeys(server for server, _ in self.cells))

    @property
    def dialects(self) -> list[str]:
        """In their order."""
        return list(dict.fromkeys(dialect for _, dialect in self.cells))

    def document(self) -> dict[str, Any]:
        """What is compared from one version of a server to the next, and what it rests on; pictures left out."""
        return {
            "servers": {
                server: {
                    "version": self.versions[server],
                    "own_order": next(cell for cell in self._of(server)).own_order,
                    "dialects": {cell.dialect: _document(cell) for cell in self._of(server)},
                }
                for server in self.servers
            },
            "absent": dict(self.absent),
        }

    def _of(self, server: str) -> list[Cell]:
        return [cell for cell in self.cells.values() if cell.server == server]


def _document(cell: Cell) -> dict[str, Any]:
    def told(crossing: Crossing | None) -> dict[str, Any] | None:
        if crossing is None:
            return None
        return {
            "outcome": cell.outcome(crossing),
            "before": round(crossing.before, 3),
            "share": round(crossing.share, 3),
            "script_first_byte_ms": round(crossing.script_first_ms, 1),
        }

    return {
        "reading": cell.reading,
        "script_share": {name: round(probe.script_share, 3) for name, probe in cell.probes.items()},
        "layer": cell.layer,
        "control": told(cell.control),
        "lowat": told(cell.lowat),
        "swapped": told(cell.swapped),
        "native": told(cell.native),
    }
