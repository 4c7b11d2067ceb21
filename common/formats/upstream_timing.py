"""Passages of responses between the two fronts: the lines of second/passages.jsonl."""

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A line of second/passages.jsonl: when the first byte of a response passed from the second front to the front.

    path: the requested path. port: the front's port of the connection. position_bytes: the bytes of the second front's
    TCP stream before this byte, which is the first of the response's body. requested_ns: when the front's kernel sent
    the request. sent_ns: when the second front's kernel first sent the byte. arrived_ns: when the front's kernel had
    the byte and all bytes before it. Times are of CLOCK_MONOTONIC.
    """

    path: str
    port: int
    position_bytes: int
    requested_ns: int
    sent_ns: int
    arrived_ns: int

    def to_json(self) -> str:
        """Returns the line without a line break."""
        return json.dumps(asdict(self))
