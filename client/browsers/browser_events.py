"""The account of a browser's actions: a client's events, and the priority signals of its requests. Pure.

Rules:
1. Received frames are decoded from the bytes and times of the browser's socket, so that each piece of DATA has its TLS
   record, as with the lab's own client.
2. Events are of the connection that carried the measured load. A load begins with the request for the page.
3. Requests that are not in the plan have events, too, with the path as the resource's name. The end of a
   load does not depend on their responses.
4. All priority signals are in a single list, in the order in which they were sent, because signals within the
   resolution of the clock have the same time.
"""

import re
import struct
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from h2.errors import ErrorCodes

from priolab.client.browsers.connections import Connection
from priolab.client.browsers.tls13 import Plaintext
from priolab.client.data_frames import DataPiece
from priolab.client.http2.walker import Begun, Ended, FrameKind, FrameWalker
from priolab.client.load_scheduler import LoadFailed
from priolab.client.records import Record
from priolab.common.formats.events import Event, Kind
from priolab.common.formats.plan import Plan, Position
from priolab.common.priority_signals import Asked, Saying, Wishes, as_text

FIRST_WINDOW_BYTES = 65_535
"""The window of a connection, and of its streams unless SETTINGS say otherwise (RFC 9113, 6.9.2)."""

_SETTING = struct.Struct("!2s4s")
_INITIAL_WINDOW = re.compile(r"id:4 .*value:(\d+)", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class SentRequest:
    """A request of a load.

    resource: the name of the requested resource in the plan; the path if the plan does not have this resource.
    """

    load: int
    resource: str
    path: str
    stream_id: int


@dataclass(kw_only=True)
class Account:
    """The report of a browser's actions.

    events, arrivals: the content of events.jsonl and arrivals.jsonl. settings: the SETTINGS that the browser sent, each
    a text with number, name and value. server_settings: the values of the SETTINGS that the front sent, by number.
    connection_window_bytes: the connection's flow-control window after the browser first enlarged it.
    stream_window_bytes: a stream's window after the browser first enlarged it; None if only its SETTINGS tell.
    frames_sent: the number of frames that the browser sent, by type. sayings: all priority signals, in order; the
    signal sent with a request precedes the later signals for the same stream. local: the browser's address and port.
    largest_record_bytes: plaintext bytes of the front's largest TLS record. trouble: the reason why a load failed; None
    if no load failed.
    """

    events: list[Event] = field(default_factory=list)
    arrivals: list[tuple[int, int]] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)
    settings: list[str] = field(default_factory=list)
    server_settings: dict[str, int] = field(default_factory=dict)
    connection_window_bytes: int | None = None
    stream_window_bytes: int | None = None
    frames_sent: Counter[str] = field(default_factory=Counter)
    requests: list[SentRequest] = field(default_factory=list)
    sayings: list[Saying] = field(default_factory=list)
    local: tuple[str, int] | None = None
    largest_record_bytes: int = 0
    trouble: LoadFailed | None = None

    def asked(self, load: int, compared: Sequence[str]) -> Asked | None:
        """Returns the order in which the browser asked for two resources in a load.

        compared: their names. Returns None if the load did not request both resources, or if only one is named.
        """
        streams = {sent.resource: sent.stream_id for sent in self.requests if sent.load == load}
        if len(compared) < 2 or not {*compared} <= streams.keys():
            return None
        one, other = compared
        sayings = [saying for saying in self.sayings if saying.stream_id in streams.values()]
        return Wishes(sayings).between(streams[one], streams[other])


