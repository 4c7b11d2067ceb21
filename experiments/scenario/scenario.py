"""The Scenario value: server, link, LOWAT, send buffer, congestion control, client, priorities, page and more.

A Scenario that exists is valid. `knobs.scenario_from` builds it from the text of knobs.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from priolab.client.dialects import Dialect
from priolab.client.plan import STEPS, PlanKind, steps_over
from priolab.client.priorities import Priorities
from priolab.common.formats.page import Page
from priolab.common.formats.plan import Disturbance, Steps
from priolab.common.formats.scenario import AUTO, ScenarioRecord, ViaRecord
from priolab.experiments.scenario.service import Service
from priolab.netem import link_options
from priolab.netem.link import Link
from priolab.proxy.server import Server, server_of, with_config
from priolab.proxy.switch import H2C, HTTP1
from priolab.testbed import CongestionControl, CrossTraffic, EndSettings, FrontQdisc

LOWAT_AUTO = AUTO
"""The value of LOWAT with which a tuner sets the TCP_NOTSENT_LOWAT of each connection."""


RECORD_LEAST, RECORD_MOST = 512, 16_384
"""Bounds of RECORD, in bytes of plaintext. RFC 8446, 5.1 sets the upper bound; the lower bound is the lab's choice."""


FrontKey = tuple[str, str | None, str | None, str | None]
"""The values of SERVER, PROGRAM, CONFIG and VIA.

None stands for the installed program, for the lab's configuration, and for no second front.
"""


class ClientKind(StrEnum):
    """The client that loads the pages."""

    H2 = "h2"
    """The lab's own client, which uses the protocol of the server: HTTP/2, HTTP/3 or SPDY."""
    CHROMIUM = "chromium"
    """A real browser, with its own priorities and windows."""
    FIREFOX = "firefox"
    """Another real browser: Firefox ESR."""
    WEBKIT = "webkit"
    """A third real browser: WebKitGTK, with the network of libsoup."""

    @property
    def is_browser(self) -> bool:
        """True for a real browser."""
        return self is not ClientKind.H2

    @property
    def product(self) -> str:
        """The client's name for people."""
        if self is ClientKind.WEBKIT:
            return "WebKitGTK"
        return self.value.capitalize() if self.is_browser else "the lab's own client"


class ViaHttp(StrEnum):
    """The protocols between the two fronts, both without TLS."""

    HTTP1 = "1.1"
    HTTP2 = "2"

    @property
    def level(self) -> str:
        """The level of a server's switches `listener` and `upstream`."""
        return H2C if self is ViaHttp.HTTP2 else HTTP1


