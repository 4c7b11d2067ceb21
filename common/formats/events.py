"""The client's records: the lines of events.jsonl and arrivals.jsonl, each a JSON object."""

import json
from dataclasses import dataclass
from enum import StrEnum
from json.encoder import encode_basestring_ascii


class Kind(StrEnum):
    """The kind of an event."""

    CONNECTED = "connected"
    """The TCP connection is established. Over QUIC there is no such event."""
    SECURED = "secured"
    """The TLS or QUIC handshake is complete, and ALPN chose the plan's protocol."""
    LOAD_STARTED = "load-started"
    """The client requests the page."""
    LOAD_FINISHED = "load-finished"
    """The last stream of the load has ended."""
    REQUEST_SENT = "request-sent"
    """`detail` is the request's priority: weight and place in the tree, the header field, or SPDY's level."""
    PRIORITY_SENT = "priority-sent"
    """The client sent a frame that changes the priority of an open stream: PRIORITY or PRIORITY_UPDATE. `detail` is the
    new priority."""
    HEADERS = "headers"
    """The response's HEADERS, or SPDY's SYN_REPLY, have arrived. Headers do not count as a first byte, because servers
    send headers ahead of waiting DATA. `detail` is the status."""
    DATA_HEADER = "data-header"
    """The nine bytes in front of a DATA frame have arrived; size_bytes is the frame's length field."""
    DATA = "data"
    """Payload of a DATA frame is readable, padding excluded. The frame need not be complete."""
    WINDOW_OPENED = "window-opened"
    """A probe enlarged a window by size_bytes: the stream's window, or the connection's if there is no stream_id."""
    DISTURBED = "disturbed"
    """The client disturbed a probe, as `detail` says: it reset a stream of its own, or requested the same resources on
    another connection."""
    ENDED = "ended"
    RESET = "reset"
    """The front reset the stream; `detail` is the error code."""
    GOAWAY = "goaway"
    """The front sent GOAWAY; `detail` is the error code."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """A line of client/events.jsonl.

    t_ns: CLOCK_MONOTONIC. load: the number of the load, from 1; 0 for events before the first load.
    Events of received HEADERS and DATA have two more fields if the connection is TCP. tcp_bytes: the position in the
    TCP stream at which the event's TLS record ends. record_ns: the time at which the first byte of that record arrived.
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
        """Returns the line without a line break. Fields that are None are left out."""
        if self.record_ns is not None and self.resource is not None and self.detail is None:
            return (  # nearly all lines are such ones, and json.dumps takes three times as long
                f'{{"t_ns": {self.t_ns}, "kind": "{self.kind}", "load": {self.load}, "stream_id": {self.stream_id}, '
                f'"resource": {encode_basestring_ascii(self.resource)}, "size_bytes": {self.size_bytes}, '
                f'"tcp_bytes": {self.tcp_bytes}, "record_ns": {self.record_ns}}}'
            )
        pairs = {"t_ns": self.t_ns, "kind": self.kind.value, "load": self.load} | {
            name: value
            for name in ("stream_id", "resource", "size_bytes", "detail", "tcp_bytes", "record_ns")
            if (value := getattr(self, name)) is not None
        }
        return json.dumps(pairs)


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """A line of client/arrivals.jsonl: tcp_bytes of the TCP stream had arrived at t_ns (CLOCK_MONOTONIC)."""

    t_ns: int
    tcp_bytes: int

    def to_json(self) -> str:
        """Returns the line without a line break."""
        return f'{{"t_ns": {self.t_ns}, "tcp_bytes": {self.tcp_bytes}}}'
