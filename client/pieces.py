"""What an engine sees of DATA frames while they arrive, whatever the protocol."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class DataHeader:
    """A DATA frame begins; length_bytes is its length field, padding included."""

    stream_id: int
    length_bytes: int


@dataclass(frozen=True, kw_only=True)
class DataPiece:
    """Payload bytes of a DATA frame that arrived together."""

    stream_id: int
    size_bytes: int
