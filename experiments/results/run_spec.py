"""The order: the file arm.json of a run folder, with the settings for the process that carries out the run."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Self

from priolab.common.clock_route import ClockRoute
from priolab.common.formats.conversion import convert
from priolab.common.formats.files import read_json, write_json
from priolab.common.formats.page import Page
from priolab.common.tuning import TunerKind
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.results.run_options import RunOptions
from priolab.experiments.scenario.knobs import scenario_from
from priolab.experiments.scenario.scenario import Scenario
from priolab.experiments.setup.tools import Tools
from priolab.netem.sampling import Intervals, intervals


@dataclass(frozen=True, kw_only=True)
class RunSpec(RunOptions):
    """The settings of a run, for the process that carries out the run.

    knobs: the scenario as knobs. page: the page that the knob PAGE names. fabric: the name of the fabric. seed: the
    seed of the link's randomness. load_deadline_ns: the longest page load, in link time. programs: the commands that
    start the programs, by name. versions: the programs' versions, by name. node_route: how Node reads the clock; None
    if this is unknown before the run. tuner: the tuner that TUNER names; None without LOWAT=auto. root: the
    folder in whose file tree the front runs; None for the file tree of this machine. second_root: the same of the
    second front.
    """

    knobs: Mapping[str, str]
    page: Page
    fabric: str
    seed: int
    load_deadline_ns: int
    programs: Mapping[str, str]
    versions: Mapping[str, str]
    node_route: ClockRoute | None = None
    tuner: TunerKind | None = None
    root: str | None = None
    second_root: str | None = None

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario that the knobs describe."""
        return scenario_from(self.knobs, self.page)

    @property
    def sampling(self) -> Intervals | None:
        """The sampling intervals, before and during the measured load; None for a single sample."""
        return intervals(self.sample, self.scenario.link)

    @property
    def tools(self) -> Tools:
        """The programs of the run, and their versions."""
        return Tools(
            programs=self.programs,
            versions=self.versions,
            node_route=self.node_route,
            root=self.root,
            second_root=self.second_root,
        )

    def write(self, folder: RunFolder) -> None:
        """Writes the order into the run folder."""
        write_json(folder.arm, asdict(self))

    @classmethod
    def read(cls, folder: RunFolder) -> Self:
        """Reads the order from the run folder's file arm.json."""
        return convert(read_json(folder.arm), cls)
