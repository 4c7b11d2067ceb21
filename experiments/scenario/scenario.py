"""The Scenario value: server, link, LOWAT, send buffer, congestion control, client, priorities, page and more.

A Scenario that exists is valid. `knobs.scenario_from` builds it from the text of knobs.
"""

from dataclasses import InitVar, dataclass, fields
from enum import StrEnum
from functools import cached_property

from priolab.client import dialects
from priolab.client.dialects import Dialect
from priolab.client.plan import STEPS, PlanKind, steps_over
from priolab.client.priorities import Priorities
from priolab.common.formats.page import Page
from priolab.common.formats.plan import Disturbance, Steps
from priolab.common.formats.scenario import AUTO, ScenarioRecord, ViaRecord
from priolab.experiments.scenario.service import Service
from priolab.netem.link import Link
from priolab.proxy.server import Server, server_of, with_config
from priolab.proxy.switch import H2C, HTTP1
from priolab.testbed import CongestionControl, CrossTraffic, EndSettings, FrontQdisc

RECORD_LEAST, RECORD_MOST = 512, 16_384
"""Bounds of RECORD, in bytes of plaintext. RFC 8446, 5.1 sets the upper bound; the lower bound is the lab's choice."""


FrontKey = tuple[str, str | None, str | None, str | None]
"""The values of SERVER, PROGRAM, CONFIG and VIA.

None stands for the installed program, for the lab's configuration, and for no second front.
"""


class ViaHttp(StrEnum):
    """The protocols between the two fronts, both without TLS."""

    HTTP1 = "1.1"
    HTTP2 = "2"

    @property
    def level(self) -> str:
        """The level of a server's switches `listener` and `upstream`."""
        return H2C if self is ViaHttp.HTTP2 else HTTP1


@dataclass(frozen=True, kw_only=True)
class Via(ViaRecord):
    """The second front with its server and its link, whose far end it is."""

    http: ViaHttp

    @property
    def front(self) -> Server:
        """The second front's server. Raises ValueError if it cannot be used."""
        return server_of(self.server)

    @cached_property
    def link(self) -> Link:
        """The link from the second front to the front."""
        return Link(
            rate_bit_s=self.rate_bit_s,
            delay_ns=self.delay_ns,
            delay_up_ns=self.delay_ns,
            queue_packets=self.queue_packets,
            queue_bytes=self.queue_bytes,
        )


@dataclass(frozen=True, kw_only=True)
class Scenario(ScenarioRecord):
    """Everything that may change a result: the record of run.json, with the types and the parts that a run needs.

    full_page: the page that `page` names, with its title and notes, which run.json does not have; None for the page
    that the resources make.
    """

    via: Via | None = None
    congestion_control: CongestionControl
    front_qdisc: FrontQdisc | None = None
    plan: PlanKind
    priorities: Priorities
    cross_cc: CongestionControl | None = None
    disturb: Disturbance | None = None
    full_page: InitVar[Page | None] = None

    def __post_init__(self, full_page: Page | None) -> None:
        """Keeps the page in place of the one that the record makes of the resources."""
        super().__post_init__()
        if full_page is not None:
            vars(self)["whole_page"] = full_page

    @cached_property
    def link(self) -> Link:
        """The link between client and front."""
        return Link.from_document(
            {each.name: getattr(self, each.name) for each in fields(Link) if hasattr(self, each.name)}
        )

    @cached_property
    def client_dialect(self) -> Dialect:
        """The dialect."""
        return dialects.parse(self.dialect)

    @property
    def service_time(self) -> Service | None:
        """The time that the front's server needs; None for none."""
        return None if self.service is None else Service.parse(self.service)

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
            silence_ns += self.via.link.longest_silence_ns(self.whole_page.total_bytes)
        return steps_over(silence_ns)

    @property
    def lowat_bytes(self) -> int | None:
        """The value for the sysctl net.ipv4.tcp_notsent_lowat; None leaves the kernel's default."""
        return None if self.lowat == AUTO else self.lowat

    @property
    def front_settings(self) -> EndSettings:
        """The settings of the front's place."""
        return EndSettings(
            lowat_bytes=self.lowat_bytes,
            sndbuf_bytes=self.sndbuf_bytes,
            congestion_control=self.congestion_control,
            gso_segments=self.gso_segments,
            qdisc=self.front_qdisc,
            ecn=self.ecn,
        )

    @property
    def cross_traffic(self) -> CrossTraffic | None:
        """The competing flows; None without any."""
        return CrossTraffic(flows=self.cross, congestion_control=self.cross_cc) if self.cross_cc else None
