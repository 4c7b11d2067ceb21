"""The matrix as a JSON document, with the recorded frames from which every verdict follows. Pure.

Rules:
1. The document holds each probe, each load and each list of signals once, under a digest of its content; cells refer
   to them. So a reader can compute every verdict again: `matrix_from(document)` reads frames alone, and the document of
   the matrix that it returns equals the one that was read.
2. The document depends on what was measured and on the day of the measurement, on nothing else.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct, to_builtins

from priolab.analysis.loads.probe import Probe
from priolab.common.formats.conversion import convert
from priolab.extras.matrix.cells import Cell, Pair, Unasked
from priolab.extras.matrix.changes import Change, changes
from priolab.extras.matrix.crossing import SCRIPT, Crossing, Span
from priolab.extras.matrix.matrix import Front, Matrix
from priolab.extras.matrix.words import WAYS

FORMAT: Literal[2] = 2


class _Frames:
    """The recorded probes and loads, by the digest of their content."""

    def __init__(self) -> None:
        self.probes: dict[str, Any] = {}
        self.loads: dict[str, Any] = {}
        self.signals: dict[str, Any] = {}

    def of_probe(self, probe: Probe) -> str:
        return _kept(self.probes, {"steps": probe.steps, "served": [list(piece) for piece in probe.served]})

    def of_load(self, load: Crossing) -> str:
        return _kept(self.loads, to_builtins(load.spans))

    def of_signals(self, sent: Iterable[str]) -> str:
        return _kept(self.signals, list(sent))


def _kept(table: dict[str, Any], content: Any) -> str:
    digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]
    table[digest] = content
    return digest


def document(matrix: Matrix) -> dict[str, Any]:
    """Returns the matrix as a document of plain values: strings, numbers, lists and dictionaries."""
    frames = _Frames()
    made = {
        "format": FORMAT,
        "date": matrix.date,
        "dialects": matrix.dialects,
        "servers": {name: _row(matrix, front, frames) for name, front in matrix.fronts.items()},
        "changes": [_change(each) for each in changes(matrix)],
        "absent": dict(matrix.absent),
        "frames": {
            "probes": {key: frames.probes[key] for key in sorted(frames.probes)},
            "loads": {key: frames.loads[key] for key in sorted(frames.loads)},
            "signals": {key: frames.signals[key] for key in sorted(frames.signals)},
        },
    }
    plain: dict[str, Any] = json.loads(json.dumps(made))  # string enums become strings
    return plain


def dumped(made: Mapping[str, Any]) -> str:
    """Returns the text of matrix.json: indented, but a line for each recorded probe or load."""
    head = {key: value for key, value in made.items() if key != "frames"}
    tables = ",\n".join(
        f"  {json.dumps(kind)}: {{\n"
        + ",\n".join(f"   {json.dumps(key)}: {json.dumps(each, separators=(',', ':'))}" for key, each in table.items())
        + "\n  }"
        for kind, table in made["frames"].items()
    )
    return f'{json.dumps(head, indent=1)[:-2]},\n "frames": {{\n{tables}\n }}\n}}\n'


def _row(matrix: Matrix, front: Front, frames: _Frames) -> dict[str, Any]:
    row, unasked = matrix.row(front.name), matrix.unasked[front.name]
    return {
        "server": front.server,
        "edition": front.edition,
        "version": front.version,
        "said": front.said,
        "built_with": front.built_with,
        "digest": front.digest,
        "date": front.date or matrix.date,
        "own_order": row[0].own_order,
        "unasked": {"control": frames.of_load(unasked.control), "lowat": frames.of_load(unasked.lowat)},
        "dialects": {cell.dialect: _cell(cell, frames) for cell in row},
    }


def _cell(cell: Cell, frames: _Frames) -> dict[str, Any]:
    def told(pair: Pair | None) -> dict[str, Any] | None:
        if pair is None:
            return None
        return {
            "outcome": cell.outcome(pair),
            "arriving": round(cell.arriving(pair), 2) + 0.0,
            "before": round(pair.asked.before, 3),
            "script_first_byte_ms": pair.asked.script_first_ms,
            "lead": {"asked": round(pair.asked.lead, 3), "swapped": round(pair.swapped.lead, 3)},
            "frames": {"asked": frames.of_load(pair.asked), "swapped": frames.of_load(pair.swapped)},
        }

    return {
        "version": cell.version,
        "reading": cell.reading,
        "script_share": {name: round(probe.important_share, 3) for name, probe in cell.probes.items()},
        "layer": cell.layer,
        **{way: told(getattr(cell, way)) for way in WAYS},
        "arms": cell.arms,
        "frames": {name: frames.of_probe(probe) for name, probe in cell.probes.items()},
        "signals": {name: frames.of_signals(sent) for name, sent in cell.signals.items()},
        "asked": dict(cell.asked),
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "server": change.old.server,
        "from": change.old.name,
        "to": change.new.name,
        "dialects": list(change.dialects),
        "what": change.what,
        "was": {"result": change.was, "frames": change.shown_was},
        "is": {"result": change.now, "frames": change.shown_now},
    }


class _Pair(Struct, frozen=True, kw_only=True):
    frames: Mapping[str, str]


class _Cell(Struct, frozen=True, kw_only=True):
    version: str
    frames: Mapping[str, str]
    control: _Pair | None
    lowat: _Pair | None
    native: _Pair | None
    signals: Mapping[str, str] = {}
    asked: Mapping[str, str] = {}
    arms: str = ""


class _Row(Struct, frozen=True, kw_only=True):
    said: str
    built_with: str
    digest: str = ""
    date: str = ""
    unasked: Mapping[str, str]
    dialects: Mapping[str, _Cell]


class _Probe(Struct, frozen=True, kw_only=True):
    steps: int
    served: tuple[tuple[str, int], ...]


class _Recorded(Struct, frozen=True, kw_only=True):
    probes: Mapping[str, _Probe]
    loads: Mapping[str, tuple[Span, ...]]
    signals: Mapping[str, tuple[str, ...]] = {}


class _Document(Struct, frozen=True, kw_only=True):
    format: Literal[2]
    date: str
    servers: Mapping[str, _Row]
    absent: Mapping[str, str]
    frames: _Recorded


def matrix_from(document: Mapping[str, Any]) -> Matrix:
    """Returns the matrix of a document, from its frames; verdicts in the document are not read.

    Raises ValueError for a document that is no matrix, KeyError if it lacks frames.
    """
    made = convert(document, _Document)
    probes = {
        key: Probe(important=SCRIPT, steps=each.steps, served=each.served) for key, each in made.frames.probes.items()
    }
    loads = {key: Crossing(spans=spans) for key, spans in made.frames.loads.items()}

    def pair(found: _Pair | None) -> Pair | None:
        if found is None:
            return None
        return Pair(**{name: loads[found.frames[name]] for name in ("asked", "swapped")})

    return Matrix(
        date=made.date,
        fronts={
            name: Front(
                name=name, said=row.said, built_with=row.built_with, digest=row.digest, date=row.date or made.date
            )
            for name, row in made.servers.items()
        },
        cells={
            (name, dialect): Cell(
                server=name,
                version=cell.version,
                dialect=dialect,
                probes={role: probes[ref] for role, ref in cell.frames.items()},
                control=pair(cell.control),
                lowat=pair(cell.lowat),
                native=pair(cell.native),
                signals={role: made.frames.signals[ref] for role, ref in cell.signals.items()},
                asked=cell.asked,
                arms=cell.arms,
            )
            for name, row in made.servers.items()
            for dialect, cell in row.dialects.items()
        },
        unasked={
            name: Unasked(**{way: loads[row.unasked[way]] for way in ("control", "lowat")})
            for name, row in made.servers.items()
        },
        absent=made.absent,
    )
