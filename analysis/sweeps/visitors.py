"""One LOWAT for visitors of several networks: what each value gains and costs in each, and over all of them. Pure.

1. A mix gives each network a share of the visitors. Figures over all are means, weighted by the shares.
2. The gain of a value is how much sooner than with LOWAT unset the script's first byte comes. Its loss in a network is
   the larger of two fractions: of goodput that it costs, and by which the first byte comes later, both against LOWAT
   unset. A difference that is not measurable (noise_band.py) is no loss.
3. The recommended value is one whose loss is at most the stated one in every network, LOWAT unset included. Of these it
   is the largest with which the mean first byte is later than the soonest mean by no more than the noise of the mean
   (the weighted grain). A smaller value would wake the server more often for nothing.
4. A value that lacks enough ok runs in one network is left out.
5. LOWAT=auto chooses a value for each connection. What it would add is its mean first byte against that of the
   recommended value. The best value of each network shows how much there is to add at most.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec import Struct

from priolab.analysis.reports.markdown import Table
from priolab.analysis.sweeps import words
from priolab.analysis.sweeps.knee import Knee, find
from priolab.analysis.sweeps.measures import Measure
from priolab.analysis.sweeps.network_knobs import AUTO, NONE
from priolab.analysis.sweeps.networks import Level, Network
from priolab.common.amounts import UNKNOWN, milliseconds, rate

MIX_FORMAT: Literal[1] = 1
"""The version of the format of a mix's result."""

_PRICES = (Measure.VOLUNTARY, Measure.CPU, Measure.MEMORY)


class Figures(Struct, frozen=True, kw_only=True):
    """What a value does in a network, or over all. gain_ms, loss: rule 2; loss is a fraction.

    wakeups_per_mb, cpu_ms_per_mb, memory_bytes: its price for the front; None if not counted.
    """

    first_byte_ms: float
    gain_ms: float
    goodput_bit_s: float
    loss: float
    wakeups_per_mb: float | None
    cpu_ms_per_mb: float | None
    memory_bytes: float | None


class Value(Struct, frozen=True, kw_only=True):
    """A value of LOWAT. networks: its figures by the network's name. over_all: weighted means, and the largest loss.

    is_allowed: True if its loss is at most the stated one in every network.
    """

    value: str
    networks: Mapping[str, Figures]
    over_all: Figures
    is_allowed: bool


class MixResult(Struct, frozen=True, kw_only=True):
    """The result for a mix. shares: the fraction of visitors by the name of the network.

    recommended: None if no value is allowed. best: the best value of each network. left_out: values with too few runs.
    """

    format: Literal[1] = MIX_FORMAT
    configuration: str
    most_loss: float
    shares: Mapping[str, float]
    values: list[Value]
    recommended: str | None
    best: Mapping[str, str | None]
    left_out: list[str]
    words: list[str]


@dataclass(frozen=True, kw_only=True)
class Part:
    """A network of a mix. share: of the visitors, as a fraction."""

    name: str
    share: float
    network: Network


def result(parts: Sequence[Part], most_loss: float, configuration: str) -> MixResult:
    """Returns the result for the networks of a mix, with one configuration of the server.

    most_loss: the largest loss of the recommended value in any network, as a fraction. Raises ValueError for a network
    without enough ok runs with LOWAT unset.
    """
    knees = {part.name: find(part.network) for part in parts}
    for part in parts:
        if part.network.unset is None:
            raise ValueError(f"{part.name}: too few runs with LOWAT unset are ok to compare anything with them")
    names = list(dict.fromkeys(level.value for part in parts for level in part.network.levels))
    known = [name for name in names if all(_known(part.network, name) for part in parts)]
    values = [_value(name, parts, knees, most_loss) for name in known]
    grain_ms = sum(part.share * knees[part.name].spreads[Measure.FIRST_BYTE].grain for part in parts)
    chosen = _recommended(values, grain_ms)
    best = {name: knee.recommended.value if knee.recommended else None for name, knee in knees.items()}
    return MixResult(
        configuration=configuration,
        most_loss=most_loss,
        shares={part.name: part.share for part in parts},
        values=values,
        recommended=chosen.value if chosen else None,
        best=best,
        left_out=[name for name in names if name not in known],
        words=[_choice(chosen, values, most_loss), *_tuning(chosen, values, best, parts)],
    )


def _known(network: Network, value: str) -> Level | None:
    return next((level for level in (*network.fixed, network.unset, *network.steered) if _is(level, value)), None)


def _is(level: Level | None, value: str) -> bool:
    return level is not None and level.value == value and level.is_good


def _value(value: str, parts: Sequence[Part], knees: Mapping[str, Knee], most_loss: float) -> Value:
    found = {part.name: _figures(part.network, value, knees[part.name]) for part in parts}
    shares = {part.name: part.share for part in parts}

    def over_all(key: str) -> float | None:
        amounts = {name: getattr(figures, key) for name, figures in found.items()}
        return None if None in amounts.values() else sum(shares[name] * amount for name, amount in amounts.items())

    means = {key: over_all(key) for key in Figures.__struct_fields__}
    worst = max(figures.loss for figures in found.values())
    return Value(
        value=value,
        networks=found,
        over_all=Figures(**{**means, "loss": worst}),  # type: ignore[arg-type]  # None only where a price is
        is_allowed=worst <= most_loss,
    )


