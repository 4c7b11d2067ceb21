"""Joins the captures of the two hosts into one pcapng file, whose interfaces are named `client` and `server`.

Rules:
1. Packets are in the order of their times. Times are CLOCK_REALTIME of the hosts, in nanoseconds.
2. The file has nothing else, so equal packets at equal times give equal files.
"""

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

_BYTE_ORDER = 0x1A2B_3C4D
_SECTION, _INTERFACE, _PACKET = 0x0A0D_0D0A, 1, 6  # draft-ietf-opsawg-pcapng, 4.1 to 4.3
_ETHERNET = 1
_NAME, _RESOLUTION, _END = 2, 9, b"\0\0\0\0"
_FILE = struct.Struct("=IHHiIII")  # of pcap: magic number, version, zone, accuracy, longest packet, kind
_RECORD = struct.Struct("=IIII")  # of pcap: seconds, nanoseconds, kept length, length
HEAD = _FILE.pack(0xA1B2_3C4D, 2, 4, 0, 0, 2**18, _ETHERNET)
"""The beginning of a pcap file with times in nanoseconds."""
_NS = 10**9


def joined(captures: Sequence[tuple[str, Path]]) -> bytes:
    """Returns the packets of pcap files with times in nanoseconds as a pcapng file. Raises OSError.

    captures: the name and the file of each interface.
    """
    packets = sorted(
        (at_ns, number, length, data)
        for number, (_, path) in enumerate(captures)
        for at_ns, length, data in records(path.read_bytes())
    )
    blocks = [_block(_SECTION, struct.pack("=IHHq", _BYTE_ORDER, 1, 0, -1))]
    for name, _ in captures:
        options = _option(_NAME, name.encode()) + _option(_RESOLUTION, b"\x09") + _END
        blocks.append(_block(_INTERFACE, struct.pack("=HHI", _ETHERNET, 0, 0) + options))
    for at_ns, number, length, data in packets:
        head = struct.pack("=IIIII", number, at_ns >> 32, at_ns & 0xFFFF_FFFF, len(data), length)
        blocks.append(_block(_PACKET, head + _padded(data)))
    return b"".join(blocks)


def record(seconds: int, nanoseconds: int, length: int, kept: bytes) -> bytes:
    """Returns a packet of a pcap file. kept: all of it, or its beginning."""
    return _RECORD.pack(seconds, nanoseconds, len(kept), length) + kept


def records(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yields the time, the length and the kept bytes of each packet of a pcap file with times in nanoseconds."""
    at = _FILE.size
    while at + _RECORD.size <= len(data):
        seconds, nanoseconds, kept, length = _RECORD.unpack_from(data, at)
        at += _RECORD.size
        yield seconds * _NS + nanoseconds, length, data[at : at + kept]
        at += kept


def _block(kind: int, body: bytes) -> bytes:
    length = struct.pack("=I", len(body) + 12)
    return struct.pack("=I", kind) + length + body + length


def _option(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", kind, len(value)) + _padded(value)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
