"""Segments of the connection in the captures at both ends of the link: the lines of wire/segments.jsonl."""

import json
from dataclasses import asdict, dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A line of wire/segments.jsonl: a captured packet from the front to the client with bytes of the TCP stream.

    end: where it was captured, at the `server` (the front) or at the `client`. t_ns: when, CLOCK_MONOTONIC.
    position_bytes: the bytes of the stream before the packet's. size_bytes: the bytes in the packet; at the front up to
    64 KiB, because the front's kernel leaves the segmentation to the device.
    """

    end: Literal["client", "server"]
    t_ns: int
    position_bytes: int
    size_bytes: int

    @property
    def end_bytes(self) -> int:
        """The position behind the packet's bytes."""
        return self.position_bytes + self.size_bytes

    def to_json(self) -> str:
        """Returns the line without a line break."""
        return json.dumps(asdict(self))
