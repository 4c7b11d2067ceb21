"""The programs that a run uses, and their versions."""

from collections.abc import Mapping
from dataclasses import dataclass

from common.clock_route import ClockRoute
from experiments.host.tuner_program import NO_TUNER, TunerOrder


@dataclass(frozen=True, kw_only=True)
class Tools:
    """The programs that a run uses.

    programs: for each program's name the command that starts it in its place; an absolute path on this machine.
    versions: for each program's name its version. node_route: how Node reads the clock; None if unknown before the
    run. tuner: the order for LOWAT=auto.
    """

    programs: Mapping[str, str]
    versions: Mapping[str, str]
    node_route: ClockRoute | None = None
    tuner: TunerOrder = NO_TUNER
