"""Sizes on the wire, in bytes: of packets on an Ethernet link, as tc and the ferry count them, and of TLS records."""

HEADERS_BYTES = 66
"""Of a packet: Ethernet 14, IPv4 20, TCP with time stamps 32."""

SEGMENT_BYTES = 1448
"""Of the stream that a full packet carries."""

PACKET_BYTES = SEGMENT_BYTES + HEADERS_BYTES

RECORD_BYTES = 16 * 1024
"""The most that a TLS record holds (RFC 8446, 5.1): ciphertext becomes readable in such steps."""


PACKET_BUFFER_BYTES = 65536
"""What one of the kernel's packet buffers takes from a server, whatever TCP_NOTSENT_LOWAT is: a full GSO packet."""


def framed(stream_bytes: float, segment_bytes: int = SEGMENT_BYTES) -> float:
    """Converts bytes of the stream to bytes on the link, in full packets of such segments."""
    return stream_bytes * (segment_bytes + HEADERS_BYTES) / segment_bytes


def unframed(frame_bytes: float, segment_bytes: int = SEGMENT_BYTES) -> float:
    """Converts bytes on the link to bytes of the stream."""
    return frame_bytes * segment_bytes / (segment_bytes + HEADERS_BYTES)
