"""Builds rtnetlink(7) messages, as bytes, that make devices, addresses, neighbours, routes and rules.

The messages replace ip(8), which in a guest takes longer to start than to do its work. A library such as pyroute2 takes
even longer: a guest imports it for a quarter of a second.
"""

import struct
from socket import AF_INET, AF_INET6, AddressFamily, inet_pton

from priolab.common.netlink import attribute, attributes, order, question

# <linux/rtnetlink.h>, <linux/if_link.h>, <linux/if_addr.h>, <linux/neighbour.h>, <linux/veth.h>,
# <linux/fib_rules.h>
_NEW_LINK, _GET_LINK, _NEW_ADDRESS, _NEW_ROUTE, _NEW_NEIGHBOUR = 16, 18, 20, 24, 28
_LINK = struct.Struct("=BxHiII")  # struct ifinfomsg: family, type, index, flags, change
_ADDRESS = struct.Struct("=4Bi")  # struct ifaddrmsg: family, prefix length, flags, scope, index
_NEIGHBOUR = struct.Struct("=B3xiHBB")  # struct ndmsg: family, index, state, flags, type
_ROUTE = struct.Struct("=8BI")  # struct rtmsg: family, two prefix lengths, tos, table, protocol, scope, type, flags
_NEW_RULE, _DELETE_RULE = 32, 33
_IFLA_ADDRESS, _IFLA_IFNAME, _IFLA_LINKINFO, _IFLA_NET_NS_FD, _IFLA_GSO_MAX_SEGS = 1, 3, 18, 28, 40
_IFLA_QDISC = 6
_INFO_KIND, _INFO_DATA, _VETH_PEER = 1, 2, 1
_IFA_ADDRESS, _IFA_LOCAL = 1, 2
_NDA_DST, _NDA_LLADDR = 1, 2
_RTA_DST, _RTA_GATEWAY = 1, 5
_RULE = struct.Struct("=8BI")  # struct fib_rule_hdr: family, two prefix lengths, tos, table, two zeros, action, flags
_FRA_DST, _FRA_IIFNAME, _FRA_PRIORITY, _FRA_TABLE, _TO_TABLE, _BLACKHOLE = 1, 3, 6, 15, 1, 6
_FIRST_RULE = 1  # after the one for the place's own addresses
_UP = 0x1  # IFF_UP, <linux/if.h>
_VALID_AT_ONCE = 0x02  # IFA_F_NODAD: IPv6 asks no neighbour whether it has the address
_PERMANENT = 0x80  # NUD_PERMANENT
_MAIN, _STATIC, _UNICAST = 254, 4, 1
_WORD = struct.Struct("=I")


def veth(name: str, mac: str | None, peer: str, peer_mac: str | None, peer_namespace: int) -> bytes:
    """Builds the message that makes a pair of devices.

    peer_namespace: a descriptor of the network namespace for the device `peer`.
    """
    there = attribute(_IFLA_NET_NS_FD, _WORD.pack(peer_namespace))
    far = attribute(_VETH_PEER, _link(), _name(peer), there, _mac(peer_mac))
    kind = attribute(_IFLA_LINKINFO, attribute(_INFO_KIND, b"veth\0"), attribute(_INFO_DATA, far))
    return order(_NEW_LINK, _link(), _name(name), _mac(mac), kind)


def up(index: int) -> bytes:
    """Builds the message that sets the device with this index up."""
    return order(_NEW_LINK, _link(index, _UP), new=False)


def device(name: str) -> bytes:
    """Builds the message that asks for the attributes of the device with this name."""
    return question(_GET_LINK, _link(), _name(name), dump=False)


def gso_max_segs(answer: bytes) -> int:
    """Returns gso_max_segs from the kernel's answer to a message that asks for a device's attributes."""
    (segments,) = _WORD.unpack(attributes(answer, _LINK.size)[_IFLA_GSO_MAX_SEGS])
    return int(segments)


def qdisc(answer: bytes) -> str:
    """Returns the kind of the device's queueing discipline from the kernel's answer to such a message."""
    return attributes(answer, _LINK.size)[_IFLA_QDISC].rstrip(b"\0").decode()


def address(index: int, own: str, prefix: int) -> bytes:
    """Builds the message that adds the address `own` to the device with this index.

    prefix: the length of the network prefix. The kernel adds a route to this network by itself.
    """
    family, bare = _address(own)
    header = _ADDRESS.pack(family, prefix, _VALID_AT_ONCE if family == AF_INET6 else 0, 0, index)
    return order(_NEW_ADDRESS, header, attribute(_IFA_LOCAL, bare), attribute(_IFA_ADDRESS, bare))


def neighbour(index: int, other: str, mac: str) -> bytes:
    """Builds the message that adds a permanent neighbour entry: at the device, the address `other` has this MAC."""
    family, bare = _address(other)
    header = _NEIGHBOUR.pack(family, index, _PERMANENT, 0, 0)
    return order(_NEW_NEIGHBOUR, header, attribute(_NDA_DST, bare), attribute(_NDA_LLADDR, _bytes(mac)))


def default_route(gateway: str) -> bytes:
    """Builds the message that adds a default route to the gateway."""
    return _route(0, b"", gateway)


def route(network: str, prefix: int, gateway: str) -> bytes:
    """Builds the message that adds a route to a network. network: an address in it. prefix: its prefix's length."""
    _, bare = _address(network)
    rest = 8 * len(bare) - prefix
    return _route(prefix, attribute(_RTA_DST, (int.from_bytes(bare) >> rest << rest).to_bytes(len(bare))), gateway)


def rule(device: str, other: str, table: int | None, *, there: bool = True) -> bytes:
    """Builds the message that treats packets in another way which come from a device and go to the address `other`.

    table: the routing table that leads them; None to drop them in silence. there: False to end that.
    """
    family, bare = _address(other)
    action, tables = (_BLACKHOLE, b"") if table is None else (_TO_TABLE, attribute(_FRA_TABLE, _WORD.pack(table)))
    header = _RULE.pack(family, 8 * len(bare), 0, 0, 0, 0, 0, action, 0)
    where = attribute(_FRA_DST, bare), attribute(_FRA_IIFNAME, device.encode() + b"\0")
    kind = _NEW_RULE if there else _DELETE_RULE
    return order(kind, header, *where, tables, attribute(_FRA_PRIORITY, _WORD.pack(_FIRST_RULE)), new=there)


def _route(prefix: int, destination: bytes, gateway: str) -> bytes:
    family, bare = _address(gateway)
    header = _ROUTE.pack(family, prefix, 0, 0, _MAIN, _STATIC, 0, _UNICAST, 0)
    return order(_NEW_ROUTE, header, destination, attribute(_RTA_GATEWAY, bare))


def _address(text: str) -> tuple[AddressFamily, bytes]:
    family = AF_INET6 if ":" in text else AF_INET
    return family, inet_pton(family, text)


def _link(index: int = 0, flags: int = 0) -> bytes:
    return _LINK.pack(0, 0, index, flags, flags)


def _name(name: str) -> bytes:
    return attribute(_IFLA_IFNAME, name.encode() + b"\0")


def _mac(mac: str | None) -> bytes:
    return attribute(_IFLA_ADDRESS, _bytes(mac)) if mac else b""


def _bytes(mac: str) -> bytes:
    return bytes.fromhex(mac.replace(":", ""))
