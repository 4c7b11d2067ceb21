"""Converts Chromium's net log and TLS secrets into the account of its actions. Pure.

Sent frames come from the net log's HTTP/2 events. Received frames, and PRIORITY_UPDATE frames, which the net log lacks,
are decoded from the bytes and times of the browser's socket.
"""

import base64
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from priolab.client.browsers.browser_events import Account, AccountWriter
from priolab.client.browsers.connections import Connection
from priolab.client.browsers.tls13 import Direction, Secrets, client_random
from priolab.client.chromium.netlog import END, Entry, Netlog, NetlogError
from priolab.client.http2.walker import Ended, FrameKind, FrameWalker
from priolab.client.load_scheduler import LoadFailed
from priolab.common.formats.plan import Plan
from priolab.common.priority_signals import Saying

SENT = "HTTP2_SESSION_SEND_HEADERS"


def connections(netlog: Netlog) -> Iterator[Connection]:
    """Yields the TCP connections that the browser established, in order."""
    carried = Counter(_socket_of(netlog, entry.source) for entry in netlog.entries if entry.kind == SENT)
    received: Counter[int] = Counter()
    tls: dict[int, Mapping[str, Any]] = {}
    for entry in netlog.entries:
        if entry.kind == "SOCKET_BYTES_RECEIVED":
            received[entry.source] += entry.params["byte_count"]
        elif entry.kind == "SSL_CONNECT" and entry.phase == END:
            tls[entry.source] = entry.params
    for entry in netlog.entries:
        if entry.kind == "TCP_CONNECT" and entry.phase == END and "local_address" in entry.params:
            secured = tls.get(entry.source, {})
            yield Connection(
                local=entry.params["local_address"],
                remote=entry.params["remote_address"],
                tls=secured.get("version"),
                alpn=secured.get("next_proto"),
                requests=carried[entry.source],
                received_bytes=received[entry.source],
            )


def measured(netlog: Netlog, page: str | None) -> tuple[int | None, int | None]:
    """Returns the source numbers of the socket and the HTTP/2 session that carried the last request for the page.

    page: the path of the page. Both are None if the page was not requested over HTTP/2.
    """
    for entry in reversed(netlog.entries):
        if entry.kind == SENT and headers_of(entry)[":path"] == page:
            return _socket_of(netlog, entry.source), entry.source
    return None, None


def headers_of(entry: Entry) -> dict[str, str]:
    """Returns the header fields of a request or response, which the net log has as lines of text."""
    return dict(line.split(": ", 1) for line in entry.params["headers"] if ": " in line)


def _socket_of(netlog: Netlog, session: int) -> int | None:
    for entry in netlog.entries:
        if entry.kind == "HTTP2_SESSION_INITIALIZED" and entry.source == session:
            number: int = entry.params["source_dependency"]["id"]
            return number
    return None


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
    """A pass over a net log, which writes the account of a single connection."""

    def __init__(self, netlog: Netlog, secrets: Secrets, plan: Plan, made: Account, socket: int, session: int) -> None:
        self._netlog, self._secrets, self._made = netlog, secrets, made
        self._socket, self._session = socket, session
        self._statuses = {
            entry.params["stream_id"]: headers_of(entry).get(":status", "")
            for entry in netlog.entries
            if (entry.kind, entry.source) == ("HTTP2_SESSION_RECV_HEADERS", session)
        }
        self._writer = AccountWriter(plan, made, lambda seen: self._statuses.get(seen.frame.stream_id, ""))
        self._sent = FrameWalker(preface=True)

    def follow(self) -> None:
        """Adds the events of the connection to the account. Raises Unreadable if the connection cannot be decrypted."""
        server, client = self._directions()
        for entry in self._netlog.entries:
            if entry.source == self._socket:
                if entry.kind == "SOCKET_BYTES_RECEIVED":
                    for plain in server.feed(base64.b64decode(entry.params["bytes"]), entry.t_ns):
                        self._writer.arrived(plain)
                    self._made.arrivals.append((entry.t_ns, server.received_bytes))
                elif entry.kind == "SOCKET_BYTES_SENT":
                    for plain in client.feed(base64.b64decode(entry.params["bytes"]), entry.t_ns):
                        self._has_sent(plain.data, entry.t_ns)
                elif entry.phase == END:
                    self._connecting(entry)
            elif entry.source == self._session:
                self._in_session(entry)
            elif entry.kind == SENT and self._writer.is_page(headers_of(entry)[":path"]):
                self._writer.loaded_elsewhere()
        self._writer.conclude()

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
            self._writer.connected(entry.t_ns, host, int(port))
        elif entry.kind == "SSL_CONNECT":
            self._writer.secured(entry.t_ns)

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
                self._writer.said_later(said_now)
            case "HTTP2_SESSION_SEND_SETTINGS":
                self._made.settings += params["settings"]
            case "HTTP2_SESSION_UPDATE_RECV_WINDOW" if self._made.connection_window_bytes is None:
                self._made.connection_window_bytes = params["window_size"]

    def _asked(self, entry: Entry) -> None:
        headers, params = headers_of(entry), entry.params
        weighty = params["has_priority"]
        saying = Saying(
            t_ns=entry.t_ns,
            stream_id=params["stream_id"],
            weight=params["weight"] if weighty else None,
            depends_on=params["parent_stream_id"] if weighty else 0,
            exclusive=bool(weighty and params["exclusive"]),
            field=headers.get("priority"),
        )
        self._writer.requested(headers[":path"], saying)

    def _has_sent(self, data: bytes, t_ns: int) -> None:
        for seen in self._sent.feed(data):
            if not isinstance(seen, Ended):
                continue
            self._made.frames_sent[seen.frame.name] += 1
            if seen.frame.kind == FrameKind.PRIORITY_UPDATE:
                self._writer.updated(seen, t_ns)
