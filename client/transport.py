"""TLS over a TCP socket, with the time at which the kernel received each piece.

Rules:
1. Plaintext carries its TLS record: the receive time of the last packet that was needed to decrypt it, and where it
   ends in the TCP stream. A record cannot be read before its last byte is here; that is part of what is measured.
2. Times are CLOCK_MONOTONIC and never decrease; common/arrival.py says how the kernel's stamps become that.
3. A read carries the stamp of its last packet. Where that packet had waited for a missing one before it, the stamp is
   older than the moment the bytes became readable; so a stamp of more than a millisecond ago is not believed, and the
   time after the read is used, as it is where there is no stamp.
"""

import select
import socket
import ssl
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self, TypeVar

from client.records import Record, RecordSplitter
from common import arrival

_OLDEST_STAMP_NS = 10**6
_PATIENCE = 1 / 16  # how far a deadline may be overstepped, as a part of what it began with
_TIMEVAL = struct.Struct("@ll")
_Result = TypeVar("_Result")
_READ_BYTES = 256 * 1024
_PLAINTEXT_BYTES = 16 * 1024  # the most a TLS record holds (RFC 8446, 5.1)


class TransportFailed(Exception):
    """The connection could not be made, or broke; the text says how."""


class Deadline:
    """A point on the monotonic clock; `what` names the step that must be done by then."""

    def __init__(self, at_ns: int, what: str) -> None:
        self._at_ns = at_ns
        self._what = what

    def remaining_s(self) -> float:
        """Seconds left. Raises TransportFailed when there are none."""
        now_ns = time.monotonic_ns()
        self.check(now_ns)
        return (self._at_ns - now_ns) / 10**9

    def check(self, now_ns: int) -> None:
        """Raises TransportFailed if it has come. now_ns: on the monotonic clock."""
        if now_ns >= self._at_ns:
            raise TransportFailed(f"{self._what} took longer than its deadline")


def tls_context(ca_file: Path, key_log: Path) -> ssl.SSLContext:
    """Trusts that CA alone, and writes the session keys in SSLKEYLOGFILE format."""
    context = ssl.create_default_context(cafile=str(ca_file))
    context.keylog_filename = str(key_log)
    return context


