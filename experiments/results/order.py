"""The order for one arm: everything its process has to know, as a file of the run folder."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any, Self

import msgspec

from common.clock_route import ClockRoute
from common.formats.page import Page
from experiments.host.tools import Tools
from experiments.host.tuner_program import NO_TUNER, TunerOrder
from experiments.results.run_folder import RunFolder, read_json, write_json
from experiments.scenario.knobs import scenario_from
from experiments.scenario.scenario import Scenario
from netem.shaper import Shaper

BEGINS, ENDED = "begins ", "ended "
"""Progress of a command with several runs, before and after each; the run's name follows."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Execution options that reach the process of a run. They cross as they are, from the request to the places.

    shaper: the kind of link; None leaves it to the fabric. sample_ns: the interval at which the front's socket and the
    link's queue are sampled; None for hardly at all. capture: True to record packets.
    """

    shaper: Shaper | None = None
    sample_ns: int | None
    capture: bool = False

    def options(self) -> dict[str, Any]:
        """Returns these options by name, without what a subclass adds."""
        return {field.name: getattr(self, field.name) for field in fields(RunOptions)}


@dataclass(frozen=True, kw_only=True)
class Order(RunOptions):
    """An order. knobs: the scenario in words; page: the one of PAGE. fabric: its name.

    seed: for the link's randomness. load_deadline_ns: longest page load. programs, versions, node_route: see Tools.
    tuner: with LOWAT=auto, see TunerOrder.
    """

    knobs: Mapping[str, str]
    page: Page
    fabric: str
    seed: int
    load_deadline_ns: int
    programs: Mapping[str, str]
    versions: Mapping[str, str]
    node_route: ClockRoute | None = None
    tuner: TunerOrder | None = None

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario the knobs describe."""
        return scenario_from(self.knobs, self.page)

    @property
    def tools(self) -> Tools:
        """Programs, their versions, and what is known of them."""
        return Tools(programs=self.programs, versions=self.versions, node_route=self.node_route, tuner=self.asked_tuner)

    @property
    def asked_tuner(self) -> TunerOrder:
        """The tuner's order; empty if none was asked for."""
        return self.tuner or NO_TUNER

    def write(self, folder: RunFolder) -> None:
        """Writes the order into the run folder."""
        write_json(folder.arm, asdict(self))

    @classmethod
    def read(cls, folder: RunFolder) -> Self:
        """Reads what `write` wrote."""
        return msgspec.convert(read_json(folder.arm), cls)
