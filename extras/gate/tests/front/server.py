"""`python -m priolab.extras.gate.tests.front.server CONFIG`: a TLS front for HTTP/2, for tests of the gate.

CONFIG: front.json, with its placeholders filled in. The variable FRONT_FAULT has a fault instead of that of the file.

Rules:
1. One thread does everything. It waits with epoll, which reports a socket as writable only if the kernel wants more
   (TCP_NOTSENT_LOWAT).
2. The scheduler chooses a frame when the socket is writable and nothing that was chosen before is left. The fault
   `buffers` chooses frames until 512 KiB are left, `buffers-little` until 128 KiB are.
3. A response is read from the origin as soon as it comes, and held.
4. A field that breaks the front does so when its stream is chosen, as if it were read then.
"""

import contextlib
import json
import os
import selectors
import signal
import socket
import ssl
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h11
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import RequestReceived, StreamReset, UnknownFrameReceived, WindowUpdated
from h2.exceptions import ProtocolError

from priolab.extras.gate.tests.front.scheduler import Fault, Priority, Scheduler

_PRIORITY_UPDATE = 0x10  # RFC 9218, 7.1
_FRAME_BYTES = 8192
_READ_BYTES = 65_536
_AHEAD_BYTES = {Fault.BUFFERS: 2**19, Fault.BUFFERS_LITTLE: 2**17}
_LISTENERS = 128
_PASSED_ON = (b"content-type", b"content-length", b"priority")
_LAST_FRAME = 20


