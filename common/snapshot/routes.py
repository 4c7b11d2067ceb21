"""The routes of a namespace with their metrics, its rules, and the neighbours that do not change by themselves."""

import socket
import struct
from collections.abc import Iterator, Mapping

from priolab.common.netlink import Conversation, attributes, question
from priolab.common.snapshot.attributes import entries, text, value

_GET_ROUTE, _GET_NEIGHBOUR, _GET_RULE = 26, 30, 34  # RTM_GET*, <linux/rtnetlink.h>
_ROUTE = struct.Struct("=8BI")  # struct rtmsg: family, two prefix lengths, tos, table, protocol, scope, type, flags
_RULE = _ROUTE  # struct fib_rule_hdr has the same size
_NEIGHBOUR = struct.Struct("=B3xiHBB")  # struct ndmsg: family, index, state, flags, type
_PERMANENT = 0x80  # NUD_PERMANENT
_DST, _OIF, _PRIORITY, _METRICS, _CACHEINFO, _TABLE = 1, 4, 6, 8, 12, 15  # RTA_*
_NAMES = {3: "iif", 5: "gateway", 7: "prefsrc", 9: "multipath", 16: "mark", 21: "encap type", 30: "nexthop"}
_METRIC_WORDS = (
    "lock mtu window rtt rttvar ssthresh cwnd advmss reordering hoplimit initcwnd features rto_min initrwnd"
    " quickack congctl fastopen_no_cookie"
)
_METRIC_NAMES = dict(enumerate(_METRIC_WORDS.split(), start=1))
"""RTAX_*: `lock` has a bit for each metric that the kernel may not change."""
_NDA_DST, _NDA_LLADDR = 1, 2
_IIFNAME, _RULE_PRIORITY = 3, 6  # FRA_*, <linux/fib_rules.h>; FRA_TABLE is 15, too


def routes(conversation: Conversation, devices: Mapping[int, str]) -> dict[str, str]:
    """Returns routes, rules and permanent neighbours by name. devices: the names by index. Raises OSError."""
    found: dict[str, str] = {}
    header = bytes([socket.AF_INET]).ljust(_ROUTE.size, b"\0")
    for answer in conversation.ask(question(_GET_ROUTE, header, dump=True)):
        of = attributes(answer, _ROUTE.size)
        name = _name(answer, of, devices)
        found[name] = " ".join(_told(answer, of))
        for what, seen in entries(attributes(of.get(_METRICS, b"")), _METRIC_NAMES):
            found[f"{name}, {what}"] = seen
    for answer in conversation.ask(question(_GET_RULE, header, dump=True)):
        of = attributes(answer, _RULE.size)
        left_out = {_IIFNAME, _RULE_PRIORITY, _TABLE}
        found[_rule_name(of)] = " ".join(f"{what} {seen}" for what, seen in entries(of, {}, left_out))
    asked = bytes([socket.AF_INET]).ljust(_NEIGHBOUR.size, b"\0")
    for answer in conversation.ask(question(_GET_NEIGHBOUR, asked, dump=True)):
        _, index, state, _, _ = _NEIGHBOUR.unpack_from(answer)
        of = attributes(answer, _NEIGHBOUR.size)
        if state & _PERMANENT:
            name = f"neighbour {socket.inet_ntoa(of[_NDA_DST])} at {devices.get(index, index)}"
            found[name] = of.get(_NDA_LLADDR, b"").hex(":")
    return found


def rule_name(priority: int, device: str, table: int) -> str:
    """Returns a rule's name in a picture. device: where the packets come from; empty for packets from anywhere."""
    return f"rule {priority}{f' iif {device}' if device else ''} table {table}"


def _rule_name(of: Mapping[int, bytes]) -> str:
    (priority,), (table,) = (struct.unpack("=I", of.get(kind, bytes(4))) for kind in (_RULE_PRIORITY, _TABLE))
    return rule_name(priority, text(of.get(_IIFNAME, b"")), table)


def _name(answer: bytes, of: Mapping[int, bytes], devices: Mapping[int, str]) -> str:
    _, prefix, _, tos, table, *_ = _ROUTE.unpack_from(answer)
    (table,) = struct.unpack("=I", of.get(_TABLE, struct.pack("=I", table)))
    to = f"{socket.inet_ntoa(of[_DST])}/{prefix}" if _DST in of else "default"
    (out,) = struct.unpack("=I", of.get(_OIF, bytes(4)))
    rank = f" priority {value(of[_PRIORITY])}" if _PRIORITY in of else ""
    return f"route {to} table {table} dev {devices.get(out, '-')}{f' tos {tos}' if tos else ''}{rank}"


def _told(answer: bytes, of: Mapping[int, bytes]) -> Iterator[str]:
    """Yields what else a route has: source prefix, scope, kind, and each further attribute."""
    _, _, source, _, _, _, scope, kind, _ = _ROUTE.unpack_from(answer)
    yield f"type {kind} scope {scope} source /{source}"
    left_out = {_DST, _OIF, _PRIORITY, _METRICS, _CACHEINFO, _TABLE}
    for what, seen in entries(of, _NAMES, left_out):
        yield f"{what} {seen}"
