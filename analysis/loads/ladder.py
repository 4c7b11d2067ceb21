"""The first-byte ladder: the meanings of "first byte" as rungs, the earliest first. Pure.

A packet may arrive long before a program can use its bytes, because a TLS record is readable only when its last byte
has arrived. The record then shows the header of a DATA frame, and as much of the frame's payload as it holds. A program
that gets whole DATA frames only, such as one that uses the h2 library, also waits for the rest of the frame.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from priolab.analysis.loads.metrics import PageLoad
from priolab.analysis.records.runs import Evidence
from priolab.common.formats.events import Event


class Rung(StrEnum):
    """The meanings of "first byte", from the earliest to the latest."""

    PACKET = "first packet of its TLS record"
    RECORD = "TLS record complete"
    HEADER = "frame header readable"
    PAYLOAD = "first byte of payload"
    FRAME = "whole DATA frame"


@dataclass(frozen=True, kw_only=True)
class Reached:
    """A meaning of "first byte" (a rung), and the time of the first byte in this meaning."""

    rung: Rung
    t_ns: int


def ladder(load: PageLoad, evidence: Evidence, resource: str) -> list[Reached]:
    """Returns the meanings of "first byte" (rungs), each with its time, for a resource's first DATA frame with payload.

    The rung PACKET is missing if the client did not record when the TLS record began to arrive. The rung FRAME is
    missing if the frame did not arrive completely.
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
    """Returns when the whole frame had arrived; None if a part of the frame never arrived.

    length_bytes: the frame's length. after: the stream's events after the frame's header. The length includes padding,
    for which the client records no event. So the next frame's header and the stream's end also show that the frame is
    complete.
    """
    payload_bytes = 0
    for event in after:
        if event.kind in ("data-header", "ended"):
            return event.t_ns
        if event.kind == "data":
            payload_bytes += event.size_bytes or 0
            if payload_bytes >= length_bytes:
                return event.t_ns
    return None
