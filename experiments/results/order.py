"""The order for one arm: everything its process has to know, as a file of the run folder."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Self

from common.clock_route import ClockRoute
from common.formats.page import Page
from experiments.host.tools import Tools
from experiments.host.tuner_program import TunerOrder
from experiments.results.run_folder import RunFolder, read_json, write_json
from experiments.scenario.knobs import scenario_from
from experiments.scenario.scenario import Scenario
from netem.shaper import Shaper

BEGINS, ENDED = "begins ", "ended "
"""Progress of a command with several runs, before and after each; the run's name follows."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """An order. knobs: the scenario in words; page: the one of PAGE. fabric: its name.

    shaper: its name, None where the place decides.

    seed: for the link's randomness. sample_ns: the interval at which socket and queue are sampled, None for hardly at
    all.
    load_deadline_ns: longest page load. capture: True to record packets. programs, versions, node_route: see Tools.
    tuner: with LOWAT=auto, see TunerOrder.
    """

    knobs: Mapping[str, str]
    page: Mapping[str, Any]
    fabric: str
    shaper: str | None
    seed: int
    sample_ns: int | None
    load_deadline_ns: int
    capture: bool
    programs: Mapping[str, str]
    versions: Mapping[str, str]
    node_route: Mapping[str, Any] | None = None
    tuner: Mapping[str, Any] | None = None

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario the knobs describe."""
        return scenario_from(self.knobs, Page.from_document(self.page))

    @property
    def tools(self) -> Tools:
        """Programs, their versions, and what is known of them."""
        route = ClockRoute(**self.node_route) if self.node_route else None
        return Tools(programs=self.programs, versions=self.versions, node_route=route, tuner=self.asked_tuner)

    @property
    def asked_shaper(self) -> Shaper | None:
        """The shaper, if one was asked for."""
        return Shaper(self.shaper) if self.shaper else None

    @property
    def asked_tuner(self) -> TunerOrder:
        """The tuner's order; empty if none was asked for."""
        return TunerOrder(**(self.tuner or {}))

    def write(self, folder: RunFolder) -> None:
        """Writes the order into the run folder."""
        write_json(folder.arm, asdict(self))

    @classmethod
    def read(cls, folder: RunFolder) -> Self:
        """Reads what `write` wrote."""
        return cls(**read_json(folder.arm))
