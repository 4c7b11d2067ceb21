"""Parts of DATA frames as they arrive, for every protocol."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class DataHeader:
    """The header of a DATA frame. length_bytes: the value of the frame's length field, which includes padding."""

    stream_id: int
    length_bytes: int


@dataclass(frozen=True, kw_only=True)
class DataPiece:
    """Payload bytes of a DATA frame that arrived together."""

    stream_id: int
    size_bytes: int
