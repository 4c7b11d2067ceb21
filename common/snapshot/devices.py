"""The devices of a namespace: MTU, queue length, offloads, the limits of segmentation, their sysctls net.ipv4.conf.

Addresses, counters and states that follow from the peer are left out: they do not decide when a packet leaves.
"""

import ctypes
import errno
import fcntl
import socket
import struct
from collections.abc import Iterator, Sequence

from priolab.common.netlink import Conversation, attribute, attributes, question
from priolab.common.snapshot.attributes import entries, text

_GET_LINK = 18  # RTM_GETLINK, <linux/rtnetlink.h>
_LINK = struct.Struct("=BxHiII")  # struct ifinfomsg: family, type, index, flags, change
_IFNAME, _LINKINFO, _AF_SPEC, _EXT_MASK = 3, 18, 26, 29  # IFLA_*, <linux/if_link.h>
_SKIP_STATS = 1 << 3  # RTEXT_FILTER_SKIP_STATS
_INFO_KIND, _INET_CONF = 1, 1
_DECIDING_FLAGS = 0x81  # IFF_UP, IFF_NOARP
_NAMES = {
    4: "mtu",
    10: "master",
    13: "txqueuelen",
    31: "numtxqueues",
    32: "numrxqueues",
    40: "gso_max_segs",
    41: "gso_max_size",
    43: "xdp",
    58: "gro_max_size",
    59: "tso_max_size",
    60: "tso_max_segs",
    63: "gso_ipv4_max_size",
    64: "gro_ipv4_max_size",
}
_LEFT_OUT = {
    1,  # address
    2,  # broadcast
    _IFNAME,
    5,  # link: the index of the peer
    6,  # qdisc: queues.py has them
    7,  # stats
    14,  # map
    16,  # operstate
    17,  # linkmode
    _LINKINFO,
    23,  # stats64
    _AF_SPEC,
    30,  # promiscuity: a capture sets it
    33,  # carrier
    35,  # carrier_changes
    37,  # link_netnsid
    44,  # event
    45,  # new_netnsid
    47,  # carrier_up_count
    48,  # carrier_down_count
    54,  # perm_address
    61,  # allmulti
}
_CONF_WORDS = (
    "forwarding mc_forwarding proxy_arp accept_redirects secure_redirects send_redirects shared_media"
    " rp_filter accept_source_route bootp_relay log_martians tag arp_filter medium_id disable_xfrm"
    " disable_policy force_igmp_version arp_announce arp_ignore promote_secondaries arp_accept arp_notify"
    " accept_local src_valid_mark proxy_arp_pvlan route_localnet igmpv2_unsolicited_report_interval"
    " igmpv3_unsolicited_report_interval ignore_routes_with_linkdown drop_unicast_in_l2_multicast"
    " drop_gratuitous_arp bc_forwarding arp_evict_nocarrier"
)
_CONF = _CONF_WORDS.split()
"""The sysctls of a device in the order of IPV4_DEVCONF_*, <linux/ip.h>."""
_ETHTOOL, _GET_FEATURES = 0x8946, 0x3A  # SIOCETHTOOL, ETHTOOL_GFEATURES
_BLOCKS = 4
_FEATURES = struct.Struct(f"=II{4 * _BLOCKS}I")  # struct ethtool_gfeatures
_REQUEST = struct.Struct("@16sP16x")  # struct ifreq


def devices(conversation: Conversation, asking: socket.socket) -> tuple[dict[int, str], dict[str, str]]:
    """Returns the devices' names by index, and their settings by name.

    asking: any socket of the namespace, for the requests that netlink does not have. Raises OSError.
    """
    names: dict[int, str] = {}
    found: dict[str, str] = {}
    mask = attribute(_EXT_MASK, struct.pack("=I", _SKIP_STATS))
    for answer in conversation.ask(question(_GET_LINK, bytes(_LINK.size), mask, dump=True)):
        _, _, index, flags, _ = _LINK.unpack_from(answer)
        of = attributes(answer, _LINK.size)
        name = names[index] = text(of[_IFNAME])
        found[f"device {name}, flags"] = f"{flags & _DECIDING_FLAGS:#x}"
        found[f"device {name}, kind"] = text(attributes(of.get(_LINKINFO, b"")).get(_INFO_KIND, b""))
        for what, seen in entries(of, _NAMES, _LEFT_OUT):
            found[f"device {name}, {what}"] = seen
        for what, number in zip(_CONF, _conf(of.get(_AF_SPEC, b"")), strict=False):
            found[f"net.ipv4.conf.{name}.{what}"] = str(number)
        found[f"device {name}, offloads"] = _offloads(asking, name)
    return names, found


def _conf(families: bytes) -> Sequence[int]:
    conf = attributes(attributes(families).get(socket.AF_INET, b"")).get(_INET_CONF, b"")
    return struct.unpack(f"={len(conf) // 4}i", conf)


def _offloads(asking: socket.socket, device: str) -> str:
    """Returns the features that are wanted and those that are on, as bit masks (ethtool(8) lists their names)."""
    buffer = (ctypes.c_char * _FEATURES.size).from_buffer(
        bytearray(_FEATURES.pack(_GET_FEATURES, _BLOCKS, *bytes(4 * _BLOCKS)))
    )
    try:
        fcntl.ioctl(asking, _ETHTOOL, _REQUEST.pack(device.encode(), ctypes.addressof(buffer)))
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            return "none"
        raise
    _, blocks, *words = _FEATURES.unpack(bytes(buffer))
    return " ".join(f"{wanted:x}/{on:x}" for wanted, on in _masks(words, blocks))


def _masks(words: Sequence[int], blocks: int) -> Iterator[tuple[int, int]]:
    for block in range(min(blocks, _BLOCKS)):
        _, wanted, on, _ = words[4 * block : 4 * block + 4]
        yield wanted, on
