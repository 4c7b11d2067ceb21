"""Converts a browser's net log and TLS secrets into a client's events. Pure.

Rules:
1. Sent frames come from the net log's HTTP/2 events. Received frames are decoded from the bytes and times of the
   browser's socket, so that each piece of DATA has its TLS record, as with the lab's own client. PRIORITY_UPDATE frames
   are decoded from the sent bytes, because the net log lacks them.
2. Only the connection that carried the measured load is converted. A load begins with the request for the page.
3. Requests that are not in the plan have events, too, with the path as the resource's name. The end of a
   load does not depend on their responses.
4. All priority signals are in a single list, in the log's order, because signals within a millisecond have the same
   time.
"""

import base64
from collections import Counter
from dataclasses import dataclass, field

from h2.errors import ErrorCodes

from client.chromium.asked import Asked, Saying, asked
from client.chromium.connections import SENT, Connection, connections, headers_of, measured
from client.chromium.netlog import END, Entry, Netlog, NetlogError
from client.chromium.tls13 import Direction, Secrets, client_random
from client.http2.engine import said
from client.http2.walker import Begun, Ended, FrameKind, FrameWalker
from client.loads import LoadFailed
from client.pieces import DataPiece
from client.records import Record
from common.formats.events import Event, Kind
from common.formats.plan import Plan, Position


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
    """The report of a browser's actions, made from its net log.

    events, arrivals: the content of events.jsonl and arrivals.jsonl. settings: the SETTINGS that the browser sent, as
    the net log prints them. server_settings: the values of the SETTINGS that the front sent, by number.
    connection_window_bytes: the connection's flow-control window after the browser first enlarged it. frames_sent: the
    number of frames that the browser sent, by type. sayings: all priority signals, in order; the signal sent with a
    request precedes the later signals for the same stream. local: the browser's address and port.
    largest_record_bytes: plaintext bytes of the front's largest TLS record. trouble: the reason why a load failed; None
    if no load failed.
    """

    events: list[Event] = field(default_factory=list)
    arrivals: list[tuple[int, int]] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)
    settings: list[str] = field(default_factory=list)
    server_settings: dict[str, int] = field(default_factory=dict)
    connection_window_bytes: int | None = None
    frames_sent: Counter[str] = field(default_factory=Counter)
    requests: list[SentRequest] = field(default_factory=list)
    sayings: list[Saying] = field(default_factory=list)
    local: tuple[str, int] | None = None
    largest_record_bytes: int = 0
    trouble: LoadFailed | None = None

    def asked(self, load: int, one: str, other: str) -> Asked | None:
        """Returns the order in which the browser asked for the resources `one` and `other` in a load.

        Returns None if the load did not request both resources.
        """
        streams = {sent.resource: sent.stream_id for sent in self.requests if sent.load == load}
        if not {one, other} <= streams.keys():
            return None
        sayings = [saying for saying in self.sayings if saying.stream_id in streams.values()]
        return asked(sayings, streams[one], streams[other])


def account(netlog: Netlog, secrets: Secrets, plan: Plan) -> Account:
    """Converts a net log into the report of the browser's actions. secrets: the TLS secrets that the browser logged.

    Raises Unreadable if the connection cannot be decrypted, and NetlogError if the log is not of the expected form.
    """
    try:
        return _account(netlog, secrets, plan)
    except (KeyError, TypeError, StopIteration) as error:
        raise NetlogError(f"not a net log of the expected form: {error!r}") from error


def _account(netlog: Netlog, secrets: Secrets, plan: Plan) -> Account:
    made = Account()
    made.connections = list(connections(netlog))
    socket, session = measured(netlog, plan.requests[0].path)
    if socket is None or session is None:
        alpn = ", ".join(str(each.alpn) for each in made.connections) or "no connection was made"
        made.trouble = LoadFailed(f"the browser requested no page over HTTP/2 (ALPN: {alpn})")
        return made
    _Following(netlog, secrets, plan, made, socket, session).follow()
    return made


