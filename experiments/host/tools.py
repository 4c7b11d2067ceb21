"""The programs that a run uses, with their versions and further findings."""

from collections.abc import Mapping
from dataclasses import dataclass

from common.clock_route import ClockRoute
from experiments.host.tuner_program import NO_TUNER, TunerOrder


@dataclass(frozen=True, kw_only=True)
class Tools:
    """Programs by name, as the places call them (absolute paths on this machine), and their versions.

    node_route: the way Node reads the clock, if found beforehand. tuner: the order for LOWAT=auto.
    """

    programs: Mapping[str, str]
    versions: Mapping[str, str]
    node_route: ClockRoute | None = None
    tuner: TunerOrder = NO_TUNER
