"""Two places that a link joins: client and front. The lab's runs have further places beside this pair."""

from collections.abc import Sequence

from priolab.experiments.hosts.namespaces import front_place
from priolab.experiments.scenario.scenario import Scenario
from priolab.testbed.errors import StepFailed, Unavailable
from priolab.testbed.topology.namespace import Namespace
from priolab.testbed.topology.wiring import WIRE, wire_link

ECN = "net.ipv4.tcp_ecn"
ECN_ON = "1"  # asks for ECN, and accepts it
_NO_METRICS = "net.ipv4.tcp_no_metrics_save"
_HANDSHAKE_RETRIES = "8"  # 511 s
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


def apply_settings(client: Namespace, front: Namespace, scenario: Scenario) -> None:
    """Sets sysctls, and by ip(8) and tc(8) what the front's device has. Raises StepFailed.

    CC may not be settable by sysctl.
    """
    if scenario.link.ecn:
        for place in (client, front):
            place.write_sysctl(ECN, ECN_ON)
    front_place.apply_settings(
        front,
        sndbuf_bytes=scenario.sndbuf_bytes,
        congestion_control=scenario.congestion_control,
        lowat_bytes=scenario.lowat_bytes,
    )
    if scenario.gso_segments is not None:
        front.run_all([("ip", "link", "set", "dev", WIRE, "gso_max_segs", str(scenario.gso_segments))])
    if scenario.front_qdisc is not None:
        front.run_all([("tc", "qdisc", "add", "dev", WIRE, "root", "handle", "1:", scenario.front_qdisc)])