class _Following:
    """A pass over a net log, which adds the events of a single connection to an Account."""

    def __init__(self, netlog: Netlog, secrets: Secrets, plan: Plan, made: Account, socket: int, session: int) -> None:
        self._netlog, self._secrets, self._plan, self._made = netlog, secrets, plan, made
        self._socket, self._session = socket, session
        self._names = {request.path: request.name for request in plan.requests}
        self._streams: dict[int, SentRequest] = {}
        self._left: dict[int, set[str]] = {}
        self._load = 0
        self._statuses = {
            entry.params["stream_id"]: headers_of(entry).get(":status", "")
            for entry in netlog.entries
            if (entry.kind, entry.source) == ("HTTP2_SESSION_RECV_HEADERS", session)
        }
        self._received, self._sent = FrameWalker(), FrameWalker(preface=True)

    def follow(self) -> None:
        """Adds the events of the connection to the account. Raises Unreadable if the connection cannot be decrypted."""
        server, client = self._directions()
        for entry in self._netlog.entries:
            if entry.source == self._socket:
                if entry.kind == "SOCKET_BYTES_RECEIVED":
                    for plain in server.feed(base64.b64decode(entry.params["bytes"]), entry.t_ns):
                        self._made.largest_record_bytes = max(self._made.largest_record_bytes, len(plain.data))
                        self._arrived(plain.data, plain.record)
                    self._made.arrivals.append((entry.t_ns, server.received_bytes))
                elif entry.kind == "SOCKET_BYTES_SENT":
                    for plain in client.feed(base64.b64decode(entry.params["bytes"]), entry.t_ns):
                        self._has_sent(plain.data, entry.t_ns)
                elif entry.phase == END:
                    self._connecting(entry)
            elif entry.source == self._session:
                self._in_session(entry)
            elif entry.kind == SENT and self._is_page(entry):
                self._load += 1  # a load on another connection
        self._made.requests = list(self._streams.values())
        self._conclude()

    def _directions(self) -> tuple[Direction, Direction]:
        sent = next(e for e in self._netlog.entries if (e.kind, e.source) == ("SOCKET_BYTES_SENT", self._socket))
        tls = next(
            e.params for e in self._netlog.entries if (e.kind, e.source, e.phase) == ("SSL_CONNECT", self._socket, END)
        )
        random = client_random(base64.b64decode(sent.params["bytes"]))
        suite = tls["cipher_suite"]
        return Direction(self._secrets, "SERVER", random, suite), Direction(self._secrets, "CLIENT", random, suite)

    def _connecting(self, entry: Entry) -> None:
        if entry.kind == "TCP_CONNECT":
            host, _, port = entry.params["local_address"].rpartition(":")
            self._made.local = host, int(port)
            self._made.events.append(Event(t_ns=entry.t_ns, kind=Kind.CONNECTED, load=0))
        elif entry.kind == "SSL_CONNECT":
            self._made.events.append(Event(t_ns=entry.t_ns, kind=Kind.SECURED, load=0))

    def _is_page(self, entry: Entry) -> bool:
        return headers_of(entry)[":path"] == self._plan.requests[0].path

    def _in_session(self, entry: Entry) -> None:
        params = entry.params
        match entry.kind:
            case "HTTP2_SESSION_SEND_HEADERS":
                self._asked(entry)
            case "HTTP2_STREAM_SEND_PRIORITY":
                said_now = Saying(
                    t_ns=entry.t_ns,
                    stream_id=params["stream_id"],
                    weight=params["weight"],
                    depends_on=params["parent_stream_id"],
                    exclusive=params["exclusive"],
                )
                self._said_later(said_now)
            case "HTTP2_SESSION_SEND_SETTINGS":
                self._made.settings += params["settings"]
            case "HTTP2_SESSION_RECV_SETTING":
                self._made.server_settings[str(params["id"])] = params["value"]
            case "HTTP2_SESSION_UPDATE_RECV_WINDOW" if self._made.connection_window_bytes is None:
                self._made.connection_window_bytes = params["window_size"]

    def _asked(self, entry: Entry) -> None:
        headers, params = headers_of(entry), entry.params
        if self._is_page(entry):
            self._load += 1
            self._left[self._load] = set(self._names.values())
            self._add(Kind.LOAD_STARTED, entry.t_ns)
        path = headers[":path"]
        number = params["stream_id"]
        weighty = params["has_priority"]
        saying = Saying(
            t_ns=entry.t_ns,
            stream_id=number,
            weight=params["weight"] if weighty else None,
            depends_on=params["parent_stream_id"] if weighty else 0,
            exclusive=bool(weighty and params["exclusive"]),
            field=headers.get("priority"),
        )
        resource = self._names.get(path, path)
        self._streams[number] = SentRequest(load=self._load, resource=resource, path=path, stream_id=number)
        self._made.sayings.append(saying)
        self._add(Kind.REQUEST_SENT, entry.t_ns, number, detail=self._words(saying))

    def _said_later(self, saying: Saying) -> None:
        if saying.stream_id in self._streams:
            self._made.sayings.append(saying)
        self._add(Kind.PRIORITY_SENT, saying.t_ns, saying.stream_id, detail=self._words(saying))

    def _words(self, saying: Saying) -> str | None:
        on = self._streams.get(saying.depends_on)
        place = None
        if saying.weight is not None:
            name = on.resource if on else f"stream {saying.depends_on}" if saying.depends_on else None
            place = Position(weight=saying.weight, depends_on=name, exclusive=saying.exclusive)
        return said(place, saying.field)

    def _has_sent(self, data: bytes, t_ns: int) -> None:
        for seen in self._sent.feed(data):
            if not isinstance(seen, Ended):
                continue
            self._made.frames_sent[seen.frame.name] += 1
            if seen.frame.kind == FrameKind.PRIORITY_UPDATE:
                number, words = int.from_bytes(seen.payload[:4]), seen.payload[4:].decode("ascii", "replace")
                self._said_later(Saying(t_ns=t_ns, stream_id=number, field=words))

    def _arrived(self, data: bytes, record: Record) -> None:
        t_ns = record.received_ns
        for seen in self._received.feed(data):
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
        if frame.ends_headers:
            status = self._statuses.get(number, "")
            self._add(Kind.HEADERS, t_ns, number, detail=status, record=record)
            if number in self._streams and status != "200" and self._is_planned(number):
                self._fails(f"the front answered {self._streams[number].resource} with status {status}")
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

    def _conclude(self) -> None:
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


def _code(number: bytes) -> str:
    value = int.from_bytes(number)
    return ErrorCodes(value).name if value in list(ErrorCodes) else str(value)
