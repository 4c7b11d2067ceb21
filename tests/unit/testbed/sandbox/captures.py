"""Captures that tests make: packets as frames, in pcap files."""

import socket
import struct

import dpkt

CLIENT, SERVER, PHONE = "198.18.0.2", "198.18.1.2", "198.18.10.2"
SYN, FIN, RST, PSH, ACK = 2, 1, 4, 8, 16
_HEAD = struct.Struct("=IHHiIIII")
MSS = struct.pack(">BBH", 2, 4, 1460)


def pcap(*packets: tuple[int, bytes]) -> bytes:
    """Return a pcap file with times in nanoseconds. packets: time and frame of each."""
    records = (struct.pack("=IIII", *divmod(at, 10**9), len(data), len(data)) + data for at, data in packets)
    return struct.pack("=IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 2**18, 1) + b"".join(records)


def ethernet(packet: dpkt.Packet) -> bytes:
    """Return a packet of IP in a frame."""
    kind = dpkt.ethernet.ETH_TYPE_IP if isinstance(packet, dpkt.ip.IP) else dpkt.ethernet.ETH_TYPE_IP6
    return bytes(dpkt.ethernet.Ethernet(type=kind, data=packet))


def stamps(milliseconds: int) -> bytes:
    """Return TCP's option of times, as Linux writes it."""
    return struct.pack(">BBBBII", 1, 1, 8, 10, milliseconds, 0)


def tcp(
    ways: tuple[str, str],
    ports: tuple[int, int],
    flags: int,
    numbers: tuple[int, int] = (0, 0),
    payload: bytes = b"",
    *,
    ident: int = 0,
    options: bytes = b"",
) -> bytes:
    """Return a frame of TCP. numbers: sequence and acknowledgment."""
    segment = dpkt.tcp.TCP(sport=ports[0], dport=ports[1], flags=flags, seq=numbers[0], ack=numbers[1])
    segment.opts, segment.data = options, payload
    segment.off = 5 + len(options) // 4
    return _ip(ways, dpkt.ip.IP_PROTO_TCP, bytes(segment), ident)


def udp(ways: tuple[str, str], ports: tuple[int, int], payload: bytes, *, ident: int = 0) -> bytes:
    """Return a frame of UDP."""
    datagram = dpkt.udp.UDP(sport=ports[0], dport=ports[1], ulen=8 + len(payload), data=payload)
    return _ip(ways, dpkt.ip.IP_PROTO_UDP, bytes(datagram), ident)


def pieces(frame: bytes, first_bytes: int) -> tuple[bytes, bytes]:
    """Return the two packets into which a router of IPv4 divides one. first_bytes: of IP's payload, a multiple of 8."""
    packet = dpkt.ethernet.Ethernet(frame).data
    body = bytes(packet.data)

    def piece(part: bytes, offset: int) -> bytes:
        head = dpkt.ip.IP(src=packet.src, dst=packet.dst, p=packet.p, id=packet.id, len=20 + len(part), data=part)
        head.offset = offset
        return ethernet(head)

    return piece(body[:first_bytes], 0), piece(body[first_bytes:], first_bytes // 8)


def too_big(router: str, frame: bytes) -> bytes:
    """Return a router's answer to a packet that is too big for its next link (RFC 1191)."""
    packet = dpkt.ethernet.Ethernet(frame).data
    sender = socket.inet_ntoa(packet.src) if len(packet.src) == 4 else socket.inet_ntop(socket.AF_INET6, packet.src)
    kind = (3, 4, dpkt.ip.IP_PROTO_ICMP) if len(packet.src) == 4 else (2, 0, dpkt.ip.IP_PROTO_ICMP6)
    return _ip((router, sender), kind[2], bytes([*kind[:2], 0, 0, 0, 0, 5, 0]) + bytes(packet)[:64], 0)


def _ip(ways: tuple[str, str], protocol: int, body: bytes, ident: int) -> bytes:
    source, destination = (socket.inet_pton(socket.AF_INET6 if ":" in each else socket.AF_INET, each) for each in ways)
    if len(source) == 4:
        packet = dpkt.ip.IP(src=source, dst=destination, p=protocol, id=ident, len=20 + len(body), data=body)
        return ethernet(packet)
    return ethernet(dpkt.ip6.IP6(src=source, dst=destination, nxt=protocol, plen=len(body), data=body, hlim=64))
