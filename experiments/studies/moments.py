"""The script at other moments: tells whether the soonest value is so for a reason, or by luck. Pure.

1. A server hands over buffers as a whole, and a packet buffer takes 64 KiB. A script that comes just before the next
   one is written is soon; a script that comes just after waits for all of it. So the first byte at one moment is partly
   luck, and the best of several values is the luckiest of them.
2. Every value of every network is tried with the script at several moments, evenly over the time that two packet
   buffers take at the link's rate, and the means are compared. The best fixed value is the one with the smallest mean,
   of those that cost no goodput (`steered`).
3. Near means the same as at one moment: at most 15 % later, or one TLS record's time.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import mean
from typing import Any

from analysis.sweeps.measures import Measure
from analysis.sweeps.networks import AUTO, Network
from analysis.sweeps.steered import LATER
from common.packets import PACKET_BUFFER_BYTES
from experiments.scenario.knobs import KNOBS

_MOMENT = "JS_DELAY"
_MOMENTS = 12
_BUFFERS = 2


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A network with the script at several moments: first bytes by value and moment, auto among the values.

    may_be_best: fixed values that cost no goodput. record_ms: the time of a TLS record at the link's rate.
    """

    moments_ms: tuple[int, ...]
    first_bytes_ms: Mapping[str, tuple[float, ...]]
    may_be_best: tuple[str, ...]
    record_ms: float

    @property
    def best(self) -> str:
        """The fixed value with the smallest mean."""
        return min(self.may_be_best, key=self.mean_ms)

    def mean_ms(self, value: str) -> float:
        """The value's mean over all moments. Raises KeyError."""
        return mean(self.first_bytes_ms[value])

    @property
    def ratio(self) -> float:
        """The ratio of auto's mean to the best fixed value's."""
        return self.mean_ms(AUTO) / self.mean_ms(self.best)

    @property
    def is_near(self) -> bool:
        """True if auto's mean is near."""
        return self.ratio <= 1 + LATER or self.mean_ms(AUTO) - self.mean_ms(self.best) <= self.record_ms

    def sooner(self, value: str) -> int:
        """The number of moments at which a value is sooner than auto."""
        return sum(own < auto for own, auto in zip(self.first_bytes_ms[value], self.first_bytes_ms[AUTO], strict=True))


def moments_ms(knobs: Mapping[str, str]) -> tuple[int, ...]:
    """The script's moments in a network with these words, in milliseconds after its request."""
    first_ms = int(KNOBS[_MOMENT].parse(knobs[_MOMENT]) / 10**6)
    rate_bit_s: int | None = KNOBS["RATE"].parse(knobs["RATE"])
    if rate_bit_s is None:
        return (first_ms,)
    buffers_ms = _BUFFERS * PACKET_BUFFER_BYTES * 8000 / rate_bit_s
    return tuple(first_ms + round(buffers_ms * number / _MOMENTS) for number in range(_MOMENTS))


def grids(summary: Mapping[str, Any]) -> list[list[str]]:
    """Words of the sweeps to make, one for each rate of a summary's networks: all its values at all moments."""
    by_rate: dict[str, list[Mapping[str, str]]] = {}
    for network in summary["networks"]:
        by_rate.setdefault(network["knobs"]["RATE"], []).append(network["knobs"])
    return [_words(networks, _values(summary)) for networks in by_rate.values()]


def _values(summary: Mapping[str, Any]) -> list[str]:
    found = chain.from_iterable(network["values"] for network in summary["networks"])
    return list(dict.fromkeys(each["value"] for each in found if each["lowat"] is not None or each["value"] == AUTO))


def _words(networks: Sequence[Mapping[str, str]], values: Sequence[str]) -> list[str]:
    levels = {name: list(dict.fromkeys(knobs[name] for knobs in networks)) for name in networks[0]}
    levels |= {"LOWAT": list(values), _MOMENT: [f"{each}ms" for each in moments_ms(networks[0])]}
    return [f"{name}={','.join(words)}" for name, words in levels.items()]


def gather(summary: Mapping[str, Any], found: Iterable[Network]) -> dict[str, Trial]:
    """The trial of each network of the summary, by name. found: the networks of all sweeps of `grids`.

    A value with a missing run at some moment is left out; so is a network without auto or without any other value.
    """
    by_cell: dict[tuple[tuple[str, str], ...], list[Network]] = {}
    for network in found:
        by_cell.setdefault(_cell(network.knobs), []).append(network)
    trials = {each["network"]: _trial(each, by_cell.get(_cell(each["knobs"]), [])) for each in summary["networks"]}
    return {name: trial for name, trial in trials.items() if trial is not None}


def _cell(knobs: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, word) for name, word in knobs.items() if name != _MOMENT))


def _trial(network: Mapping[str, Any], found: Sequence[Network]) -> Trial | None:
    moments = moments_ms(network["knobs"])
    at = {int(KNOBS[_MOMENT].parse(each.knobs[_MOMENT]) / 10**6): each for each in found}
    if not set(moments) <= set(at) or len(network["auto"]) != 1:
        return None
    levels = {
        value: [level for moment in moments if (level := at[moment].level(value)) and level.is_good]
        for value in [each["value"] for each in network["values"]]
    }
    first_bytes = {
        value: tuple(level.estimate(Measure.FIRST_BYTE).median for level in good)
        for value, good in levels.items()
        if len(good) == len(moments)
    }
    left_out = network["auto"][0]["left_out"]
    fixed = [each["value"] for each in network["values"] if each["lowat"] is not None and each["value"] in first_bytes]
    kept = tuple(value for value in fixed if value not in left_out)
    if AUTO not in first_bytes or not kept:
        return None
    return Trial(moments_ms=moments, first_bytes_ms=first_bytes, may_be_best=kept, record_ms=at[moments[0]].record_ms)
