"""Builds rtnetlink(7) messages, as bytes, that make devices, addresses, neighbours and routes.

The messages replace ip(8), which in a guest takes longer to start than to do its work. pyroute2 encodes the messages.
"""

import struct
from collections.abc import Sequence
from ipaddress import IPv4Address
from typing import Any

from pyroute2.netlink.rtnl import RTM_GETLINK, RTM_NEWADDR, RTM_NEWLINK, RTM_NEWNEIGH, RTM_NEWROUTE, ifinfmsg
from pyroute2.netlink.rtnl.ifaddrmsg import ifaddrmsg
from pyroute2.netlink.rtnl.ndmsg import ndmsg
from pyroute2.netlink.rtnl.rtmsg import rtmsg

from common.netlink import attributes, layout, order, question

_INET = 2  # AF_INET
_UP = 0x1  # IFF_UP, <linux/if.h>
_PERMANENT = 0x80  # NUD_PERMANENT, <linux/neighbour.h>
_MAIN, _STATIC, _UNICAST = 254, 4, 1  # <linux/rtnetlink.h>

_GSO_MAX_SEGS = 40  # IFLA_GSO_MAX_SEGS, <linux/if_link.h>
_HEADER, _ = layout(ifinfmsg.ifinfmsg.fields)
_WORD = struct.Struct("=I")


def veth(name: str, mac: str | None, peer: str, peer_mac: str | None, peer_namespace: int) -> bytes:
    """Builds the message that makes a pair of devices.

    peer_namespace: a descriptor of the network namespace for the device `peer`.
    """
    far = ifinfmsg.ifinfmsg()
    far["attrs"] = [["IFLA_IFNAME", peer], ["IFLA_NET_NS_FD", peer_namespace], *_address(peer_mac)]
    near = ifinfmsg.ifinfmsg()
    data = {"attrs": [["VETH_INFO_PEER", far]]}
    kind = {"attrs": [["IFLA_INFO_KIND", "veth"], ["IFLA_INFO_DATA", data]]}
    near["attrs"] = [["IFLA_IFNAME", name], *_address(mac), ["IFLA_LINKINFO", kind]]
    return order(RTM_NEWLINK, near)


def up(index: int) -> bytes:
    """Builds the message that sets the device with this index up."""
    message = ifinfmsg.ifinfmsg()
    message["index"], message["flags"], message["change"] = index, _UP, _UP
    return order(RTM_NEWLINK, message, new=False)


def device(name: str) -> bytes:
    """Builds the message that asks for the attributes of the device with this name."""
    message = ifinfmsg.ifinfmsg()
    message["attrs"] = [["IFLA_IFNAME", name]]
    return question(RTM_GETLINK, message, dump=False)


def gso_max_segs(answer: bytes) -> int:
    """Returns the gso_max_segs in an answer to `device`."""
    (segments,) = _WORD.unpack(attributes(answer, _HEADER.size)[_GSO_MAX_SEGS])
    return int(segments)


def address(index: int, own: str, prefix: int) -> bytes:
    """Builds the message that adds an address to a device. The kernel then adds a route to the address's network."""
    message = ifaddrmsg()
    message["family"], message["prefixlen"], message["index"] = _INET, prefix, index
    message["attrs"] = [["IFA_LOCAL", own], ["IFA_ADDRESS", own]]
    return order(RTM_NEWADDR, message)


def neighbour(index: int, other: str, mac: str) -> bytes:
    """Builds the message that adds a permanent neighbour entry for an address."""
    message = ndmsg()
    message["family"], message["ifindex"], message["state"] = _INET, index, _PERMANENT
    message["attrs"] = [["NDA_DST", other], ["NDA_LLADDR", mac]]
    return order(RTM_NEWNEIGH, message)


def default_route(gateway: str) -> bytes:
    """Builds the message that adds a default route to the gateway."""
    message = rtmsg()
    message["family"], message["table"], message["proto"], message["type"] = _INET, _MAIN, _STATIC, _UNICAST
    message["attrs"] = [["RTA_GATEWAY", str(IPv4Address(gateway))]]
    return order(RTM_NEWROUTE, message)


def _address(mac: str | None) -> Sequence[Any]:
    return [["IFLA_ADDRESS", mac]] if mac else []
