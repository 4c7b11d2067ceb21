"""A trial of a server under test: what a client asks of it, the same for every kind of server.

The lab carries out a trial as a run: `knobs` are the trial's, to which those of an installed server, a folder or a
program are added. A server that runs already has no link of the lab's: `Site.plan` makes the client's plan (target.py).
"""

from dataclasses import dataclass, replace

from priolab.analysis.judgement.order import Reply
from priolab.analysis.loads.probe import Probe
from priolab.client import dialects
from priolab.client.dialects import Dialect
from priolab.client.plan import PROBE_LEAST_BYTES, PlanKind
from priolab.client.priorities import Priorities
from priolab.common.formats.plan import Disturbance, Protocol
from priolab.experiments.execution.request import Arm
from priolab.experiments.scenario.knobs import with_defaults
from priolab.experiments.scenario.stimuli import Stimulus, asked_by, stimulus_page

SIZE_BYTES = PROBE_LEAST_BYTES * 3 // 2
"""The size of the resources in the lab's probes."""

_PROBE = {"RATE": "unlimited", "DELAY": "0ms", "LOWAT": "none"}


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A probe, or loads of a page on one connection.

    page: the name of a page, whose file has each resource's priorities. dialect: the signals that send them.
    priorities: the order that the client asks for. first: the resource requested first; None for the page's order.
    disturbance: the disturbance of a probe. loads: the number of page loads. lowat_bytes: LOWAT of the front; None for
    no limit. native: True if the server limits its unsent bytes itself.
    """

    plan: PlanKind = PlanKind.PROBE
    page: str = Stimulus.USUAL
    dialect: Dialect = dialects.PLAIN
    priorities: Priorities = Priorities.SPDY
    first: str | None = None
    disturbance: Disturbance | None = None
    loads: int = 1
    lowat_bytes: int | None = None
    native: bool = False

    @property
    def knobs(self) -> dict[str, str]:
        """The knobs of the trial, without those of the server."""
        knobs = {
            "PLAN": str(self.plan),
            "PAGE": str(self.page),
            "DIALECT": str(self.dialect),
            "PRIORITY": str(self.priorities),
            "RELOADS": str(self.loads - 1),
            "LOWAT": "none" if self.lowat_bytes is None else str(self.lowat_bytes),
        }
        if self.plan is PlanKind.PROBE:
            knobs |= _PROBE
            if not stimulus_page(self.page, ("/",)).is_sequence:
                knobs["SIZE"] = str(SIZE_BYTES)
        if self.first is not None:
            knobs["FIRST"] = self.first
        if self.disturbance is not None:
            knobs["DISTURB"] = str(self.disturbance)
        if self.native:
            knobs["NATIVE"] = "on"
        return knobs

    @property
    def pair(self) -> tuple["Trial", "Trial"]:
        """Two probes with opposite orders: the important resource is asked for first, and the other one is."""
        return replace(self, priorities=Priorities.SPDY), replace(self, priorities=Priorities.SWAP)

    def reply(self, asked: Probe, swapped: Probe, protocol: Protocol = Protocol.HTTP2) -> Reply:
        """Returns a server's reply in the pair of probes."""
        return Reply.of(asked_by(self.page, self.dialect, protocol), asked, swapped)

    def arm(self, name: str, **others: str) -> Arm:
        """Returns the arm of an experiment that carries out the trial. others: further knobs, such as SERVER."""
        return Arm(name=name.replace("+", "-"), knobs=with_defaults(self.knobs | others))
