"""Sizes of packets, TLS records and packet buffers, in bytes. Packets count as Ethernet frames, as with tc."""

HEADERS_BYTES = 66
"""The headers of a packet: Ethernet 14, IPv4 20, TCP with timestamps 32."""

SEGMENT_BYTES = 1448
"""The bytes of the TCP stream in a full packet."""

PACKET_BYTES = SEGMENT_BYTES + HEADERS_BYTES
"""The size of a full packet."""

ACKNOWLEDGMENT_BYTES = 94
"""The longest packet without data: Ethernet, IPv4, and TCP with timestamps and three SACK blocks."""

INITIAL_WINDOW_SEGMENTS = 10
"""The initial congestion window (RFC 6928)."""

RECORD_BYTES = 16 * 1024
"""The most plaintext that a TLS record holds (RFC 8446, 5.1). A receiver can decrypt only whole records."""


PACKET_BUFFER_BYTES = 65536
"""The most bytes in a packet buffer of the kernel: a full GSO packet. TCP_NOTSENT_LOWAT does not lower this number."""


def framed(stream_bytes: float, segment_bytes: int = SEGMENT_BYTES) -> float:
    """Converts bytes of the TCP stream to bytes on the link, in packets that carry segment_bytes each."""
    return stream_bytes * (segment_bytes + HEADERS_BYTES) / segment_bytes


def unframed(frame_bytes: float, segment_bytes: int = SEGMENT_BYTES) -> float:
    """Converts bytes on the link to bytes of the TCP stream, in packets that carry segment_bytes each."""
    return frame_bytes * segment_bytes / (segment_bytes + HEADERS_BYTES)