class Transport:
    """One TLS connection, for the one protocol that it offers. Use as a context manager; every wait has a deadline."""

    def __init__(
        self,
        address: tuple[str, int],
        server_name: str,
        context: ssl.SSLContext,
        alpn: str,
        deadline: Deadline,
        source_port: int | None = None,
    ) -> None:
        own = None if source_port is None else ("", source_port)
        try:
            self._socket = socket.create_connection(address, timeout=deadline.remaining_s(), source_address=own)
        except OSError as error:
            raise TransportFailed(f"cannot connect to {address[0]}:{address[1]}: {error}") from error
        self.connected_ns = time.monotonic_ns()
        self._socket.settimeout(None)
        self._deadline: Deadline | None = None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        arrival.stamp_arrivals(self._socket)
        self._received_ns = self.connected_ns
        self.waited_ns: int | None = None
        """How long the last packet of the last read had been there; None without a stamp."""
        self._splitter = RecordSplitter()
        self._closed = False
        self.largest_record_bytes = 0
        """Plaintext of the largest record so far."""
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._alpn = alpn
        context.set_alpn_protocols([alpn])
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=server_name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    @property
    def local_address(self) -> tuple[str, int]:
        """Address and port of this end."""
        host, port = self._socket.getsockname()[:2]
        return host, port

    @property
    def receive_buffer_bytes(self) -> int:
        """SO_RCVBUF as it stands: half of what the kernel may advertise shapes the server's segments."""
        return int(self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF))

    def handshake(self, deadline: Deadline) -> int:
        """Complete the TLS handshake; the time it was done. Raises TransportFailed, also if ALPN chose otherwise."""
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._flush(deadline)
                records = self._read(deadline)
                if records is None:
                    raise TransportFailed("the front closed the connection during the TLS handshake") from None
                for record in records:
                    self._incoming.write(record.data)
            except ssl.SSLError as error:
                raise TransportFailed(f"TLS: {error}") from error
        self._flush(deadline)
        if self._tls.selected_alpn_protocol() != self._alpn:
            raise TransportFailed(f"the front chose {self._tls.selected_alpn_protocol()!r} by ALPN, not {self._alpn}")
        return time.monotonic_ns()

    def send(self, plaintext: bytes, deadline: Deadline) -> None:
        """Encrypt and hand to the kernel."""
        if plaintext:
            self._tls.write(plaintext)
            self._flush(deadline)

    @property
    def received(self) -> tuple[int, int]:
        """(time of the last arrival, bytes of the TCP stream that have arrived up to then)."""
        return self._received_ns, self._splitter.received_bytes

    def wait(self, quiet_ns: int, deadline: Deadline) -> bool:
        """Wait for bytes, so long at most; whether there are any. Raises TransportFailed when the deadline has come."""
        wait_s = min(quiet_ns / 10**9, deadline.remaining_s())
        return bool(select.select([self._socket], [], [], wait_s)[0])

    def receive(self, deadline: Deadline) -> Iterator[tuple[bytes, Record]]:
        """Wait for bytes; the plaintext they complete, with its record. Raises TransportFailed at the end of file."""
        records = self._read(deadline)
        if records is None:
            where = " in the middle of a TLS record" if self._splitter.has_begun else ""
            raise TransportFailed(f"the front closed the connection{where}")
        for record in records:
            self._incoming.write(record.data)
            while plaintext := self._decrypt():
                yield plaintext, record
        if self._closed:
            raise TransportFailed("the front closed the connection")

    def _decrypt(self) -> bytes:
        """Plaintext that can be had, none if there is no more. Raises TransportFailed."""
        try:
            plaintext = self._tls.read(_PLAINTEXT_BYTES)
        except ssl.SSLWantReadError:
            return b""
        except ssl.SSLError as error:
            raise TransportFailed(f"TLS: {error}") from error
        self._closed = self._closed or not plaintext
        self.largest_record_bytes = max(self.largest_record_bytes, len(plaintext))  # a read never joins two
        return plaintext

    def _read(self, deadline: Deadline) -> list[Record] | None:
        """One read; the records it completes, or None at the end of file."""
        data, ancillary, _, _ = self._patiently(
            lambda: self._socket.recvmsg(_READ_BYTES, arrival.ANCILLARY_BYTES), deadline
        )
        if not data:
            return None
        arrived_ns, self.waited_ns = arrival.arrival_and_age_ns(ancillary, _OLDEST_STAMP_NS)
        self._received_ns = max(self._received_ns, arrived_ns)
        deadline.check(self._received_ns)
        return list(self._splitter.feed(data, self._received_ns))

    def _flush(self, deadline: Deadline) -> None:
        pending = memoryview(self._outgoing.read())
        while pending:
            rest = pending
            pending = pending[self._patiently(lambda: self._socket.send(rest), deadline) :]  # noqa: B023

    def _patiently(self, act: Callable[[], _Result], deadline: Deadline) -> _Result:
        """What a blocking call gives. Raises TransportFailed when it breaks, or when the deadline has come."""
        if deadline is not self._deadline:
            self._deadline = deadline
            self._wake_up_every(deadline.remaining_s() * _PATIENCE)
        while True:
            try:
                return act()
            except BlockingIOError:
                deadline.remaining_s()
            except OSError as error:
                raise TransportFailed(f"the connection broke: {error}") from error

    def _wake_up_every(self, seconds: float) -> None:
        """The kernel itself waits, and gives up so often: that saves asking it to wait before every read."""
        patience = _TIMEVAL.pack(int(seconds), max(1, int(seconds % 1 * 10**6)))
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            self._socket.setsockopt(socket.SOL_SOCKET, option, patience)
