"""Reads captures: the headers of Ethernet, IPv4, IPv6, TCP and UDP (RFC 791, 8200, 9293, 768). Pure."""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from priolab.testbed.sandbox.pcapng import records

TCP, UDP, ICMP, ICMPV6 = 6, 17, 1, 58
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
FLAGS = ((SYN, "SYN"), (FIN, "FIN"), (RST, "RST"), (PSH, "PSH"), (ACK, "ACK"), (32, "URG"), (64, "ECE"), (128, "CWR"))

_ETHERNET, _KIND, _IPV4, _IPV6 = 14, 12, 0x0800, 0x86DD
_HEAD4, _HEAD6 = struct.Struct(">xxHHHxBxx4s4s"), struct.Struct(">4xHBx16s16s")
_TCP, _TCP_BYTES, _UDP_BYTES = struct.Struct(">HHIIH"), 20, 8
_ADDRESS4 = 4
_FRAGMENT, _EXTENSIONS = 44, (0, 43, 60)
_MSS, _TIMES = 2, 8  # options of TCP
_TOO_BIG = {ICMP: (3, 4), ICMPV6: (2, 0)}  # type and code (RFC 1191, RFC 8201)
_ICMP_BYTES = 8


class Sighting(NamedTuple):
    """A packet in a capture. at_ns: by CLOCK_REALTIME. length: of the payload in bytes. payload: its beginning, as far
    as it was captured. ident: the identification of IPv4, or of a fragment; None
    without. fragment: the offset of a fragment in bytes. ports: None in later fragments, and without ports. stamp: the
    time in TCP's option; 0 without. mss: the maximum segment size that it announces; 0 without. options: the bytes of
    TCP's options.
    """

    at_ns: int
    source: bytes
    destination: bytes
    protocol: int
    length: int
    payload: bytes
    ident: int | None = None
    fragment: int = 0
    ports: tuple[int, int] | None = None
    flags: int = 0
    sequence: int = 0
    acknowledgment: int = 0
    stamp: int = 0
    mss: int = 0
    options: int = 0

    @property
    def flow(self) -> tuple[bytes, bytes, int, tuple[int, int] | None]:
        """The ends, with the direction."""
        return self.source, self.destination, self.protocol, self.ports

    @property
    def reverse(self) -> tuple[bytes, bytes, int, tuple[int, int] | None]:
        """The flow of the other direction."""
        ports = None if self.ports is None else (self.ports[1], self.ports[0])
        return self.destination, self.source, self.protocol, ports

    @property
    def size(self) -> int:
        """The bytes of the packet, with the headers of IP, without options, and of TCP or UDP."""
        header = {TCP: _TCP_BYTES + self.options, UDP: _UDP_BYTES}.get(self.protocol, 0) if self.ports else 0
        return (_HEAD4 if len(self.source) == _ADDRESS4 else _HEAD6).size + header + self.length


def sightings(capture: bytes) -> Iterator[Sighting]:
    """Yields the packets of IP in a pcap file."""
    for at_ns, _, frame in records(capture):
        kind = int.from_bytes(frame[_KIND:_ETHERNET])
        if seen := _packet(at_ns, kind, frame[_ETHERNET:]):
            yield seen


def quotation(seen: Sighting) -> Sighting | None:
    """Returns the beginning of the packet that was too big, if this one tells its sender so."""
    if tuple(seen.payload[:2]) != _TOO_BIG.get(seen.protocol):
        return None
    return _packet(seen.at_ns, _IPV4 if seen.protocol == ICMP else _IPV6, seen.payload[_ICMP_BYTES:])


def _packet(at_ns: int, kind: int, data: bytes) -> Sighting | None:
    """Reads a packet of IP; None for another, or a broken one."""
    try:
        if kind == _IPV4:
            whole, ident, fragment, protocol, source, destination = _HEAD4.unpack_from(data)
            head = 4 * (data[0] & 15)
            fragment = 8 * (fragment & 0x1FFF)
            seen = Sighting(at_ns, source, destination, protocol, whole - head, data[head:whole], ident, fragment)
        elif kind == _IPV6:
            whole, protocol, source, destination = _HEAD6.unpack_from(data)
            body, number, offset = data[_HEAD6.size : _HEAD6.size + whole], None, 0
            beyond = whole - len(body)
            while protocol in (*_EXTENSIONS, _FRAGMENT):
                if protocol == _FRAGMENT:
                    offset, number = struct.unpack_from(">HI", body, 2)
                protocol, body = body[0], body[8 if protocol == _FRAGMENT else 8 + 8 * body[1] :]
            seen = Sighting(at_ns, source, destination, protocol, beyond + len(body), body, number, offset & ~7)
        else:
            return None
        return seen if seen.fragment else _with_transport(seen)
    except (struct.error, IndexError):
        return None


def _with_transport(seen: Sighting) -> Sighting:
    body = seen.payload
    if seen.protocol == UDP:
        source, destination = struct.unpack_from(">HH", body)
        return seen._replace(ports=(source, destination), payload=body[_UDP_BYTES:], length=seen.length - _UDP_BYTES)
    if seen.protocol != TCP:
        return seen
    source, destination, sequence = struct.unpack_from(">HHI", body)
    seen = seen._replace(ports=(source, destination), sequence=sequence)
    if len(body) < _TCP.size:  # the beginning of a packet
        return seen._replace(payload=b"", length=0)
    *_, acknowledgment, rest = _TCP.unpack_from(body)
    end = 4 * (rest >> 12)
    options = dict(_options(body[20:end]))
    return seen._replace(
        payload=body[end:],
        length=seen.length - end,
        flags=rest & 0xFF,
        acknowledgment=acknowledgment if rest & ACK else 0,
        stamp=int.from_bytes(options.get(_TIMES, b"")[:4]),
        mss=int.from_bytes(options.get(_MSS, b"")),
        options=end - 20,
    )


def _options(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields the kinds and values of TCP's options."""
    at = 0
    while at < len(data) and data[at] != 0:
        if data[at] == 1:
            at += 1
            continue
        length = data[at + 1]
        if length < 2:
            return
        yield data[at], data[at + 2 : at + length]
        at += length