class AccountWriter:
    """Writes the account of one connection: callers report what happened on it, in order of time."""

    def __init__(self, plan: Plan, made: Account, status_of: Callable[[Ended], str]) -> None:
        """made: the account to write to. status_of: returns the status of the response whose headers a frame completes.

        status_of is called once for each HEADERS or CONTINUATION frame that came from the front, in order.
        """
        self._plan, self._made, self._status_of = plan, made, status_of
        self._names = {request.path: request.name for request in plan.requests}
        self._streams: dict[int, SentRequest] = {}
        self._left: dict[int, set[str]] = {}
        self._load = 0
        self._received = FrameWalker()

    def connected(self, t_ns: int, address: str, port: int) -> None:
        """The connection from this address and port of the browser was made."""
        self._made.local = address, port
        self._made.events.append(Event(t_ns=t_ns, kind=Kind.CONNECTED, load=0))

    def secured(self, t_ns: int) -> None:
        """TLS's handshake was complete."""
        self._made.events.append(Event(t_ns=t_ns, kind=Kind.SECURED, load=0))

    def is_page(self, path: str) -> bool:
        """Returns True if the path is that of the page, with whose request a load begins."""
        return path == self._plan.requests[0].path

    def loaded_elsewhere(self) -> None:
        """A load began on another connection."""
        self._load += 1

    def requested(self, path: str, saying: Saying) -> None:
        """The browser sent a request, with this priority signal."""
        if self.is_page(path):
            self._load += 1
            self._left[self._load] = set(self._names.values())
            self._add(Kind.LOAD_STARTED, saying.t_ns)
        resource, number = self._names.get(path, path), saying.stream_id
        self._streams[number] = SentRequest(load=self._load, resource=resource, path=path, stream_id=number)
        self._made.sayings.append(saying)
        self._add(Kind.REQUEST_SENT, saying.t_ns, number, detail=self._words(saying))

    def said_later(self, saying: Saying) -> None:
        """The browser sent a priority signal that is not part of a request."""
        if saying.stream_id in self._streams:
            self._made.sayings.append(saying)
        self._add(Kind.PRIORITY_SENT, saying.t_ns, saying.stream_id, detail=self._words(saying))

    def updated(self, frame: Ended, t_ns: int) -> None:
        """The browser sent a PRIORITY_UPDATE frame."""
        number, words = int.from_bytes(frame.payload[:4]), frame.payload[4:].decode("ascii", "replace")
        self.said_later(Saying(t_ns=t_ns, stream_id=number, field=words))

    def _words(self, saying: Saying) -> str | None:
        on = self._streams.get(saying.depends_on)
        place = None
        if saying.weight is not None:
            name = on.resource if on else f"stream {saying.depends_on}" if saying.depends_on else None
            place = Position(weight=saying.weight, depends_on=name, exclusive=saying.exclusive)
        return as_text(place, saying.field)

    def arrived(self, plain: Plaintext) -> None:
        """The front's bytes in a TLS record arrived."""
        self._made.largest_record_bytes = max(self._made.largest_record_bytes, len(plain.data))
        record = plain.record
        t_ns = record.received_ns
        for seen in self._received.feed(plain.data):
            match seen:
                case Begun(frame=frame) if frame.kind == FrameKind.DATA:
                    size = frame.length_bytes
                    self._add(Kind.DATA_HEADER, t_ns, frame.stream_id, size_bytes=size, record=record)
                case DataPiece(stream_id=number, size_bytes=size):
                    self._add(Kind.DATA, t_ns, number, size_bytes=size, record=record)
                case Ended(frame=frame, payload=payload):
                    self._frame_ended(seen, t_ns, record, payload)

    def _frame_ended(self, seen: Ended, t_ns: int, record: Record, payload: bytes) -> None:
        frame, number = seen.frame, seen.frame.stream_id
        status = self._status_of(seen) if frame.kind in (FrameKind.HEADERS, FrameKind.CONTINUATION) else ""
        if frame.ends_headers:
            self._add(Kind.HEADERS, t_ns, number, detail=status, record=record)
            if number in self._streams and status != "200" and self._is_planned(number):
                self._fails(f"the front answered {self._streams[number].resource} with status {status}")
        if frame.kind == FrameKind.SETTINGS:
            self._made.server_settings |= {str(key): value for key, value in settings_in(seen).items()}
        if frame.kind == FrameKind.RST_STREAM:
            code = _code(payload[:4])
            self._add(Kind.RESET, t_ns, number, detail=code)
            if number in self._streams and self._is_planned(number):
                self._fails(f"the front reset the stream of {self._streams[number].resource}: {code}")
        if frame.kind == FrameKind.GOAWAY:
            self._add(Kind.GOAWAY, t_ns, detail=_code(payload[4:8]))
        if frame.ends_stream:
            self._add(Kind.ENDED, t_ns, number)
            if stream := self._streams.get(number):
                left = self._left.get(stream.load, set())
                left.discard(stream.resource)
                if not left and self._is_planned(number):
                    self._add(Kind.LOAD_FINISHED, t_ns)

    def _is_planned(self, number: int) -> bool:
        return self._streams[number].path in self._names

    def _fails(self, reason: str) -> None:
        if self._made.trouble is None:
            self._made.trouble = LoadFailed(f"load {self._load} of {self._plan.loads}: {reason}")

    def conclude(self) -> None:
        """Ends the record, and finds out if all loads are complete."""
        self._made.requests = list(self._streams.values())
        if self._load < self._plan.loads:
            self._load += 1
            self._fails("the browser did not request the page")
        for number, left in self._left.items():
            if left and self._made.trouble is None:
                waiting = ", ".join(sorted(left))
                reason = f"load {number} of {self._plan.loads}: not all responses are complete; unfinished: {waiting}"
                self._made.trouble = LoadFailed(reason)

    def _add(
        self,
        kind: Kind,
        t_ns: int,
        number: int | None = None,
        *,
        size_bytes: int | None = None,
        detail: str | None = None,
        record: Record | None = None,
    ) -> None:
        stream = self._streams.get(number) if number is not None else None
        self._made.events.append(
            Event(
                t_ns=t_ns,
                kind=kind,
                load=stream.load if stream else self._load,
                stream_id=number,
                resource=stream.resource if stream else None,
                size_bytes=size_bytes,
                detail=detail,
                tcp_bytes=record.end_bytes if record else None,
                record_ns=record.started_ns if record else None,
            )
        )


def initial_window_bytes(settings: Sequence[str]) -> int:
    """Returns the initial window of streams in the browser's SETTINGS; if absent, RFC 9113's default (6.5.2)."""
    said = (found for setting in settings if (found := _INITIAL_WINDOW.search(setting)))
    return next((int(found[1]) for found in said), FIRST_WINDOW_BYTES)


def settings_in(seen: Ended) -> dict[int, int]:
    """Returns the settings in a SETTINGS frame, by number; empty for an acknowledgement (RFC 9113, 6.5.1)."""
    return {int.from_bytes(key): int.from_bytes(value) for key, value in _SETTING.iter_unpack(seen.payload)}


def _code(number: bytes) -> str:
    value = int.from_bytes(number)
    return ErrorCodes(value).name if value in list(ErrorCodes) else str(value)
