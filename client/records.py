"""TLS records as their bytes arrive: where each ends in the TCP stream, and when its first and its last byte came.

A record can be read only when it is complete; between its first packet and that moment the bytes are here and of no
use. And its end is a position that the sender's kernel counts, too: so the two ends can be laid over one another.

Rules:
1. Bytes may be cut anywhere. A record is handed out when it is complete, unchanged, header included.
2. Only the framing of RFC 8446, 5.1 is understood. What cannot be a record is handed out as it came: TLS judges it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

_HEADER_BYTES = 5
_MOST_BYTES = 2**14 + 2048  # of a protected record of TLS 1.2, the larger (RFC 5246, 6.2.3)


@dataclass(frozen=True, kw_only=True)
class Record:
    """One complete record.

    end_bytes: bytes of the TCP stream up to its end, counted from the first after the handshake of TCP.
    started_ns, received_ns: when its first and its last byte arrived.
    """

    data: bytes
    end_bytes: int
    started_ns: int
    received_ns: int


class RecordSplitter:
    """Feed it the bytes of one direction in order."""

    def __init__(self) -> None:
        self._begun = bytearray()
        self._started_ns = 0
        self._end_bytes = 0
        self._is_tls = True

    @property
    def received_bytes(self) -> int:
        """Bytes fed so far."""
        return self._end_bytes + len(self._begun)

    @property
    def has_begun(self) -> bool:
        """Whether the last record is not complete."""
        return bool(self._begun)

    def feed(self, data: bytes, now_ns: int) -> Iterator[Record]:
        """The records that these bytes complete."""
        if not self._begun:
            self._started_ns = now_ns
        self._begun += data
        while size := self._complete():
            record = bytes(self._begun[:size])
            del self._begun[:size]
            self._end_bytes += size
            yield Record(data=record, end_bytes=self._end_bytes, started_ns=self._started_ns, received_ns=now_ns)
            self._started_ns = now_ns

    def _complete(self) -> int:
        """Size of the first record if it is complete, else 0."""
        if not self._is_tls:
            return len(self._begun)
        if len(self._begun) < _HEADER_BYTES:
            return 0
        length = int.from_bytes(self._begun[3:_HEADER_BYTES])
        if length > _MOST_BYTES:
            self._is_tls = False
            return len(self._begun)
        size = _HEADER_BYTES + length
        return size if len(self._begun) >= size else 0