@dataclass(frozen=True, kw_only=True)
class Via:
    """The second front, between the front and the origin, and the link between the two fronts.

    server: the name of its server. lowat_bytes: net.ipv4.tcp_notsent_lowat of its namespace; None for no limit. http:
    the protocol between the fronts. link: the link from the second front (its far end) to the front.
    """

    server: str
    lowat_bytes: int | None
    http: ViaHttp
    link: Link

    @property
    def front(self) -> Server:
        """The second front's server. Raises ValueError if it cannot be used."""
        return server_of(self.server)

    def as_record(self) -> ViaRecord:
        """Returns the form that run folders record."""
        return ViaRecord(
            server=self.server,
            lowat=self.lowat_bytes,
            http=self.http,
            rate_bit_s=self.link.rate_bit_s,
            delay_ns=self.link.delay_ns,
            queue_packets=self.link.queue_packets,
            queue_bytes=self.link.queue_bytes,
        )


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Everything that may change a result.

    server: name of the front's server. via: the second front, between this front and the origin; None for none.
    program: path of the server's program; None for the installed one. config: path
    of a configuration of the user's own; None for the server's template.
    native, buffering: `on` or `off`, as the knobs NATIVE and BUFFERING say.
    record_bytes: the front's largest TLS record; None leaves the server's default.
    lowat: net.ipv4.tcp_notsent_lowat of the front's namespace or container, in bytes. None leaves the kernel's default,
    no limit. LOWAT_AUTO also leaves the default, and a tuner sets TCP_NOTSENT_LOWAT of each connection.
    target_delay_ns: the longest time that a byte should wait unsent in the kernel, at which the tuner aims.
    sndbuf_bytes: the middle value of the front's net.ipv4.tcp_wmem; None leaves the kernel's default.
    front_qdisc: the queueing discipline of the front's interface; None leaves it without one, as virtual devices are.
    gso_segments: gso_max_segs of the front's interface; None leaves the kernel's default.
    cross: competing bulk flows through the bottleneck. cross_cc: their congestion control.
    client: the client that loads the pages. page: the page. plan: page loads, or a probe. first: the resource that the
    client requests first; None for the page's order. priorities: the order that the client asks for. dialect: the
    signals by which the client asks for this order.
    size_bytes, script_delay_ns: the parameters of the page; None if the page does not use the parameter.
    reloads: page loads before the measured one, on the same connection.
    window_bytes: flow-control window per stream. connection_window_bytes: that of the connection; None for the same.
    disturb: the disturbance of a probe; None for none. service: the time that the front's server needs; None for none.
    """

    server: str
    via: Via | None
    program: str | None
    config: str | None
    native: str
    buffering: str
    record_bytes: int | None
    lowat: int | Literal["auto"] | None
    target_delay_ns: int
    sndbuf_bytes: int | None
    congestion_control: CongestionControl
    gso_segments: int | None
    front_qdisc: FrontQdisc | None
    link: Link
    cross: int
    cross_cc: CongestionControl
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
    connection_window_bytes: int | None
    disturb: Disturbance | None = None
    service: Service | None = None

    @property
    def whole_window_bytes(self) -> int:
        """The flow-control window of the connection."""
        return self.connection_window_bytes or self.window_bytes

    @property
    def front(self) -> Server:
        """The front's server, with the user's configuration if there is one. Raises ValueError if it cannot be used."""
        server = server_of(self.server)
        return server if self.config is None else with_config(server, self.config)

    @property
    def front_key(self) -> FrontKey:
        """SERVER, PROGRAM, CONFIG and VIA. Scenarios with the same key use the same programs and files."""
        return self.server, self.program, self.config, self.via.server if self.via else None

    @property
    def named_files(self) -> dict[str, str | None]:
        """The values of the knobs that may be paths of the user's own files, by knob."""
        names = ("SERVER", "PROGRAM", "CONFIG", "VIA")
        return dict(zip(names, self.front_key, strict=True))

    @property
    def steps(self) -> Steps | None:
        """The steps of a probe; None for page loads.

        The pause before a step is longer than the time in which the step before it can still be on its way. With a
        second front, it is also longer than the time in which the front gets the whole page from there.
        """
        if self.plan is not PlanKind.PROBE:
            return None
        silence_ns = self.link.longest_silence_ns(STEPS.size_bytes)
        if self.via is not None:
            silence_ns += self.via.link.longest_silence_ns(self.page.total_bytes)
        return steps_over(silence_ns)

    @property
    def lowat_bytes(self) -> int | None:
        """The value for the sysctl net.ipv4.tcp_notsent_lowat; None leaves the kernel's default."""
        return None if self.lowat == LOWAT_AUTO else self.lowat

    @property
    def front_settings(self) -> EndSettings:
        """The settings of the front's place."""
        return EndSettings(
            lowat_bytes=self.lowat_bytes,
            sndbuf_bytes=self.sndbuf_bytes,
            congestion_control=self.congestion_control,
            gso_segments=self.gso_segments,
            qdisc=self.front_qdisc,
            ecn=self.link.ecn,
        )

    @property
    def cross_traffic(self) -> CrossTraffic | None:
        """The competing flows; None without any."""
        return CrossTraffic(flows=self.cross, congestion_control=self.cross_cc) if self.cross else None


def as_record(scenario: Scenario) -> ScenarioRecord:
    """Returns the scenario in the form that run folders record."""
    fields = vars(scenario) | vars(scenario.link)
    del fields["link"]
    fields["via"] = scenario.via and scenario.via.as_record()
    fields |= {"page": scenario.page.name, "resources": scenario.page.resources, "dialect": str(scenario.dialect)}
    fields["rate_steps"] = link_options.format_rate_steps(scenario.link.rate_steps)
    for name in ("trace", "trace_up"):
        found = getattr(scenario.link, name)
        fields[name] = found and found.packed
    fields["qdisc"] = str(scenario.link.qdisc)
    fields["front_qdisc"] = scenario.front_qdisc and str(scenario.front_qdisc)
    fields["service"] = scenario.service and str(scenario.service)
    fields["cross_cc"] = str(scenario.cross_cc) if scenario.cross else None
    if scenario.lowat != LOWAT_AUTO:
        fields["target_delay_ns"] = None
    return ScenarioRecord(**fields)
