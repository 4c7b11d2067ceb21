"""Compares the first byte of each resource in the client's events with the first byte in the captures, by tshark."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab.wireshark import Capture, Packet

RESOURCES: Mapping[str, str] = {"image": "/image.jpg", "script": "/script.js"}
SMALLEST_REQUEST_BYTES = 66 + 22 + 9 + 1
"""The smallest request on the link: headers of the packet, a TLS record, a frame's header, and a byte."""


@dataclass(frozen=True, kw_only=True)
class Compared:
    """The first byte of a resource. event: the client's event. packet: the packet that made the byte readable.

    late_ns: the time from the packet's arrival at the client to the event. lead_ns: the time from the packet at the
    front to its arrival at the client.
    """

    event: Mapping[str, Any]
    packet: Packet
    late_ns: int
    lead_ns: int


def compare(run: Path, *preferences: str) -> dict[str, Compared]:
    """Compares the first bytes of the last load, by resource. preferences: preferences for tshark.

    The difference of the clocks comes from the lab's clock.json; everything else about the captures comes from tshark.
    """
    clock = json.loads((run / "wire/clock.json").read_text())["realtime_minus_monotonic_ns"]
    events = [json.loads(line) for line in (run / "client/events.jsonl").read_text().splitlines()]
    last_load = max(event["load"] for event in events)
    near, far = (Capture(run / f"wire/{end}.pcapng", *preferences).first_bytes() for end in ("client", "server"))
    compared = {}
    for resource, path in RESOURCES.items():
        first = next(
            event
            for event in events
            if (event["kind"], event.get("resource"), event["load"]) == ("data", resource, last_load)
        )
        compared[resource] = Compared(
            event=first,
            packet=near[path],
            late_ns=first["t_ns"] - (near[path].t_ns - clock["start"]),
            lead_ns=near[path].t_ns - far[path].t_ns,
        )
    return compared
