"""The first byte of each resource: when the client says it came, and when tshark finds it in the captures."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab.wireshark import Capture, Packet

RESOURCES: Mapping[str, str] = {"image": "/image.jpg", "script": "/script.js"}


@dataclass(frozen=True, kw_only=True)
class Compared:
    """event: the client's. packet: the one at the client that made the byte readable.

    late_ns: by how much the event is later than that. lead_ns: by how much the front's packet is earlier.
    """

    event: Mapping[str, Any]
    packet: Packet
    late_ns: int
    lead_ns: int


def compare(run: Path, *preferences: str) -> dict[str, Compared]:
    """In the last load. The lab's part is the difference of the clocks; all else about the capture is tshark's word."""
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
