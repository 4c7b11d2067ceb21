"""TLS over a TCP socket, or the socket alone, with the time at which the kernel received each piece.

Rules:
1. Plaintext comes with its TLS record, which has the arrival time of its last byte and its position in the TCP stream.
   A record cannot be decrypted before its last byte has arrived; the measurement includes this delay.
2. Times are CLOCK_MONOTONIC and never decrease; common/arrival.py converts the kernel's stamps.
3. A read returns the stamp of the last packet read. If an earlier packet was lost, the last packet became readable only
   when the lost packet was sent again, long after the stamp. So a stamp that is missing or more than a millisecond old
   is replaced by the time of the read.
4. Nothing can be done with a part of a record. So a read may wait for all packets that cannot complete the record that
   has begun (client/packets.py). Each of them has its own stamp, and of a packet that became readable late, the stamp
   of the packet before it applies.
"""

import select
import socket
import ssl
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Self, TypeVar

from priolab.client.packets import Packets
from priolab.client.records import Record, RecordSplitter
from priolab.common import arrival
from priolab.common.packets import SEGMENT_BYTES
from priolab.common.tls import trusting, wrong_alpn

OVERDUE = "took longer than its deadline"
"""The words of a failure at the deadline."""

_OLDEST_STAMP_NS = 10**6
_PATIENCE = 1 / 16  # the socket's timeout as a fraction of the time left; a deadline is exceeded by at most this
_TIMEVAL = struct.Struct("@ll")
_Result = TypeVar("_Result")
_READ_BYTES = 256 * 1024
_PLAINTEXT_BYTES = 16 * 1024  # the most a TLS record holds (RFC 8446, 5.1)


class TransportFailed(Exception):
    """Connecting failed, or the connection broke; the text gives the reason."""


class Deadline:
    """A deadline. at_ns: CLOCK_MONOTONIC. what: the name of the step that must end before the deadline."""

    def __init__(self, at_ns: int, what: str) -> None:
        self._at_ns = at_ns
        self._what = what

    def remaining_s(self) -> float:
        """Returns the seconds that are left. Raises TransportFailed if the deadline has passed."""
        now_ns = time.monotonic_ns()
        self.check(now_ns)
        return (self._at_ns - now_ns) / 10**9

    def check(self, now_ns: int) -> None:
        """Raises TransportFailed if the deadline has passed. now_ns: CLOCK_MONOTONIC."""
        if now_ns >= self._at_ns:
            raise TransportFailed(f"{self._what} {OVERDUE}")


def tls_context(ca_file: Path, key_log: Path | None) -> ssl.SSLContext:
    """Returns a TLS context that trusts only this CA, and writes session keys to key_log in SSLKEYLOGFILE format.

    key_log: None to write no keys.
    """
    context = trusting(ca_file)
    if key_log is not None:
        context.keylog_filename = str(key_log)
    return context


