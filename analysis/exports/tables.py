"""Makes tables with a row for each load, resource, event or sample. Each row names its arm and run. Pure.

Column names contain the units. `since_page_ms` counts from the request of the measured load's page.
`t_ns` is the time on the run's clock. The tables events, arrivals, sockets and queue have the columns of the files with
the same names (docs/reference/results.md), but three columns of the queue have longer names: bottleneck_packets,
bottleneck_bytes and dropped_packets.
"""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from priolab.analysis.exports.recording import Album, Recording
from priolab.common.formats.events import Arrival, Event
from priolab.common.formats.run import CostRecord
from priolab.common.formats.samples import QueueSample, SocketSample
from priolab.common.formats.scenario import AUTO, ScenarioRecord, ViaRecord

# In a table the name `bytes` alone would not say what was counted.
_RENAMED = {
    "packets": "bottleneck_packets",
    "bytes": "bottleneck_bytes",
    "dropped": "dropped_packets",
    "lowat": "lowat_bytes",
}
_VIA = "via_"


def _columns(kind: type, prefix: str = "") -> dict[str, type]:
    """Returns a column for each field of a dataclass. The fields of the second front get the prefix `via_`."""
    columns: dict[str, type] = {}
    for name, hint in get_type_hints(kind).items():
        plain = _plain(hint)
        columns |= _columns(plain, _VIA) if plain is ViaRecord else {prefix + _RENAMED.get(name, name): plain}
    return columns


def _plain(hint: Any) -> type:
    """Returns the type of a type hint without None; str for every subclass of str, for words, and for rows (JSON).

    Of a number or a word it is the type of the number.
    """
    if get_origin(hint) in (Literal, tuple):
        return str
    kinds = [kind for kind in get_args(hint) or (hint,) if kind is not type(None) and get_origin(kind) is not Literal]
    (plain,) = kinds
    return str if issubclass(plain, str) else plain


_ABOUT: dict[str, type] = {"arm": str, "run": str}
_SCENARIO = _columns(ScenarioRecord)
_LOAD: dict[str, type] = {
    "repetition": int,
    "fabric": str,
    "load": int,
    "measured": bool,
    "verdict": str,
    "focal": str,
    "available_ms": float,
    "first_byte_ms": float,
    "important_last_byte_ms": float,
    "others_first_byte_ms": float,
    "others_last_byte_ms": float,
    "other_bytes_before": int,
    "other_bytes_during": int,
}
_COST: dict[str, type] = {each.name: int for each in fields(CostRecord) if each.name != "reasons"}


_RESOURCE: dict[str, type] = {
    "load": int,
    "measured": bool,
    "resource": str,
    "important": bool,
    "size_bytes": int,
    "available_ms": float,
    "headers_ms": float,
    "first_byte_ms": float,
    "last_byte_ms": float,
    "goodput_bit_s": int,
    "gap_p50_ms": float,
    "gap_p99_ms": float,
    "gap_longest_ms": float,
}


_LEDGER: dict[str, type] = {"focal": str, "layer": str, "wait_ms": float, "uncertainty_ms": float}


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table. columns: names in order, each with a type: str, int, float or bool. Missing values are None in rows."""

    name: str
    columns: Mapping[str, type]
    rows: Sequence[Mapping[str, Any]]


def tables(album: Album) -> list[Table]:
    """Makes the tables loads, resources, ledger, events, arrivals, sockets and queue."""
    made = [
        Table(name="loads", columns=_ABOUT | _LOAD | _COST | _SCENARIO, rows=_loads(album.recordings)),
        Table(name="resources", columns=_ABOUT | _RESOURCE, rows=_resources(album.recordings)),
        Table(name="ledger", columns=_ABOUT | _LEDGER, rows=_ledgers(album.recordings)),
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
    """Returns CSV (RFC 4180) with a header line, in UTF-8; a missing value is an empty field."""
    text = io.StringIO()
    lines = csv.writer(text)
    lines.writerow(table.columns)
    lines.writerows([_cell(row[name]) for name in table.columns] for row in table.rows)
    return text.getvalue().encode()


def as_parquet(table: Table) -> bytes:
    """Returns Parquet; a missing value is null. Raises ImportError without pyarrow."""
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
    """Makes a table with a row for each value, and a column for each field of the dataclass `kind`."""
    rows = []
    for recording, values in parts:
        about = {"arm": recording.arm, "run": recording.name}
        for value in values:
            cells = {_RENAMED.get(key, key): cell for key, cell in asdict(value).items()}
            rows.append({**about, "since_page_ms": recording.measured.ms(value.t_ns), **cells})
    return Table(name=name, columns=_ABOUT | {"since_page_ms": float} | _columns(kind), rows=rows)


def _asked(scenario: ScenarioRecord) -> dict[str, Any]:
    """Returns the cells for a scenario; those of a second front that is not there are None."""
    cells: dict[str, Any] = {}
    for prefix, record in (("", scenario), (_VIA, scenario.via)):
        if record is not None:
            cells |= {
                prefix + _RENAMED.get(each.name, each.name): getattr(record, each.name) for each in fields(record)
            }
    cells["lowat_bytes"] = None if scenario.lowat == AUTO else scenario.lowat  # target_delay_ns says `auto`
    cells["resources"] = json.dumps(scenario.whole_page.as_document()["resources"])
    return {name: cells.get(name) for name in _SCENARIO}


def _loads(recordings: Iterable[Recording]) -> list[dict[str, Any]]:
    rows = []
    for recording in recordings:
        asked = _asked(recording.scenario)
        costs = {load.load: load.cost for load in recording.record.loads}
        about = {
            "arm": recording.arm,
            "run": recording.name,
            "repetition": recording.record.repetition,
            "fabric": recording.record.fabric,
        }
        for load in recording.loads:
            measured = load is recording.measured
            document = asdict(load.as_record())
            own = {
                "load": load.number,
                "measured": measured,
                "verdict": recording.judgement.verdict.value if measured else None,
            }
            counted = {name: document[name] for name in _LOAD if name in document}
            spent = {name: getattr(costs.get(load.number), name, None) for name in _COST}
            rows.append(about | counted | own | spent | asked)
    return rows


def _ledgers(recordings: Iterable[Recording]) -> list[dict[str, Any]]:
    return [
        {
            "arm": recording.arm,
            "run": recording.name,
            "focal": account.focal,
            "layer": layer,
            "wait_ms": wait_ms,
            "uncertainty_ms": account.parts_uncertainty_ms.get(layer),
        }
        for recording in recordings
        if (account := recording.record.ledger) is not None
        for layer, wait_ms in account.parts_ms.items()
    ]


def _resources(recordings: Iterable[Recording]) -> list[dict[str, Any]]:
    rows = []
    for recording in recordings:
        for load in recording.loads:
            about = {"arm": recording.arm, "run": recording.name, "load": load.number}
            about |= {"measured": load is recording.measured}
            for name, times in load.as_record().resources.items():
                rows.append(about | {"resource": name} | asdict(times))
    return rows
