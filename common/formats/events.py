"""Events: what the client saw, one timestamped thing each."""

import json
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What happened."""

    CONNECTED = "connected"
    """TCP is established."""
    SECURED = "secured"
    """TLS is established and ALPN chose the plan's protocol."""
    LOAD_STARTED = "load-started"
    LOAD_FINISHED = "load-finished"
    REQUEST_SENT = "request-sent"
    PRIORITY_SENT = "priority-sent"
    """A frame that moves an open stream: PRIORITY, or PRIORITY_UPDATE."""
    HEADERS = "headers"
    """The response's HEADERS, or SPDY's SYN_REPLY, are complete. Not a first byte: servers let them overtake DATA."""
    DATA_HEADER = "data-header"
    """What stands in front of a DATA frame's payload has arrived; size_bytes is the frame's length field."""
    DATA = "data"
    """A piece of DATA payload has arrived, padding excluded, be its frame complete or not."""
    WINDOW_OPENED = "window-opened"
    """By size_bytes, of that stream or, without one, of the connection; by a probe alone."""
    ENDED = "ended"
    RESET = "reset"
    GOAWAY = "goaway"


@dataclass(frozen=True, kw_only=True)
class Event:
    """One event. t_ns: CLOCK_MONOTONIC; load counts from 1, 0 before the first.

    Of HEADERS and DATA: tcp_bytes, bytes of the TCP stream up to the end of the TLS record that held it; record_ns,
    when the first byte of that record arrived.
    """

    t_ns: int
    kind: Kind
    load: int
    stream_id: int | None = None
    resource: str | None = None
    size_bytes: int | None = None
    detail: str | None = None
    tcp_bytes: int | None = None
    record_ns: int | None = None

    def to_json(self) -> str:
        """One line of events.jsonl, keys without a value left out."""
        pairs = {"t_ns": self.t_ns, "kind": self.kind.value, "load": self.load} | {
            name: value
            for name in ("stream_id", "resource", "size_bytes", "detail", "tcp_bytes", "record_ns")
            if (value := getattr(self, name)) is not None
        }
        return json.dumps(pairs)
