"""The hosts of an experiment as a topology.

    client ==== link ==== front ---- origin

or, with a second front (VIA):

    client ==== link ==== front ==== link between the fronts ==== second front ---- origin
"""

from dataclasses import replace

from priolab.experiments.hosts.experiment_hosts import CAPTURES, FRONT_PORT, HOP_CAPTURES, SECOND_PORT
from priolab.experiments.scenario.scenario import Scenario, Via
from priolab.netem.link import Link
from priolab.testbed import Capture, CrossTraffic, EndSettings, Shaping, Topology, Wire, pair

CLIENT, LINK, FRONT, ORIGIN = "client", "link", "front", "origin"
HOP, SECOND = "link between the fronts", "second front"
TO_SECOND = "to-second"
"""The front's device toward the second front, if there is one."""

# The server's segments are at most half as large as the largest window that the client advertised
# (tcp_bound_to_half_wnd). So the client's receive buffer is fixed, and large enough not to limit segments.
CLIENT_RMEM = f"4096 {4 * 2**20} {6 * 2**20}"
_NO_METRICS = {"net.ipv4.tcp_no_metrics_save": "1"}
"""Connections keep nothing for later ones."""
_RETRIES = "8"
"""For 511 s: by default the kernel gives up a connection after 63 s without an answer. A round trip may take 120 s."""


def four_hosts(link: Link, cross: CrossTraffic | None = None) -> Topology:
    """Returns the hosts without a second front, and without settings."""
    ends = pair(CLIENT, FRONT, link, cross)
    return replace(
        ends,
        hosts={
            CLIENT: {**_NO_METRICS, "net.ipv4.tcp_syn_retries": _RETRIES},
            LINK: _NO_METRICS,
            FRONT: {**_NO_METRICS, "net.ipv4.tcp_synack_retries": _RETRIES},
            ORIGIN: _NO_METRICS,
        },
        wires=(*ends.wires, _to_origin(FRONT)),
        captures={LINK: [Capture(host=host, file=file, port=FRONT_PORT) for host, file in CAPTURES.items()]},
    )


def topology_of(scenario: Scenario) -> Topology:
    """Returns the hosts of a scenario."""
    made = replace(
        four_hosts(scenario.link, scenario.cross_traffic),
        settings={
            CLIENT: EndSettings(ecn=scenario.link.ecn, sysctls={"net.ipv4.tcp_rmem": CLIENT_RMEM}),
            FRONT: scenario.front_settings,
        },
    )
    return made if scenario.via is None else _with_second(made, scenario.via)


def _with_second(made: Topology, via: Via) -> Topology:
    """Adds the second front, and the link before it, whose devices have the names of any link's."""
    near, far = (each.device for each in made.ends(LINK))
    settings = made.settings[FRONT]
    hop = (
        Wire(router=HOP, device=far, host=SECOND, network="198.18.5", mac=8),
        Wire(router=HOP, device=near, host=FRONT, network="198.18.4", mac=6, own=TO_SECOND, beyond="198.18.5"),
    )
    captured = zip((FRONT, SECOND), HOP_CAPTURES, (TO_SECOND, hop[0].own), strict=True)
    return replace(
        made,
        hosts={**made.hosts, HOP: {}, SECOND: _NO_METRICS},
        routers=(*made.routers, HOP),
        wires=(*made.wires[:-1], *hop, _to_origin(SECOND)),
        links={**made.links, HOP: Shaping(link=via.link, near=near, far=far)},
        settings={
            **made.settings,
            SECOND: EndSettings(
                lowat_bytes=via.lowat,
                sndbuf_bytes=settings.sndbuf_bytes,
                congestion_control=settings.congestion_control,
            ),
        },
        captures={
            **made.captures,
            HOP: [Capture(host=host, file=file, port=SECOND_PORT, device=own) for host, file, own in captured],
        },
    )


def _to_origin(before: str) -> Wire:
    return Wire(router=before, device="to-origin", host=ORIGIN, network="198.18.2", mac=None)
