"""Compares LOWAT=auto with the best value that could have been set by hand, network by network. Pure.

1. The best fixed value has the soonest script first byte of all fixed values whose goodput is within 1 % of that with
   LOWAT unset, as rule 3 requires of auto. If no value keeps goodput, or the goodput with LOWAT unset is not known, all
   fixed values are candidates.
2. Auto is near if its script first byte is later than that of the best fixed value by at most 15 %, or by at most the
   time of a TLS record of 16 KiB at the link's rate.
3. Auto keeps goodput if its goodput is within 1 % of that with LOWAT unset.
4. A judgement that is not known is None, and counts neither as yes nor as no.

The differences of medians are compared with these fixed limits, not with the noise band, so that the limits are the
same for every network.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from priolab.analysis.sweeps.knee import LOSS, goodput_part
from priolab.analysis.sweeps.measures import Measure
from priolab.analysis.sweeps.networks import Level, Network

LATER = 0.15
"""Auto is near if its script first byte is later than that of the best fixed value by at most this fraction."""


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The judgement of LOWAT=auto in a network, as the summary has it.

    value: `auto`, with TARGET_DELAY if the sweep has several. best_fixed: the best fixed value. left_out: fixed values
    that lose too much goodput. ratio: auto's script first byte as a multiple of the best fixed value's. goodput_part:
    auto's goodput as a fraction of the goodput with LOWAT unset. near, keeps_goodput: None if not known.
    """

    value: str
    script_first_byte_ms: float | None
    best_fixed: str | None
    best_fixed_ms: float | None
    left_out: tuple[str, ...]
    ratio: float | None
    near: bool | None
    goodput_part: float | None
    keeps_goodput: bool | None


def judge(network: Network) -> list[Judgement]:
    """Judges LOWAT=auto in a network, with each TARGET_DELAY; empty if LOWAT=auto was not tried."""
    kept = [level for level in network.fixed if goodput_part(level, network.unset) >= 1 - LOSS]
    choice = min(kept or network.fixed, key=_first_byte_ms, default=None)
    left_out = tuple(level.value for level in network.fixed if kept and level not in kept)
    return [_judge(network, level, choice, left_out) for level in network.steered]


def _judge(network: Network, auto: Level, best: Level | None, left_out: Sequence[str]) -> Judgement:
    auto_ms = _first_byte_ms(auto) if auto.is_good else None
    best_ms = _first_byte_ms(best) if best else None
    ratio = is_near = None
    if auto_ms is not None and best_ms is not None:
        ratio = auto_ms / best_ms
        is_near = ratio <= 1 + LATER or auto_ms - best_ms <= network.record_ms
    part = goodput_part(auto, network.unset) if auto.is_good and network.unset else None
    return Judgement(
        value=auto.value,
        script_first_byte_ms=auto_ms,
        best_fixed=best.value if best else None,
        best_fixed_ms=best_ms,
        left_out=tuple(left_out),
        ratio=ratio,
        near=is_near,
        goodput_part=part,
        keeps_goodput=None if part is None else part >= 1 - LOSS,
    )


def _first_byte_ms(level: Level) -> float:
    return level.estimate(Measure.FIRST_BYTE).median
