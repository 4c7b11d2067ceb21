"""Two places that a link joins: client and front. The lab's runs have further places beside this pair."""

from priolab.experiments.scenario.scenario import Scenario
from priolab.experiments.testbed.namespaces import front_place
from priolab.experiments.testbed.namespaces.namespace import Namespace
from priolab.experiments.testbed.namespaces.wiring import WIRE, wire_link

ECN = "net.ipv4.tcp_ecn"
_ECN_ON = "1"  # asks for ECN, and accepts it
_NO_METRICS = "net.ipv4.tcp_no_metrics_save"
_HANDSHAKE_RETRIES = "8"  # 511 s


def join(client: Namespace, link: Namespace, front: Namespace) -> None:
    """Wires the pair over the link, which forwards. Connections keep nothing for later ones. Raises StepFailed.

    By default the kernel gives up a connection after 63 s without an answer. A round trip may take two minutes.
    """
    for place in (client, link, front):
        place.write_sysctl(_NO_METRICS, "1")
    client.write_sysctl("net.ipv4.tcp_syn_retries", _HANDSHAKE_RETRIES)
    front.write_sysctl("net.ipv4.tcp_synack_retries", _HANDSHAKE_RETRIES)
    link.write_sysctl("net.ipv4.ip_forward", "1")
    wire_link(client, link, front)


def apply_settings(client: Namespace, front: Namespace, scenario: Scenario) -> None:
    """Sets sysctls, and by ip(8) and tc(8) what the front's device has. Raises StepFailed.

    CC may not be settable by sysctl.
    """
    if scenario.link.ecn:
        for place in (client, front):
            place.write_sysctl(ECN, _ECN_ON)
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
