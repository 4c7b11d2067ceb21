"""Chromium's net log: reads its events, and writes the file that a run keeps.

Rules:
1. Times are milliseconds of base::TimeTicks, on Linux CLOCK_MONOTONIC, rounded down: an event happened up to a
   millisecond after its time.
2. Events of one source are in order. Those of all sockets and HTTP/2 sessions come from one thread, so they are in
   order among each other, too.
3. A run keeps the log without the sockets' bytes: these are nine tenths of it, and keys.log makes them readable.
"""

import gzip
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESOLUTION_NS = 10**6
BEGIN, END = 1, 2
"""Phases of an event that takes time."""

_OMITTED = "bytes"
_BEFORE_SWITCH = re.compile(r"\s+(?=--)")
_UNTOLD = re.compile(r"(=)(?:/.*|.*@.*)")


class NetlogError(Exception):
    """The file is no net log of the expected form; the text says why."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An event. kind: its name in Chromium's net_log_event_type_list.h. source: the object that it belongs to."""

    t_ns: int
    kind: str
    source: int
    phase: int
    params: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Netlog:
    """A whole log. product: the browser's name and version, in its own words.

    switches: of its command line, in order, with what its start script has added; values that are paths, or hold an @
    as names with passwords do, are left out.
    """

    product: str
    switches: tuple[str, ...]
    entries: tuple[Entry, ...]


def read(file: Path) -> tuple[Netlog, dict[str, Any]]:
    """Reads a file; returns the log and its document. Raises NetlogError."""
    try:
        document: dict[str, Any] = json.loads(file.read_text())
    except OSError as error:
        raise NetlogError(f"there is no net log: {error.strerror}") from error
    except ValueError as error:
        raise NetlogError(f"the net log is not complete: {error}") from error
    return netlog_from(document), document


def netlog_from(document: Mapping[str, Any]) -> Netlog:
    """Reads the log in a document. Raises NetlogError."""
    try:
        constants = document["constants"]
        names = {number: name for name, number in constants["logEventTypes"].items()}
        entries = tuple(
            Entry(
                t_ns=int(event["time"]) * RESOLUTION_NS,
                kind=names[event["type"]],
                source=event["source"]["id"],
                phase=event["phase"],
                params=event.get("params", {}),
            )
            for event in document["events"]
        )
        info = constants["clientInfo"]
        product, switches = f"{info['name']} {info['version']}", _switches(info.get("command_line", ""))
        return Netlog(product=product, switches=switches, entries=entries)
    except (KeyError, TypeError, ValueError) as error:
        raise NetlogError(f"not a net log as this reads it: {error!r}") from error


def _switches(command_line: str) -> tuple[str, ...]:
    """Splits the command line, which is joined by blanks although values may have blanks, too."""
    _, *switches = _BEFORE_SWITCH.split(command_line)
    return tuple(_UNTOLD.sub(r"\1...", switch) for switch in switches)


def keep(document: dict[str, Any], file: Path) -> None:
    """Writes it, compressed: without the sockets' bytes, and with those switches that `Netlog` has."""
    info = document["constants"]["clientInfo"]
    if "command_line" in info:
        info["command_line"] = " ".join(_switches(info["command_line"]))
    for event in document["events"]:
        event.get("params", {}).pop(_OMITTED, None)
    with gzip.GzipFile(file, "wb", mtime=0) as packed:
        packed.write(json.dumps(document, separators=(",", ":")).encode())
