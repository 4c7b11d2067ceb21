"""The settings of an end of a link: what decides how its kernel hands bytes to its device."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

LOWAT = "net.ipv4.tcp_notsent_lowat"
WMEM = "net.ipv4.tcp_wmem"
CC = "net.ipv4.tcp_congestion_control"
ECN = "net.ipv4.tcp_ecn"
ECN_ON = "1"  # asks for ECN, and accepts it


class CongestionControl(StrEnum):
    """Congestion controls that the guest's kernel has."""

    CUBIC = "cubic"
    BBR = "bbr"
    RENO = "reno"


class FrontQdisc(StrEnum):
    """Queueing disciplines of an end's own device, as the sysctl net.core.default_qdisc would set them."""

    FQ = "fq"
    """One queue for each connection, and pacing: TCP then sends at its pacing rate."""
    FQ_CODEL = "fq_codel"
    PFIFO_FAST = "pfifo_fast"


@dataclass(frozen=True, kw_only=True)
class EndSettings:
    """The settings of an end.

    lowat_bytes: net.ipv4.tcp_notsent_lowat. sndbuf_bytes: the middle value of net.ipv4.tcp_wmem. gso_segments:
    gso_max_segs of its device. None leaves the kernel's default. qdisc: the queueing discipline of its device; None
    leaves it without one, as virtual devices are. ecn: True if it negotiates ECN. coalesce_ns: how long its device
    collects packets that arrive; 0 for not at all. sysctls: further ones by name.
    """

    lowat_bytes: int | None = None
    sndbuf_bytes: int | None = None
    congestion_control: CongestionControl | None = None
    gso_segments: int | None = None
    qdisc: FrontQdisc | None = None
    ecn: bool = False
    coalesce_ns: int = 0
    sysctls: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CrossTraffic:
    """Competing bulk flows through the bottleneck, and their congestion control."""

    flows: int
    congestion_control: CongestionControl
