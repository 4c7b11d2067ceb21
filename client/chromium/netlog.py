"""Chromium's net log: reads its events, and writes the file that a run keeps.

Rules:
1. Times are whole milliseconds of base::TimeTicks, which is CLOCK_MONOTONIC on Linux. Times are rounded down: an event
   happened up to a millisecond after its logged time.
2. The events of all sockets and HTTP/2 sessions come from a single thread, so they are in order.
3. A run folder gets the log without the sockets' bytes: these bytes are nine tenths of the log, and every reader of the
   folder could decrypt them with keys.log.
"""

import gzip
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from priolab.client.browsers.tls13 import Unreadable

RESOLUTION_NS = 10**6
BEGIN, END = 1, 2
"""The phases of the two entries that begin and end an event of some duration."""

_OMITTED = "bytes"
_BEFORE_SWITCH = re.compile(r"\s+(?=--)")
_UNTOLD = re.compile(r"(=)(?:/.*|.*@.*)")


class NetlogError(Unreadable):
    """The file is no net log of the expected form; the text says why."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An entry of the net log: an event, or the beginning or end of an event.

    kind: the event's name in Chromium's net_log_event_type_list.h. source: the number of the object that logged the
    event, such as a socket or an HTTP/2 session.
    """

    t_ns: int
    kind: str
    source: int
    phase: int
    params: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Netlog:
    """A whole net log. product: the browser's name and version, as the log has them.

    switches: the switches of the browser's command line, in order, including switches that its start script added.
    `...` replaces values that are paths or hold an @, as a user name with a password does.
    """

    product: str
    switches: tuple[str, ...]
    entries: tuple[Entry, ...]


def read(file: Path) -> tuple[Netlog, dict[str, Any]]:
    """Reads a file; returns the net log and the JSON document that it came from. Raises NetlogError."""
    try:
        document: dict[str, Any] = json.loads(file.read_text())
    except OSError as error:
        raise NetlogError(f"there is no net log: {error.strerror}") from error
    except ValueError as error:
        raise NetlogError(f"the net log is not complete: {error}") from error
    return netlog_from(document), document


def netlog_from(document: Mapping[str, Any]) -> Netlog:
    """Converts a JSON document into a net log. Raises NetlogError."""
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
        raise NetlogError(f"not a net log of the expected form: {error!r}") from error


def _switches(command_line: str) -> tuple[str, ...]:
    """Splits the command line at the switches. Blanks separate the switches, but may also occur in a switch's value."""
    _, *switches = _BEFORE_SWITCH.split(command_line)
    return tuple(_UNTOLD.sub(r"\1...", switch) for switch in switches)


def keep(document: dict[str, Any], file: Path) -> None:
    """Writes a net log's document, compressed, without the sockets' bytes. Changes the document.

    In the browser's command line, `...` replaces values that are paths or hold an @.
    """
    info = document["constants"]["clientInfo"]
    if "command_line" in info:
        info["command_line"] = " ".join(_switches(info["command_line"]))
    for event in document["events"]:
        event.get("params", {}).pop(_OMITTED, None)
    with gzip.GzipFile(file, "wb", mtime=0) as packed:
        packed.write(json.dumps(document, separators=(",", ":")).encode())
