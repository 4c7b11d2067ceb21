"""Compares LOWAT=auto with the best value that could have been set by hand, network by network. Pure.

1. The best fixed value is the one with the soonest script first byte among those whose goodput is within 1 % of that of
   LOWAT unset: the same is required of auto. If there is none, or nothing is known of unset, it is the best of all.
2. Auto is near if its script first byte is later than the best one's by at most 15 %, or by at most a TLS record of
   16 KiB at the link's rate.
3. Auto keeps goodput if its goodput is within 1 % of that of LOWAT unset.
4. A judgement that is not known is None, and counts neither as yes nor as no.

Medians are compared with fixed limits, whatever is measurable: the limits are the same for every network.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.sweeps.knee import LOSS, goodput_part
from analysis.sweeps.measures import Measure
from analysis.sweeps.networks import Level, Network

LATER = 0.15
"""The fraction by which a script first byte may be later than the best one's and still be near."""


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The judgement of a steered value in a network. ratio: auto's script first byte over the best fixed value's.

    left_out: fixed values that lose goodput. is_near, keeps_goodput: None if not known.
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
    """Judges every steered value of a network; empty if LOWAT=auto was not tried."""
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
