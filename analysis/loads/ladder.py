"""The first-byte ladder: what "first byte" can mean, each a little later than the one before. Pure.

A packet may arrive long before a program can use it: a TLS record is readable when its last byte has arrived. Then the
frame's header is readable, and the part of its payload in the record. A program that gets whole DATA frames only, such
as one that uses the h2 library, also waits for the rest of the frame.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from analysis.loads.metrics import PageLoad
from analysis.records.runs import Evidence
from common.formats.events import Event


class Rung(StrEnum):
    """The rungs, in order."""

    PACKET = "first packet of its TLS record"
    RECORD = "TLS record complete"
    HEADER = "frame header readable"
    PAYLOAD = "first byte of payload"
    FRAME = "whole DATA frame"


@dataclass(frozen=True, kw_only=True)
class Reached:
    """A rung, and its time."""

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
    """The time at which the whole frame had arrived; its length includes padding, which is not payload."""
    payload_bytes = 0
    for event in after:
        if event.kind in ("data-header", "ended"):
            return event.t_ns
        if event.kind == "data":
            payload_bytes += event.size_bytes or 0
            if payload_bytes >= length_bytes:
                return event.t_ns
    return None