def _figures(network: Network, value: str, knee: Knee) -> Figures:
    level, unset = _known(network, value), network.unset
    assert level is not None
    assert unset is not None
    first, goodput = (level.estimate(measure).median for measure in (Measure.FIRST_BYTE, Measure.GOODPUT))
    later = knee.against(level, unset, Measure.FIRST_BYTE)
    less = knee.against(level, unset, Measure.GOODPUT)
    losses = (
        later.amount / unset.estimate(Measure.FIRST_BYTE).median if later.is_more else 0.0,
        -less.amount / unset.estimate(Measure.GOODPUT).median if less.is_less else 0.0,
    )
    wakeups, cpu, memory = (found.median if (found := level.estimates.get(price)) else None for price in _PRICES)
    return Figures(
        first_byte_ms=first,
        gain_ms=-later.amount,
        goodput_bit_s=goodput,
        loss=max(losses),
        wakeups_per_mb=wakeups,
        cpu_ms_per_mb=cpu,
        memory_bytes=memory,
    )


def _recommended(values: Sequence[Value], grain_ms: float) -> Value | None:
    """Returns the value of rule 3; LOWAT=auto is none. values: fixed ones by size, then LOWAT unset, then auto."""
    allowed = [value for value in values if value.is_allowed and not _is_auto(value)]
    soonest_ms = min((value.over_all.first_byte_ms for value in allowed), default=0.0)
    good = [value for value in allowed if value.over_all.first_byte_ms <= soonest_ms + grain_ms]
    return max(good, key=lambda value: float("inf") if value.value == NONE else int(value.value), default=None)


def _is_auto(value: Value) -> bool:
    return value.value.partition(" ")[0] == AUTO


def _choice(chosen: Value | None, values: Sequence[Value], most_loss: float) -> str:
    if chosen is None:
        least = min((value.over_all.loss for value in values if not _is_auto(value)), default=0.0)
        return f"No value loses at most {most_loss:.1%} in every network; the least that one loses is {least:.1%}."
    over_all = chosen.over_all
    mean = f"the script's first byte comes after {milliseconds(over_all.first_byte_ms)} on average over all visitors"
    if chosen.value == NONE:
        return f"No LOWAT is needed for these visitors: with LOWAT unset {mean}, and no allowed value is sooner."
    loss = "It loses nothing measurable in any network"
    if over_all.loss:
        loss = f"In no network does it lose more than {over_all.loss:.1%} of goodput or of the first byte's time"
    return (
        f"The recommended value for all is {words.setting(chosen.value)}. With it {mean}, "
        f"{milliseconds(over_all.gain_ms)} sooner than with LOWAT unset. {loss} (allowed: {most_loss:.1%})."
    )


def _tuning(
    chosen: Value | None, values: Sequence[Value], best: Mapping[str, str | None], parts: Sequence[Part]
) -> list[str]:
    """Returns sentences about what a value for each connection would add to the recommended one."""
    if chosen is None:
        return []
    known = {value.value: value for value in values}
    told = []
    for value in filter(_is_auto, values):
        more_ms = chosen.over_all.first_byte_ms - value.over_all.first_byte_ms
        way = "sooner" if more_ms > 0 else "later"
        told.append(
            f"A tuner for each connection (LOWAT={value.value}) would bring it {milliseconds(abs(more_ms))} {way} on "
            f"average than {words.setting(chosen.value)}; its largest loss is {value.over_all.loss:.1%}."
        )
    if all(name in known for name in best.values()):
        ideal_ms = sum(part.share * known[str(best[part.name])].networks[part.name].first_byte_ms for part in parts)
        more_ms = max(0.0, chosen.over_all.first_byte_ms - ideal_ms)
        told.append(f"The best value for each network would bring it {milliseconds(more_ms)} sooner.")
    return told


def table(found: MixResult) -> Table:
    """Makes a line for each value of LOWAT: over all, then in each network, the first byte with its gain, and loss."""
    head = ("LOWAT", "over all", "wake-ups per MB", "memory", "largest loss")
    names = tuple(f"{name} ({share:.0%})" for name, share in found.shares.items())
    return Table(head=(*head, *names), rows=tuple(_row(found, value) for value in found.values))


def _row(found: MixResult, value: Value) -> tuple[str, ...]:
    mark = " (recommended)" if value.value == found.recommended else "" if value.is_allowed else " (not allowed)"
    over_all = value.over_all
    return (
        f"{value.value}{mark}",
        _gain(over_all),
        UNKNOWN if over_all.wakeups_per_mb is None else f"{over_all.wakeups_per_mb:.3g}",
        UNKNOWN if over_all.memory_bytes is None else words.amount(Measure.MEMORY, over_all.memory_bytes),
        f"{over_all.loss:.1%}",
        *(f"{_gain(each)}, {rate(each.goodput_bit_s)}" for each in value.networks.values()),
    )


def _gain(figures: Figures) -> str:
    gain = f"{milliseconds(abs(figures.gain_ms))} {'sooner' if figures.gain_ms > 0 else 'later'}"
    return milliseconds(figures.first_byte_ms) + (f" ({gain})" if figures.gain_ms else "")
