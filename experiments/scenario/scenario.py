"""A scenario: server x link x lowat x sndbuf x congestion control x priorities x page. A value, valid once it exists.

`knobs.scenario_from` makes one from the words people write.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from client.dialects import Dialect
from client.plan import PlanKind
from client.priorities import Priorities
from common.formats.page import Page
from common.formats.scenario import AUTO, ScenarioRecord
from netem import words
from netem.link import Link

LOWAT_AUTO = AUTO
"""A tuner beside the front sets each connection's TCP_NOTSENT_LOWAT."""

LOWAT_MOST = 2**32 - 1
"""The kernel's default of net.ipv4.tcp_notsent_lowat: no limit."""


RECORD_LEAST, RECORD_MOST = 512, 16_384
"""Bytes of plaintext in a TLS record: a sensible least, and the most RFC 8446, 5.1 allows."""


class CongestionControl(StrEnum):
    """Congestion controls the guest kernel has."""

    CUBIC = "cubic"
    BBR = "bbr"
    RENO = "reno"


class ShaperAt(StrEnum):
    """The place in which the link's bottleneck is."""

    LINK = "link"
    FRONT = "front"


class ClientKind(StrEnum):
    """The client that loads the pages."""

    H2 = "h2"
    """The lab's own client, in whatever protocol the server speaks."""
    CHROMIUM = "chromium"
    """A real browser, with its own priorities and windows."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Everything that may change a result.

    record_bytes: the front's largest TLS record; None leaves the server's own.
    lowat: net.ipv4.tcp_notsent_lowat of the front's place in bytes. None leaves the kernel's default, no limit; so does
    LOWAT_AUTO, with which a tuner sets the option of each connection.
    target_delay_ns: the target of that tuner (proxy/tuner/law.py).
    sndbuf_bytes: the middle value of net.ipv4.tcp_wmem there; None leaves the kernel's.
    gso_segments: gso_max_segs of the front's interface; None leaves the kernel's.
    shaper_at: the place of the link's bottleneck; at the front it is one that flatters (netem/egress.py).
    client: the client that loads the pages. page: what it loads. plan: its kind of load. first: the resource that it
    requests first, None for the page's order.
    size_bytes, script_delay_ns: the parameters of the page, None if it has no such parameter.
    reloads: page loads before the measured one, on the same connection.
    window_bytes: HTTP/2 flow-control window per stream and for the connection.
    """

    server: str
    native: str
    buffering: str
    record_bytes: int | None
    lowat: int | Literal["auto"] | None
    target_delay_ns: int
    sndbuf_bytes: int | None
    congestion_control: CongestionControl
    gso_segments: int | None
    link: Link
    shaper_at: ShaperAt
    client: ClientKind
    page: Page
    plan: PlanKind
    first: str | None
    priorities: Priorities
    dialect: Dialect
    size_bytes: int | None
    script_delay_ns: int | None
    reloads: int
    window_bytes: int

    @property
    def lowat_bytes(self) -> int | None:
        """The value for the sysctl; None leaves it alone."""
        return None if self.lowat == LOWAT_AUTO else self.lowat


def as_record(scenario: Scenario) -> ScenarioRecord:
    """The scenario as results record it."""
    fields = vars(scenario) | vars(scenario.link)
    del fields["link"]
    fields |= {"page": scenario.page.name, "resources": scenario.page.resources, "dialect": str(scenario.dialect)}
    fields["rate_steps"] = words.format_rate_steps(scenario.link.rate_steps)
    if scenario.lowat != LOWAT_AUTO:
        fields["target_delay_ns"] = None
    return ScenarioRecord(**fields)
