"""The programs that a run uses, and their versions."""

from collections.abc import Mapping
from dataclasses import dataclass

from common.clock_route import ClockRoute
from proxy.tuner.tuner import TunerKind

FRONT, SECOND = "front", "second"
"""The names of the front's program and of the second front's (VIA) among the programs of a run."""

BROWSER = "chromium"
"""The browser's name among the programs of a run, and the name of its program."""


@dataclass(frozen=True, kw_only=True)
class TunerOrder:
    """The tuner to use in a run.

    kind: the kind of tuner that TUNER names; None for the first kind that can be used. program: the path of the
    compiled BPF program; None if the run has none. lack: the reason why the BPF program could not be compiled; None if
    it was compiled or is not needed.
    """

    kind: str | None = None
    program: str | None = None
    lack: str | None = None

    @property
    def must_be_bpf(self) -> bool:
        """True if TUNER=bpf, so no process beside the front may replace the BPF program."""
        return self.kind == TunerKind.BPF


NO_TUNER = TunerOrder()
"""The TunerOrder of a run without a tuner."""


@dataclass(frozen=True, kw_only=True)
class Tools:
    """The programs that a run uses.

    programs: by name, the command that starts the program in its namespace or container; outside containers an absolute
    path. versions: the version of each program, by name. node_route: how Node reads the clock; None if this is unknown
    before the run. tuner: the tuner to use with LOWAT=auto. root: the folder in whose file tree the front is installed
    and runs (roots.py); None for this machine's. second_root: the same of the second front.
    """

    programs: Mapping[str, str]
    versions: Mapping[str, str]
    node_route: ClockRoute | None = None
    tuner: TunerOrder = NO_TUNER
    root: str | None = None
    second_root: str | None = None
