"""Chromium's net log: its events as values, and the file as it is kept.

Rules:
1. Times are whole milliseconds of base::TimeTicks, which on Linux is CLOCK_MONOTONIC, cut off and not rounded: an
   event was up to a millisecond later than it says.
2. Events of one source are in the order in which they happened; those of sockets and HTTP/2 sessions all come from one
   thread, and are in order among each other, too.
3. It is kept without the bytes of sockets, which keys.log makes readable and which are nine tenths of it.
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
    """It is not what this reads; the text says how."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One event. kind: its name in Chromium's net_log_event_type_list.h; source: whose it is; params: its own."""

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
    """The log in a file, and the document that it is. Raises NetlogError."""
    try:
        document: dict[str, Any] = json.loads(file.read_text())
    except OSError as error:
        raise NetlogError(f"there is no net log: {error.strerror}") from error
    except ValueError as error:
        raise NetlogError(f"the net log is not complete: {error}") from error
    return netlog_from(document), document


def netlog_from(document: Mapping[str, Any]) -> Netlog:
    """The log in a document. Raises NetlogError."""
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
    """It is joined by blanks, which values have, too."""
    _, *switches = _BEFORE_SWITCH.split(command_line)
    return tuple(_UNTOLD.sub(r"\1...", switch) for switch in switches)


def keep(document: dict[str, Any], file: Path) -> None:
    """Write it, compressed, without the bytes of sockets, and of the command line what `Netlog` has of it."""
    info = document["constants"]["clientInfo"]
    if "command_line" in info:
        info["command_line"] = " ".join(_switches(info["command_line"]))
    for event in document["events"]:
        event.get("params", {}).pop(_OMITTED, None)
    with gzip.GzipFile(file, "wb", mtime=0) as packed:
        packed.write(json.dumps(document, separators=(",", ":")).encode())
