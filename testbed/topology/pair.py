"""Two places that a link joins: client and front. The lab's runs have further places beside this pair."""

import contextlib
import socket
from collections.abc import Sequence

from priolab.common.errors import StepFailed, Unavailable
from priolab.netem.link import Link
from priolab.testbed.topology.end_settings import EndSettings
from priolab.testbed.topology.namespace import Namespace
from priolab.testbed.topology.wiring import WIRE, wire_link

LOWAT = "net.ipv4.tcp_notsent_lowat"
WMEM = "net.ipv4.tcp_wmem"
CC = "net.ipv4.tcp_congestion_control"
ECN = "net.ipv4.tcp_ecn"
ECN_ON = "1"  # asks for ECN, and accepts it
_NO_METRICS = "net.ipv4.tcp_no_metrics_save"
_HANDSHAKE_RETRIES = "8"  # 511 s
WARM_UP = Link(rate_bit_s=10**9, delay_ns=10**6, jitter_ns=10**5, delay_up_ns=10**6, loss=1e-4)
"""A link that uses all that links can have, for the first exchange of a guest."""

_SILENT = {
    "accept_dad": "0",
    "accept_ra": "0",
    "router_solicitations": "0",
    "mldv2_unsolicited_report_interval": "1",
}
"""Settings with which a device of IPv6 sends nothing but reports of its multicast groups, all of them within ticks."""


def join(
    client: Namespace, link: Namespace, front: Namespace, *, ipv6: bool = False, as_the_kernel_has_it: bool = False
) -> None:
    """Wires the pair over the link, which forwards. Raises StepFailed, and Unavailable without IPv6 in the kernel.

    ipv6: True for addresses of both families. as_the_kernel_has_it: as for `prepare`.
    """
    prepare([client], [link], [front], ipv6=ipv6, as_the_kernel_has_it=as_the_kernel_has_it)
    wire_link(client, link, front, ipv6=ipv6)


def prepare(
    clients: Sequence[Namespace],
    links: Sequence[Namespace],
    servers: Sequence[Namespace],
    *,
    ipv6: bool = False,
    as_the_kernel_has_it: bool = False,
) -> None:
    """Prepares places before they are wired. Connections keep nothing for later ones. Raises as `join`.

    By default the kernel gives up a connection after 63 s without an answer. A round trip may take two minutes.
    clients: the places whose programs make connections. links: those that forward. servers: those whose programs accept
    connections. A place may be both, client and server. as_the_kernel_has_it: True to leave TCP as it is.
    """
    every = [*dict.fromkeys([*clients, *links, *servers])]
    if not as_the_kernel_has_it:
        for place in every:
            place.write_sysctl(_NO_METRICS, "1")
        for place in clients:
            place.write_sysctl("net.ipv4.tcp_syn_retries", _HANDSHAKE_RETRIES)
        for place in servers:
            place.write_sysctl("net.ipv4.tcp_synack_retries", _HANDSHAKE_RETRIES)
    for place in links:
        place.write_sysctl("net.ipv4.ip_forward", "1")
    if ipv6:
        for place in every:
            _begin_ipv6(place, forwards=place in links)


def _begin_ipv6(place: Namespace, *, forwards: bool) -> None:
    """Makes the devices to come silent. Those of a place that forwards join no group of routers."""
    try:
        for which, forwarding in {"all": "1", "default": "0"}.items() if forwards else ():
            place.write_sysctl(f"net.ipv6.conf.{which}.forwarding", forwarding)
        for name, value in _SILENT.items():
            place.write_sysctl(f"net.ipv6.conf.default.{name}", value)
    except StepFailed as error:
        raise Unavailable("IPv6", f"this kernel has none ({error.reason})", "use FABRIC=virtual") from error


def exchange(near: Namespace, far: Namespace, address: str) -> None:
    """Makes a connection and sends a datagram from one place to another, at this address. Raises OSError."""
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with far.entered():
            there = socket.socket(type=kind)
        with near.entered():
            here = socket.socket(type=kind)
        with there, here:
            there.bind((address, 0))
            if kind is socket.SOCK_STREAM:
                there.listen()
            here.connect(there.getsockname())
            here.send(b"once")


def set_tcp(place: Namespace, settings: EndSettings) -> None:
    """Sets the sysctls of a place that serves. CC may not be settable by sysctl. Raises StepFailed."""
    if settings.sndbuf_bytes is not None:
        least, _, most = place.read_sysctl(WMEM).split()
        place.write_sysctl(WMEM, f"{least} {settings.sndbuf_bytes} {max(int(most), settings.sndbuf_bytes)}")
    with contextlib.suppress(StepFailed):
        place.write_sysctl(CC, settings.congestion_control)
    if settings.lowat_bytes is not None:
        place.write_sysctl(LOWAT, str(settings.lowat_bytes))


def apply_settings(client: Namespace, front: Namespace, settings: EndSettings) -> None:
    """Sets sysctls, and by ip(8) and tc(8) what the front's device has. Raises StepFailed.

    CC may not be settable by sysctl.
    """
    if settings.ecn:
        for place in (client, front):
            place.write_sysctl(ECN, ECN_ON)
    set_tcp(front, settings)
    if settings.gso_segments is not None:
        front.run_all([("ip", "link", "set", "dev", WIRE, "gso_max_segs", str(settings.gso_segments))])
    if settings.qdisc is not None:
        front.run_all([("tc", "qdisc", "add", "dev", WIRE, "root", "handle", "1:", settings.qdisc)])
