"""LOWAT=auto against the best value that could have been set by hand, network by network. Pure.

1. The best fixed value is the one with the soonest script first byte, of those whose goodput is within 1 % of what it
   is with LOWAT unset: what is asked of auto is asked of them, too. If none is, or nothing is known of unset, of all.
2. Auto is near if its script first byte is at most 15 % later than the best one's, or at most one TLS record of 16 KiB
   at the link's rate.
3. Auto keeps goodput if it is within 1 % of what it is with LOWAT unset.
4. What is not known of the network is None, and counts neither as yes nor as no.

These are medians against limits that are given, and not a question of what is measurable: a limit is for everybody.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.sweeps.knee import LOSS, goodput_part
from analysis.sweeps.measures import Measure
from analysis.sweeps.networks import Level, Network

LATER = 0.15
"""By as much of the best one's a script first byte may be later and still is near."""


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """Of one steered value in one network. ratio: of script first bytes, auto's over the best fixed value's.

    left_out: fixed values that lose goodput. is_near, keeps_goodput: None if that is not known.
    """

    network: str
    value: str
    auto_ms: float | None
    best: str | None
    best_ms: float | None
    left_out: tuple[str, ...]
    ratio: float | None
    is_near: bool | None
    goodput_part: float | None
    keeps_goodput: bool | None


def judge(network: Network) -> list[Judgement]:
    """Every steered value of a network; none if LOWAT=auto was not tried."""
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
        network=network.name,
        value=auto.value,
        auto_ms=auto_ms,
        best=best.value if best else None,
        best_ms=best_ms,
        left_out=tuple(left_out),
        ratio=ratio,
        is_near=is_near,
        goodput_part=part,
        keeps_goodput=None if part is None else part >= 1 - LOSS,
    )


def _first_byte_ms(level: Level) -> float:
    return level.estimate(Measure.FIRST_BYTE).median