class Response:
    """A response on its way from the origin to a stream."""

    def __init__(self, loop: selectors.BaseSelector, origin: tuple[str, int], path: str, name: str) -> None:
        self.data = bytearray()
        self.ended = False
        self.headers: list[tuple[str, str]] = []
        self.has_headers = False
        self.wanted: Callable[[], None] = lambda: None
        self._loop = loop
        self._http = h11.Connection(h11.CLIENT)
        self._socket = socket.create_connection(origin)
        request = h11.Request(method="GET", target=path, headers=[("host", name), ("connection", "close")])
        self._socket.sendall((self._http.send(request) or b"") + (self._http.send(h11.EndOfMessage()) or b""))
        self._socket.settimeout(0)
        loop.register(self._socket, selectors.EVENT_READ, self._read)

    def _read(self, _: int) -> None:
        if self._socket.fileno() < 0:  # closed with its client's connection, in the same turn
            return
        with contextlib.suppress(BlockingIOError):
            self._http.receive_data(self._socket.recv(_READ_BYTES))
        while (event := self._http.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
            if isinstance(event, h11.Response):
                kept = [(k.decode(), v.decode()) for k, v in event.headers if k in _PASSED_ON]
                self.headers = [(":status", str(event.status_code)), *kept]
            elif isinstance(event, h11.Data):
                self.data += event.data
            elif isinstance(event, h11.EndOfMessage | h11.ConnectionClosed):
                self.ended = True
                self.close()
                break
        self.wanted()

    def close(self) -> None:
        """Closes the connection to the origin."""
        if self._socket.fileno() >= 0:
            self._loop.unregister(self._socket)
            self._socket.close()


class Connection:
    """A client's connection."""

    def __init__(self, front: "Front", plain: socket.socket) -> None:
        self._front, self._socket = front, plain
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls: ssl.SSLObject | None = None
        if front.context is not None:
            self._tls = front.context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._http = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        self._scheduler = Scheduler(front.fault, front.shared)
        self._responses: dict[int, Response] = {}
        self._left = bytearray()
        self._malformed = set[int]()
        self._secured = False
        self._frames = 0
        plain.settimeout(0)
        front.loop.register(plain, selectors.EVENT_READ, self._ready)

    def _ready(self, mask: int) -> None:
        try:
            if mask & selectors.EVENT_READ:
                self._read()
            self._write(writable=bool(mask & selectors.EVENT_WRITE))
        except (OSError, ProtocolError, ValueError):  # ssl.SSLError is an OSError
            self._close()

    def _close(self) -> None:
        if self._socket.fileno() >= 0:
            self._front.loop.unregister(self._socket)
            self._socket.close()
        for response in self._responses.values():
            response.close()
        self._responses.clear()

    def _read(self) -> None:
        data = self._socket.recv(_READ_BYTES)
        if not data:
            raise ConnectionResetError
        if not self._secured:
            self._http.initiate_connection()
        if self._tls is None:
            self._secured = True
            self._receive(data)
            return
        self._incoming.write(data)
        try:
            if not self._secured:
                self._tls.do_handshake()
                self._secured = True
            while plaintext := self._tls.read(_READ_BYTES):
                self._receive(plaintext)
        except ssl.SSLWantReadError:
            pass

    def _receive(self, plaintext: bytes) -> None:
        for event in self._http.receive_data(plaintext):
            match event:
                case RequestReceived(stream_id=int(stream_id), headers=list(headers)):
                    named = {str(name): str(value) for name, value in headers}
                    lines = [str(value) for name, value in headers if str(name) == "priority"]
                    lines = lines[:1] if self._front.fault is Fault.ONE_LINE else lines
                    try:
                        self._scheduler.opened(stream_id, ", ".join(lines) if lines else None)
                    except ValueError:
                        self._scheduler.opened(stream_id, None)
                        self._malformed.add(stream_id)
                    path, host = named[":path"], named.get(":authority", "front")
                    response = Response(self._front.loop, self._front.origin, path, host)
                    response.wanted = lambda: self._ready(0)
                    self._responses[stream_id] = response
                case WindowUpdated(stream_id=int(stream_id)) if stream_id in self._responses:
                    self._scheduler.window_opened(stream_id)
                case StreamReset(stream_id=int(stream_id)):
                    self._scheduler.was_reset(stream_id)
                    if stream_id in self._responses:
                        self._responses.pop(stream_id).close()
                case UnknownFrameReceived(frame=frame) if getattr(frame, "type", 0) == _PRIORITY_UPDATE:
                    body: bytes = getattr(frame, "body", b"")
                    self._scheduler.updated(int.from_bytes(body[:4]) & 0x7FFF_FFFF, body[4:].decode())

    def _write(self, *, writable: bool) -> None:
        """Sends what is left, and chooses frames as rule 2 says."""
        if self._secured:
            self._begin_responses()
        self._encrypt()
        if (ahead_bytes := _AHEAD_BYTES.get(self._front.fault)) is not None:
            while self._secured and len(self._left) < ahead_bytes and self._choose():
                self._encrypt()
        elif self._secured and writable and not self._left and self._choose():
            self._encrypt()
        if self._left:
            self._send()
        held = any(each.headers and not each.has_headers for each in self._responses.values())
        waits = bool(self._left) or held or self._next() is not None
        mask = selectors.EVENT_READ | (selectors.EVENT_WRITE if waits else 0)
        if self._socket.fileno() >= 0:
            self._front.loop.modify(self._socket, mask, self._ready)

    def _send(self) -> None:
        with contextlib.suppress(BlockingIOError):
            del self._left[: self._socket.send(self._left)]

    def _encrypt(self) -> None:
        if self._secured and (plaintext := self._http.data_to_send()):
            (self._tls or self._outgoing).write(plaintext)
        self._left += self._outgoing.read()

    def _begin_responses(self) -> None:
        for stream_id, response in self._responses.items():
            waits = self._front.fault is Fault.HEADERS_LAST and self._next() is not None
            if response.headers and not response.has_headers and not waits:
                response.has_headers = True
                self._http.send_headers(stream_id, response.headers)
                if length := dict(response.headers).get("content-length"):
                    self._scheduler.sizes[stream_id] = int(length)
                if priority := dict(response.headers).get("priority"):
                    self._scheduler.answered(stream_id, priority)

    def _room(self, stream_id: int) -> int:
        """Returns how many bytes of a stream can be sent now; an end without data counts as one."""
        response = self._responses[stream_id]
        if not response.has_headers:
            return 0
        if not response.data:
            return int(response.ended)
        return min(len(response.data), _FRAME_BYTES, self._http.local_flow_control_window(stream_id))

    def _next(self) -> int | None:
        return self._scheduler.next([each for each in self._responses if self._room(each) > 0], self._blocked)

    @property
    def _blocked(self) -> list[int]:
        return [each for each, response in self._responses.items() if response.data and self._is_closed(each)]

    def _is_closed(self, stream_id: int) -> bool:
        window = self._http.streams[stream_id].outbound_flow_control_window
        return bool(window <= 0)

    def _choose(self) -> bool:
        """Hands the next frame to TLS; returns False if there is none."""
        stream_id = self._next()
        if stream_id is None:
            return False
        if stream_id in self._malformed:
            raise ValueError(stream_id)
        self._scheduler.served(stream_id, self._blocked)
        response = self._responses[stream_id]
        piece = bytes(response.data[: self._room(stream_id)])
        del response.data[: len(piece)]
        is_last = response.ended and not response.data
        if self._front.fault is Fault.ENDS_LATE and is_last and piece:
            is_last = False
            self._scheduler.ending.add(stream_id)
        self._http.send_data(stream_id, piece, end_stream=is_last)
        self._frames += 1
        if self._front.fault is Fault.DIES and self._frames == _LAST_FRAME:
            print("front: error: this front dies on purpose", file=sys.stderr, flush=True)
            os._exit(3)
        if is_last:
            del self._responses[stream_id]
            self._scheduler.closed(stream_id)
        return True


class Front:
    """The front: its listener, and the loop of all its sockets."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.fault = Fault(os.environ.get("FRONT_FAULT", config["fault"]))
        self.shared: dict[int, Priority] = {}
        host, _, port = config["origin"].rpartition(":")
        self.origin = (host, int(port))
        self.loop = selectors.DefaultSelector()
        self.context: ssl.SSLContext | None = None
        if config["tls"]:
            self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            self.context.load_cert_chain(config["certificate"], config["key"])
            self.context.set_alpn_protocols(["h2"])
        self._listener = socket.create_server((config["address"], config["port"]), backlog=_LISTENERS)
        self._listener.settimeout(0)
        self.loop.register(self._listener, selectors.EVENT_READ, self._accept)

    def _accept(self, _: int) -> None:
        plain, _ = self._listener.accept()
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        Connection(self, plain)

    def serve(self) -> None:
        """Serves until a signal ends the process."""
        while True:
            for key, mask in self.loop.select():
                if key.fileobj in self.loop.get_map():  # it may have been closed in this round
                    key.data(mask)


if __name__ == "__main__":
    for stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop, lambda *_: sys.exit(0))
    Front(json.loads(Path(sys.argv[1]).read_text())).serve()
