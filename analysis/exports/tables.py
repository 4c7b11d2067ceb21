"""Tidy tables: a row per event, sample and load, each with its arm and run; units in the names of columns. Pure.

`since_page_ms` counts from the request of the measured load's page, as the summary does; `t_ns` is the run's own clock.
The columns of events, arrivals, sockets and queue are those of the files they come from (docs/results.md).
"""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, get_args, get_type_hints

from analysis.exports.recording import Album, Recording
from analysis.records.shape import AUTO
from common.formats.events import Arrival, Event
from common.formats.reading import FolderError
from common.formats.samples import QueueSample, SocketSample

# In a table of its own, `bytes` says neither of what nor where.
_RENAMED = {"packets": "bottleneck_packets", "bytes": "bottleneck_bytes", "dropped": "dropped_packets"}

_ABOUT: dict[str, type] = {"arm": str, "run": str}
_SCENARIO: dict[str, type] = {
    "server": str,
    "native": str,
    "lowat_bytes": int,
    "sndbuf_bytes": int,
    "congestion_control": str,
    "gso_segments": int,
    "plan": str,
    "first": str,
    "priorities": str,
    "dialect": str,
    "size_bytes": int,
    "script_delay_ns": int,
    "reloads": int,
    "window_bytes": int,
    "rate_bit_s": int,
    "rate_steps": str,
    "delay_ns": int,
    "delay_up_ns": int,
    "queue_packets": int,
    "loss": float,
    "jitter_ns": int,
}
_LOAD: dict[str, type] = {
    "repetition": int,
    "fabric": str,
    "load": int,
    "measured": bool,
    "verdict": str,
    "script_available_ms": float,
    "script_headers_ms": float,
    "script_first_byte_ms": float,
    "script_last_byte_ms": float,
    "image_headers_ms": float,
    "image_first_byte_ms": float,
    "image_last_byte_ms": float,
    "image_bytes_before_script": int,
    "image_bytes_during_script": int,
}


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows of one shape. columns: str, int, float or bool by name, in order. rows: a value or None for each column."""

    name: str
    columns: Mapping[str, type]
    rows: Sequence[Mapping[str, Any]]


def tables(album: Album) -> list[Table]:
    """loads, events and, where anything was sampled, arrivals, sockets and queue."""
    made = [
        Table(name="loads", columns=_ABOUT | _LOAD | _SCENARIO, rows=_loads(album.recordings)),
        _table("events", Event, [(each, each.events) for each in album.recordings]),
    ]
    layers = [(each, each.layers) for each in album.recordings]
    if layers:
        made += [
            _table("arrivals", Arrival, [(each, layer.arrivals) for each, layer in layers]),
            _table("sockets", SocketSample, [(each, layer.sockets) for each, layer in layers]),
            _table("queue", QueueSample, [(each, layer.queue) for each, layer in layers]),
        ]
    return made


def as_csv(table: Table) -> bytes:
    """RFC 4180 with a header line, UTF-8; what is missing is an empty field."""
    text = io.StringIO()
    lines = csv.writer(text)
    lines.writerow(table.columns)
    lines.writerows([_cell(row[name]) for name in table.columns] for row in table.rows)
    return text.getvalue().encode()


def as_parquet(table: Table) -> bytes:
    """Parquet, with null where something is missing. Raises ImportError without pyarrow."""
    import pyarrow
    import pyarrow.parquet

    types = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}
    schema = pyarrow.schema([(name, types[kind]) for name, kind in table.columns.items()])
    columns = {name: [row[name] for row in table.rows] for name in table.columns}
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table(columns, schema=schema), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _cell(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _table(name: str, kind: type, parts: Iterable[tuple[Recording, Iterable[Any]]]) -> Table:
    """A table of values of one kind, a column for each of their fields."""
    hints = get_type_hints(kind)
    own = {_RENAMED.get(field.name, field.name): _plain(hints[field.name]) for field in fields(kind)}
    rows = []
    for recording, values in parts:
        about = {"arm": recording.arm, "run": recording.name}
        for value in values:
            cells = {_RENAMED.get(key, key): cell for key, cell in asdict(value).items()}
            rows.append({**about, "since_page_ms": recording.measured.ms(value.t_ns), **cells})
    return Table(name=name, columns=_ABOUT | {"since_page_ms": float} | own, rows=rows)


def _plain(hint: Any) -> type:
    """The type of a field that may be None."""
    (plain,) = [kind for kind in get_args(hint) or (hint,) if kind is not type(None)]
    return str if issubclass(plain, str) else plain


def _loads(recordings: Iterable[Recording]) -> list[dict[str, Any]]:
    rows = []
    for recording in recordings:
        asked = {name: _asked(recording, name, kind) for name, kind in _SCENARIO.items()}
        about = {
            "arm": recording.arm,
            "run": recording.name,
            "repetition": recording.document.get("repetition"),
            "fabric": recording.document.get("fabric"),
        }
        for load in recording.loads:
            measured = load is recording.measured
            document = load.as_document()
            times = {
                f"{resource}_{edge}": document[resource][edge]
                for resource in ("script", "image")
                for edge in ("headers_ms", "first_byte_ms", "last_byte_ms")
            }
            own = {
                "load": load.number,
                "measured": measured,
                "verdict": recording.document["verdict"] if measured else None,
            }
            counted = {name: document[name] for name in _LOAD if name in document}
            rows.append(about | counted | own | times | asked)
    return rows


def _asked(recording: Recording, name: str, kind: type) -> Any:
    value = recording.scenario.get("lowat" if name == "lowat_bytes" else name)
    if name == "lowat_bytes" and value == AUTO:
        return None  # no one number; the arm's name says it
    if value is None or isinstance(value, (int, float) if kind is float else kind):
        return value
    raise FolderError(f"{recording.name}/run.json: scenario: {name} is {value!r}")
