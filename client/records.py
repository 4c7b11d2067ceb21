"""Splits a TCP stream into TLS records, each with its position in the stream and the times of its first and last byte.

A record can be decrypted only when it is complete; until then its bytes have arrived but are of no use. The sender's
kernel counts the bytes of the same stream, so a record's position can be compared with the sender's counts.

Rules:
1. Bytes may be cut anywhere. A record is returned when it is complete, unchanged, header included.
2. The splitter knows only the framing of RFC 8446, 5.1. Bytes that cannot be a record are returned unchanged, and the
   TLS library rejects them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

_HEADER_BYTES = 5
_MOST_BYTES = 2**14 + 2048  # the largest protected record of TLS 1.2 (RFC 5246, 6.2.3), larger than that of TLS 1.3


@dataclass(frozen=True, kw_only=True)
class Record:
    """A complete TLS record.

    end_bytes: bytes of the TCP stream up to the end of the record, counted from the first byte after TCP's handshake.
    started_ns, received_ns: the arrival times of the record's first and last byte.
    """

    data: bytes
    end_bytes: int
    started_ns: int
    received_ns: int


class RecordSplitter:
    """Splits the bytes of one direction, fed in order, into records.

    tls: False for a stream without TLS, in which whatever is fed at once is a record.
    """

    def __init__(self, *, tls: bool = True) -> None:
        self._begun = bytearray()
        self._started_ns = 0
        self._end_bytes = 0
        self._size = _HEADER_BYTES if tls else 1
        """The bytes to wait for: a record's header, or the whole record once its header is there."""
        self._is_tls = tls

    @property
    def received_bytes(self) -> int:
        """Bytes fed so far."""
        return self._end_bytes + len(self._begun)

    @property
    def has_begun(self) -> bool:
        """True if a record has begun and is not complete."""
        return bool(self._begun)

    @property
    def missing_bytes(self) -> int:
        """Bytes that the record that has begun lacks; 0 if none has begun, or its header is not complete."""
        return self._size - len(self._begun) if len(self._begun) >= _HEADER_BYTES else 0

    def feed(self, data: bytes | memoryview, now_ns: int) -> Iterator[Record]:
        """Yields the records that these bytes complete. now_ns: the bytes' arrival time."""
        if not self._begun:
            self._started_ns = now_ns
        self._begun += data
        while len(self._begun) >= self._size and (size := self._complete()):
            record = bytes(self._begun[:size])
            del self._begun[:size]
            self._size = _HEADER_BYTES if self._is_tls else 1
            self._end_bytes += size
            yield Record(data=record, end_bytes=self._end_bytes, started_ns=self._started_ns, received_ns=now_ns)
            self._started_ns = now_ns

    def _complete(self) -> int:
        """Returns the size of the first buffered record if it is complete, else 0."""
        if not self._is_tls:
            return len(self._begun)
        length = int.from_bytes(self._begun[3:_HEADER_BYTES])
        if length > _MOST_BYTES:
            self._is_tls = False
            return len(self._begun)
        self._size = _HEADER_BYTES + length
        return self._size if len(self._begun) >= self._size else 0
