"""The programs that a run uses, and what is known of them."""

from collections.abc import Mapping
from dataclasses import dataclass

from common.clock_route import Finding
from experiments.host.tuner_program import NO_TUNER, TunerOrder


@dataclass(frozen=True, kw_only=True)
class Tools:
    """Programs by name, as the places call them (absolute paths on this machine), and their versions.

    node_route: which way Node reads the clock, where that was found out beforehand. tuner: what LOWAT=auto is done by.
    """

    programs: Mapping[str, str]
    versions: Mapping[str, str]
    node_route: Finding | None = None
    tuner: TunerOrder = NO_TUNER