class Transport:
    """A TLS connection that offers a single protocol by ALPN; a context manager. Every wait has a deadline.

    context: None for a connection without TLS, whose bytes are passed on as they are.
    """

    def __init__(
        self,
        address: tuple[str, int],
        server_name: str,
        context: ssl.SSLContext | None,
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
        self._packets = Packets(self._socket)
        self.arrivals: Sequence[tuple[int, int]] = ()
        """The arrivals of the last read: each time, and the bytes of the TCP stream that had arrived by that time."""
        self.waited_ns: int | None = None
        """The time for which the last packet of the last read had waited in the kernel; None without a stamp."""
        self._splitter = RecordSplitter(tls=context is not None)
        # A buffer of this size made for each read would cost the kernel more than the read.
        self._buffer = memoryview(bytearray(_READ_BYTES))
        self._closed = False
        self.largest_record_bytes = 0
        """The plaintext size of the largest record so far."""
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._alpn = alpn
        self._tls: ssl.SSLObject | None = None
        if context is not None:
            context.set_alpn_protocols([alpn])
            self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=server_name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    @property
    def local_address(self) -> tuple[str, int]:
        """The client's address and port."""
        host, port = self._socket.getsockname()[:2]
        return host, port

    @property
    def receive_buffer_bytes(self) -> int:
        """The present SO_RCVBUF, which bounds the advertised window.

        The server's segments are at most half of the advertised window.
        """
        return int(self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF))

    def handshake(self, deadline: Deadline) -> int:
        """Completes the TLS handshake, if there is TLS; returns the time at its end.

        Raises TransportFailed, also if the front chose another protocol by ALPN.
        """
        while self._tls is not None:
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
        if self._tls is not None and self._tls.selected_alpn_protocol() != self._alpn:
            raise TransportFailed(wrong_alpn(self._tls.selected_alpn_protocol(), self._alpn))
        return time.monotonic_ns()

    def send(self, plaintext: bytes, deadline: Deadline) -> None:
        """Encrypts the plaintext, if there is TLS, and hands it to the kernel. Raises TransportFailed."""
        if plaintext:
            (self._outgoing if self._tls is None else self._tls).write(plaintext)
            self._flush(deadline)

    def wait(self, quiet_ns: int, deadline: Deadline) -> bool:
        """Waits for bytes, at most quiet_ns; returns False if none arrived.

        Raises TransportFailed if the deadline has passed.
        """
        wait_s = min(quiet_ns / 10**9, deadline.remaining_s())
        return bool(select.select([self._socket], [], [], wait_s)[0])

    def receive(self, deadline: Deadline, *, packets_at_once: bool = False) -> Iterator[tuple[bytes, Record]]:
        """Waits for bytes; yields the plaintext of each record that they complete, with the record.

        packets_at_once: True if the read may wait for several packets that cannot complete a record. Raises
        TransportFailed, also at the end of the stream.
        """
        packets = (self._splitter.missing_bytes - 1) // SEGMENT_BYTES if packets_at_once else 0
        if packets > 1 and self._read_packets(packets, deadline):
            return
        records = self._read(deadline)
        if records is None:
            where = " in the middle of a TLS record" if self._splitter.has_begun else ""
            raise TransportFailed(f"the front closed the connection{where}")
        for record in records:
            if self._tls is None:
                yield record.data, record
                continue
            self._incoming.write(record.data)
            while plaintext := self._decrypt(self._tls):
                yield plaintext, record
        if self._closed:
            raise TransportFailed("the front closed the connection")

    def _decrypt(self, tls: ssl.SSLObject) -> bytes:
        """Returns the next plaintext; empty if no complete record is left. Raises TransportFailed."""
        try:
            plaintext = tls.read(_PLAINTEXT_BYTES)
        except ssl.SSLWantReadError:
            return b""
        except ssl.SSLError as error:
            raise TransportFailed(f"TLS: {error}") from error
        self._closed = self._closed or not plaintext
        self.largest_record_bytes = max(self.largest_record_bytes, len(plaintext))  # a read never joins records
        return plaintext

    def _read(self, deadline: Deadline) -> list[Record] | None:
        """Reads once; returns the records that are now complete, None at the end of the stream.

        Raises TransportFailed.
        """
        size_bytes, ancillary, _, _ = self._patiently(
            lambda: self._socket.recvmsg_into([self._buffer], arrival.ANCILLARY_BYTES), deadline
        )
        if not size_bytes:
            return None
        arrived_ns, self.waited_ns = arrival.arrival_and_age_ns(ancillary, _OLDEST_STAMP_NS)
        self._received_ns = max(self._received_ns, arrived_ns)
        deadline.check(self._received_ns)
        records = list(self._splitter.feed(self._buffer[:size_bytes], self._received_ns))
        self.arrivals = ((self._received_ns, self._splitter.received_bytes),)
        return records

    def _read_packets(self, packets: int, deadline: Deadline) -> bool:
        """Reads packets that cannot complete a record; returns False at the end of the stream.

        Raises TransportFailed.
        """
        found = self._patiently(lambda: self._packets.read(packets), deadline)
        ahead_ns = time.time_ns() - time.monotonic_ns()
        arrivals = []
        for data, stamp_ns in found:
            self._received_ns = max(self._received_ns, stamp_ns - ahead_ns)
            for _ in self._splitter.feed(data, self._received_ns):
                raise AssertionError("so few packets cannot complete a record")
            arrivals.append((self._received_ns, self._splitter.received_bytes))
        self.arrivals, self.waited_ns = arrivals, None
        deadline.check(self._received_ns)
        return bool(found)

    def _flush(self, deadline: Deadline) -> None:
        pending = memoryview(self._outgoing.read())
        while pending:
            rest = pending
            pending = pending[self._patiently(lambda: self._socket.send(rest), deadline) :]  # noqa: B023

    def _patiently(self, act: Callable[[], _Result], deadline: Deadline) -> _Result:
        """Returns the result of `act`, a blocking call of the socket.

        Raises TransportFailed if the connection breaks or the deadline has passed.
        """
        if deadline is not self._deadline:
            self._deadline = deadline
            self._wake_up_every(deadline.remaining_s() * _PATIENCE)
        while True:
            try:
                return act()
            except (BlockingIOError, InterruptedError):  # recvmmsg(2) is not called again after a signal
                deadline.remaining_s()
            except OSError as error:
                raise TransportFailed(f"the connection broke: {error}") from error

    def _wake_up_every(self, seconds: float) -> None:
        """Sets the socket's timeouts: a blocking call returns after `seconds`. This saves a select(2) for each read."""
        patience = _TIMEVAL.pack(int(seconds), max(1, int(seconds % 1 * 10**6)))
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            self._socket.setsockopt(socket.SOL_SOCKET, option, patience)
