"""The first-byte ladder: what "first byte" can mean, each a little later than the one before. Pure.

A packet may have come long before anybody can use it: the record that it begins is readable when its last byte is here.
Then a frame's header can be read, and as much of its payload as the record holds. A program that is told of whole DATA
frames only, as users of the h2 library are, has to wait for the rest of the frame besides.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from analysis.loads.metrics import PageLoad
from analysis.records.runs import Evidence
from common.formats.events import Event


class Rung(StrEnum):
    """In this order."""

    PACKET = "first packet of its TLS record"
    RECORD = "TLS record complete"
    HEADER = "frame header readable"
    PAYLOAD = "first byte of payload"
    FRAME = "whole DATA frame"


@dataclass(frozen=True, kw_only=True)
class Reached:
    """A rung, and when it was reached."""

    rung: Rung
    t_ns: int


def ladder(load: PageLoad, evidence: Evidence, resource: str) -> list[Reached]:
    """The rungs of a resource's first DATA frame that carries something.

    PACKET is missing in folders that do not tell it, FRAME if the frame never was complete.
    """
    events = [event for event in evidence.events if (event.load, event.resource) == (load.number, resource)]
    frames = [index for index, event in enumerate(events) if event.kind == "data-header" and event.size_bytes]
    if not frames:
        return []
    header, after = events[frames[0]], events[frames[0] + 1 :]
    times = {
        Rung.PACKET: header.record_ns,
        Rung.RECORD: header.t_ns,
        Rung.HEADER: header.t_ns,
        Rung.PAYLOAD: next((event.t_ns for event in after if event.kind == "data"), None),
        Rung.FRAME: _complete_ns(header.size_bytes or 0, after),
    }
    return [Reached(rung=rung, t_ns=t_ns) for rung, t_ns in times.items() if t_ns is not None]


def _complete_ns(length_bytes: int, after: Sequence[Event]) -> int | None:
    """When so much payload was there, or what follows the frame: padding counts in its length, and is not payload."""
    payload_bytes = 0
    for event in after:
        if event.kind in ("data-header", "ended"):
            return event.t_ns
        if event.kind == "data":
            payload_bytes += event.size_bytes or 0
            if payload_bytes >= length_bytes:
                return event.t_ns
    return None
