"""Finds the connections in a net log, and the connection that carried the measured load."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from priolab.client.browsers.connections import Connection
from priolab.client.chromium.netlog import END, Entry, Netlog

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
