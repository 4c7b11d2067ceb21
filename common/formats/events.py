"""Records of the client: events.jsonl and arrivals.jsonl, one JSON object per line."""

import json
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The kind of an event."""

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
    """The header of a DATA frame has arrived; size_bytes is the frame's length field."""
    DATA = "data"
    """A piece of DATA payload has arrived, padding excluded, whether or not its frame is complete."""
    WINDOW_OPENED = "window-opened"
    """A probe enlarged the window of that stream, or without one of the connection, by size_bytes."""
    ENDED = "ended"
    RESET = "reset"
    GOAWAY = "goaway"


@dataclass(frozen=True, kw_only=True)
class Event:
    """A line of client/events.jsonl. t_ns: CLOCK_MONOTONIC; load counts from 1, 0 before the first.

    HEADERS and DATA have, over TCP, tcp_bytes: the bytes of the TCP stream up to the end of the TLS record that held
    them; and record_ns: when the first byte of that record arrived.
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
        """Returns the line, without its end; keys without a value are left out."""
        pairs = {"t_ns": self.t_ns, "kind": self.kind.value, "load": self.load} | {
            name: value
            for name in ("stream_id", "resource", "size_bytes", "detail", "tcp_bytes", "record_ns")
            if (value := getattr(self, name)) is not None
        }
        return json.dumps(pairs)


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """A line of client/arrivals.jsonl: the bytes of the TCP stream that had arrived by an instant."""

    t_ns: int
    tcp_bytes: int

    def to_json(self) -> str:
        """Returns the line, without its end."""
        return f'{{"t_ns": {self.t_ns}, "tcp_bytes": {self.tcp_bytes}}}'
