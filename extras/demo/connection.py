"""A connection to the demo, closed if a request takes too long to arrive: uvicorn has no time-out for this case.

Rules:
1. A client has ten seconds to send a request, header and body; then its connection is closed. uvicorn closes an idle
   connection after five seconds.
2. The number of connections is bounded. A new connection replaces the connection that has waited longest for a request.
   If all other connections are being answered, the new connection is closed.
3. A client that reads an answer slowly, or not at all, occupies its own connection only.
"""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 100
"""The most connections at a time. A browser opens six to a server; a process may often open only 1024 files."""
_REQUEST_S = 10.0


class TimedConnection(H11Protocol):
    """A client's connection.

    request_began_s: the time at which the connection began to wait for the latest request, on the event loop's clock.
    """

    request_began_s = 0.0
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Starts timing: the client may send its first request."""
        super().connection_made(transport)
        self._time_request()
        if len(self.connections) > MOST:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """Receives a part of a request, or several requests."""
        super().data_received(data)
        self._time_request()

    def on_response_complete(self) -> None:
        """Starts timing: the client may send the next request."""
        super().on_response_complete()
        self._time_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops timing: the connection has ended."""
        self._stop_timing()
        super().connection_lost(exc)

    @property
    def is_awaited(self) -> bool:
        """True if the client still has to send a request, or the rest of a request."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    def _time_request(self) -> None:
        if not self.is_awaited or self.transport.is_closing():
            self._stop_timing()
        elif self._deadline is None:
            self.request_began_s = self.loop.time()
            self._deadline = self.loop.call_later(_REQUEST_S, self.transport.close)

    def _stop_timing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _make_room(self) -> None:
        others = [each for each in self.connections if isinstance(each, TimedConnection) and each is not self]
        awaited = [each for each in others if each.is_awaited]
        first = min(awaited, key=lambda each: each.request_began_s, default=self)
        self.connections.discard(first)  # so that it is not chosen again before it is closed
        first.transport.abort()
