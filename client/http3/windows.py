"""A QUIC connection whose windows grow only when the client enlarges them, as a probe needs it
(client/flow_control_probe.py).

Rules:
1. aioquic by itself doubles a window of which more than half is used. To hold a window back, this class hides from
   aioquic how much of it is used, while aioquic writes the frames that enlarge windows.
2. The client's own requests use the windows held back. The front's own streams, which carry settings and compressed
   headers, have windows as aioquic enlarges them; their bytes count for the connection's window as well.
"""

from aioquic.quic.connection import QuicConnection
from aioquic.quic.packet_builder import QuicPacketBuilder
from aioquic.quic.recovery import QuicPacketSpace
from aioquic.quic.stream import QuicStream

INITIAL_BYTES = 65_535
"""The connection's initial window: that of HTTP/2, where it cannot be smaller."""

_KINDS = 4
"""The number of kinds of streams: a stream's number modulo 4 is its kind, and 0 is a request's (RFC 9000, 2.1)."""


class HeldConnection(QuicConnection):
    """A client's QUIC connection. Its window and those of requests grow only by `enlarge`."""

    @property
    def left_bytes(self) -> int:
        """The bytes that the connection's window still permits."""
        return self._local_max_data.value - self._local_max_data.used

    def enlarge(self, stream_id: int | None, size_bytes: int) -> None:
        """Enlarges the window of an open request or, with None, the connection's.

        The next datagrams to send tell the front.
        """
        if stream_id is None:
            self._local_max_data.value += size_bytes
        else:
            self._streams[stream_id].max_stream_data_local += size_bytes

    def _write_connection_limits(self, builder: QuicPacketBuilder, space: QuicPacketSpace) -> None:
        window = self._local_max_data
        used_bytes, window.used = window.used, 0
        try:
            super()._write_connection_limits(builder, space)
        finally:
            window.used = used_bytes

    def _write_stream_limits(self, builder: QuicPacketBuilder, space: QuicPacketSpace, stream: QuicStream) -> None:
        receiver, request = stream.receiver, stream.stream_id is not None and stream.stream_id % _KINDS == 0
        used_bytes = receiver.highest_offset
        if request:
            receiver.highest_offset = 0
        try:
            super()._write_stream_limits(builder, space, stream)
        finally:
            receiver.highest_offset = used_bytes
