"""Puts the results of a sweep into words, with units. Pure."""

from collections.abc import Mapping
from math import inf, isinf

from priolab.analysis.sweeps.auto_vs_fixed import Judgement
from priolab.analysis.sweeps.bootstrap import Estimate
from priolab.analysis.sweeps.knee import LOSS, Knee, goodput_part
from priolab.analysis.sweeps.measures import Measure
from priolab.analysis.sweeps.network_knobs import LOWAT, NONE
from priolab.analysis.sweeps.networks import Level, Network
from priolab.analysis.sweeps.noise_band import Difference, Spread
from priolab.common.amounts import kibibytes, milliseconds, rate

ARTICLE = "131072"
"""The LOWAT of the article, and of most recipes since the article."""

_FIRST = Measure.FIRST_BYTE


def amount(measure: Measure, value: float) -> str:
    """Formats a measured value."""
    if measure is Measure.GOODPUT:
        return rate(value)
    if measure in (Measure.CPU, Measure.SECOND_CPU):
        return f"{value:.3g} ms"
    if measure is Measure.MEMORY:
        return kibibytes(value)
    return milliseconds(value) if measure.endswith("_ms") else f"{value:.3g}"


def interval(measure: Measure, estimate: Estimate) -> str:
    """Formats the median and its interval. A single repetition has no interval."""
    text = amount(measure, estimate.median)
    if estimate.repetitions == 1:
        return f"{text} (one repetition)"
    low, high = amount(measure, estimate.low), amount(measure, estimate.high)
    if low == high:
        return text
    number, _, unit = low.rpartition(" ")
    return f"{text} ({number if number and high.endswith(f' {unit}') else low} to {high})"


def lowat(level: Level) -> str:
    """Formats a value of LOWAT or VIA_LOWAT for a sentence."""
    return setting(level.value, level.knob)


def setting(value: str, knob: str = LOWAT) -> str:
    """Formats a value of LOWAT or VIA_LOWAT, given as in a sweep, for a sentence."""
    return f"{knob} unset" if value == NONE else f"{knob}={value}"


def difference(measure: Measure, found: Difference) -> str:
    """Returns a difference in words, or says that it is within the noise band."""
    if not found.is_measurable:
        return "within the noise band"
    more, less = ("more", "less") if measure is Measure.GOODPUT else ("later", "sooner")
    return f"{amount(measure, abs(found.amount))} {more if found.amount > 0 else less}"


def reason(network: Network, knee: Knee) -> str:
    """Returns the recommended value and the reason for it, in sentences."""
    chosen, best = knee.recommended, knee.best
    if chosen is None or best is None:
        return "No value can be recommended: no run with a fixed LOWAT, or with LOWAT unset, is ok."
    first_of = "the soonest of the values that keep goodput" if knee.out else "the soonest of all values"
    own, soonest = (interval(_FIRST, level.estimate(_FIRST)) for level in (chosen, best))
    if chosen is network.unset and not network.has_important:
        nothing = "nothing on this page is important, so there is nothing to prioritize"
        return f"No {network.knob} is needed here: {nothing}. What a value would cost and save follows."
    if chosen is network.unset:
        than = f", {first_of}" if best is chosen else f". {lowat(best)} is not measurably sooner: {soonest}"
        return f"No {network.knob} is needed here. With {lowat(chosen)} the script's first byte comes at {own}{than}."
    than = f", {first_of}"
    if best is not chosen:
        than = f". This is not measurably later than {first_of}: {soonest} with {lowat(best)}"
    return (
        f"The recommended value is {lowat(chosen)}. With it the script's first byte comes at {own}{than}. No larger "
        f"value brings it as soon{_than_unset(network, knee, chosen)}."
    )


def _than_unset(network: Network, knee: Knee, chosen: Level) -> str:
    goodput = rate(chosen.estimate(Measure.GOODPUT).median)
    if network.unset is None:
        held = f"was compared with that of {lowat(knee.reference)}" if knee.reference else "was not compared"
        return f". There is no result for {setting(NONE, network.knob)}. Goodput is {goodput}. It {held}"
    unset = milliseconds(network.unset.estimate(_FIRST).median)
    gain = knee.against(chosen, network.unset, Measure.GOODPUT)
    less = f"{1 - goodput_part(chosen, network.unset):.1%} less"
    compared = "more" if gain.is_more else less if gain.is_less else "not measurably less"
    without = lowat(network.unset)
    return f". With {without} it comes at {unset}. Goodput is {goodput}, {compared} than with {without}"


def price(network: Network, knee: Knee) -> str | None:
    """Returns sentences about what the recommended value costs the front, and with VIA the second front.

    The costs of another value stand beside them: of LOWAT unset or, if this is recommended, of the largest fixed value.
    None if there is nothing to compare, or nothing was counted.
    """
    chosen = knee.recommended
    other = network.unset if chosen is not network.unset else next(reversed(network.fixed), None)
    if chosen is None or other is None:
        return None
    told = []
    for which, units in _PRICES.items():
        parts = []
        for measure, unit in units.items():
            own, beside = chosen.estimates.get(measure), other.estimates.get(measure)
            if own is not None and beside is not None:
                parts.append(f"{amount(measure, own.median)} {unit} ({lowat(other)}: {amount(measure, beside.median)})")
        told += [f"Its price for {which}: {', '.join(parts)}."] if parts else []
    return " ".join(told) or None


_PRICES = {
    "the front": {
        Measure.VOLUNTARY: "wake-ups per MB",
        Measure.WRITES: "writes per MB",
        Measure.CPU: "of processor time per MB",
        Measure.MEMORY: "at most in the send buffer",
        Measure.GOODPUT: "of goodput",
    },
    "the second front": {
        Measure.SECOND_VOLUNTARY: "wake-ups per MB",
        Measure.SECOND_WRITES: "writes per MB",
        Measure.SECOND_CPU: "of processor time per MB",
    },
}


def falls(network: Network, knee: Knee) -> str:
    """Returns sentences about the value at which goodput falls."""
    if knee.reference is None or not network.fixed:
        return f"It is not known if goodput falls, because there are no two values of {network.knob} to compare."
    if knee.falls_at is None:
        tried = [level.value for level in network.fixed if level is not knee.reference]
        span = tried[0] if len(tried) == 1 else f"{tried[0]} to {tried[-1]}"
        return f"Goodput falls measurably with none of the values that were tried ({network.knob}={span})."
    less = 1 - goodput_part(knee.falls_at, knee.reference)
    goodput = rate(knee.falls_at.estimate(Measure.GOODPUT).median)
    told = (
        f"Goodput falls measurably at {lowat(knee.falls_at)}. It is {goodput} there, {less:.1%} less than with "
        f"{lowat(knee.reference)}."
    )
    return f"{told} A loss of up to {LOSS:.0%} is accepted." if less <= LOSS else told


def instants(network: Network, knee: Knee) -> str:
    """Returns sentences about the instants at which the script was ready, and the waits at each of them."""
    found, chosen, best = network.instants, knee.recommended, knee.best
    if not network.has_important:
        return "No resource is important, so there is no instant to vary."
    if not found:
        return "The page has delays of its own, so the instant at which the script is ready was not varied."
    if len(found) == 1:
        told = f"The script was ready at one instant alone, JS_DELAY={found[0]}ms. At another one another value may be"
        return f"{told} the soonest: a sweep without JS_DELAY tries several."
    told = f"These are means over {len(found)} instants, JS_DELAY={found[0]}ms to {found[-1]}ms."
    if chosen is None or best is None:
        return told
    shown = {
        each.value: (lowat(each), span) for each in (chosen, best, network.unset) if each and (span := waits(each))
    }
    each_way = ", ".join(f"{low} to {high} with {name}" for name, (low, high) in shown.values())
    told += f" At a single instant the script waits {each_way}."
    grain_ms = knee.spreads[_FIRST].grain
    lucky = [
        f"{lowat(each)} (JS_DELAY={at}ms)"
        for each in network.fixed
        for at in found
        if each not in (chosen, best) and each.instants.get(at, inf) + grain_ms < chosen.instants.get(at, -inf)
    ]
    return (
        f"{told} Sooner than the recommended value at one instant, but not on average: {', '.join(lucky)}."
        if lucky
        else told
    )


def waits(level: Level) -> tuple[str, str] | None:
    """Returns the shortest and the longest wait of the script, of all instants; None without instants."""
    found = [first_ms - instant_ms for instant_ms, first_ms in level.instants.items()]
    return (milliseconds(min(found)), milliseconds(max(found))) if found else None


_CONFIGURED = ("PROGRAM", "CONFIG")


def configuration(network: Network, usual: Mapping[str, str | None]) -> str | None:
    """Returns a sentence that says for which configuration of the server the recommendation holds.

    usual: by server, the level of BUFFERING with which it is installed; None if it is neither. Returns None for a
    server that is missing, as in sweeps of earlier versions.
    """
    server, buffering = network.knobs.get("SERVER", ""), network.knobs.get("BUFFERING", "")
    if server not in usual:
        return None
    if own := [f"{name}={network.knobs[name]}" for name in _CONFIGURED if network.knobs[name] != "stock"]:
        return f"This holds for {server} with {' and '.join(own)}."
    if buffering == usual[server]:
        return f"This holds for {server} as it is installed: BUFFERING={buffering} is its default."
    if usual[server] is None:
        told = f"This holds for {server} with BUFFERING={buffering}. It is installed with other buffers."
        return f"{told} CONFIG=FILE measures a configuration of your own."
    told = f"This does not hold for {server} as it is installed: BUFFERING={buffering} enlarges its buffers."
    return f"{told} Its default is BUFFERING={usual[server]}."


def documentation(network: Network, knee: Knee) -> str:
    """Compares the recommended value with the kernel's documentation and with the article's value, in sentences.

    Documentation/networking/ip-sysctl.rst explains tcp_notsent_lowat. This document names no value to choose, and
    gives the default, which is no limit.
    """
    unset = _compared(network, knee, network.level(NONE), setting(NONE, network.knob))
    article = _compared(network, knee, network.level(ARTICLE), f"the article's value, {network.knob}={ARTICLE},")
    return f"The kernel's documentation names no value, and its default is no limit. {unset} {article}"


def _compared(network: Network, knee: Knee, level: Level | None, name: str) -> str:
    """Compares a level of this name with the recommended value, in a sentence."""
    subject = f"{name[0].upper()}{name[1:]}"
    if level is None or not level.is_good or knee.recommended is None:
        return f"{subject} was not measured here."
    if level in network.thin:
        return f"{subject} has too few ok runs to compare it: {level.repetitions} of {level.asked}."
    if level is knee.recommended:
        return f"{subject} is recommended here."
    found = knee.against(level, knee.recommended, _FIRST)
    first = milliseconds(level.estimate(_FIRST).median)
    told = difference(_FIRST, found) if found.is_measurable else "not measurably sooner or later"
    return f"With {name} the script's first byte comes at {first}, {told} than with the recommended value."


def left_out(network: Network) -> str | None:
    """Returns a sentence about the values with too few ok runs to be compared; None if there are no such values."""
    if not network.thin:
        return None
    each = ", ".join(f"{lowat(level)} ({_repetitions(level)})" for level in network.thin)
    return f"Values with fewer than {network.enough} ok runs are left out: {each}."


def _repetitions(level: Level) -> str:
    return f"{level.repetitions} of {level.asked} runs ok"


def factor(ratio: float) -> str:
    """Formats a ratio of two measured values, the larger over the smaller."""
    return "any factor" if isinf(ratio) else f"factor {ratio:.4g}"


def no_difference(network: Network, knee: Knee) -> str:
    """Returns sentences about the noise band and its origin."""
    first, goodput = (knee.spreads[measure] for measure in (_FIRST, Measure.GOODPUT))
    grain = f"a TLS record's time ({milliseconds(first.grain)} in first byte, {rate(goodput.grain)} in goodput)"
    told = f"A difference within the noise band may be chance. The band is {grain}"
    if network.pair is None or first.repetitions is None:
        return f"{told}. There is no A/A pair."
    pair = f"{lowat(network.pair[0])} twice, with {_times(*first.repetitions)}"
    if not (_shows(_FIRST, first) or _shows(Measure.GOODPUT, goodput)):
        return f"{told}. The A/A pair, {pair}, is the same run repeated, so it tells of no chance."
    spread = {measure: _spread(measure, knee.spreads[measure]) for measure in (_FIRST, Measure.GOODPUT)}
    return (
        f"{told}, or the spread of the A/A pair if this is larger. The pair is {pair}. Its spread is {spread[_FIRST]} "
        f"in first byte, and {spread[Measure.GOODPUT]} in goodput."
    )


def _shows(measure: Measure, spread: Spread) -> bool:
    """Returns True if the halves of the pair differ in the digits that are shown."""
    return amount(measure, spread.amount or 0.0) != amount(measure, 0.0)


def _spread(measure: Measure, spread: Spread) -> str:
    if not _shows(measure, spread):
        return "none"
    return f"{amount(measure, spread.amount or 0.0)} ({factor(spread.ratio or 1.0)})"


def _times(one: int, other: int) -> str:
    if one != other:
        return f"{one} and {other} repetitions"
    return "one repetition each" if one == 1 else f"{one} repetitions each"


def judgement(found: Judgement) -> str:
    """Compares LOWAT=auto with the best fixed value, in sentences."""
    if found.script_first_byte_ms is None:
        return f"No run with LOWAT={found.value} is ok."
    told = f"With LOWAT={found.value} the script's first byte comes at {milliseconds(found.script_first_byte_ms)}"
    if found.ratio is None or found.best_fixed_ms is None:
        told += ". There is no fixed value to compare it with"
    else:
        near = "near" if found.near else "not near"
        told += (
            f". This is {near} the {milliseconds(found.best_fixed_ms)} with the best fixed value, "
            f"LOWAT={found.best_fixed} (ratio {found.ratio:.2f})"
        )
    if found.goodput_part is None:
        return f"{told}. Goodput with LOWAT unset is not known."
    kept = "kept" if found.keeps_goodput else "not kept"
    return f"{told}. Goodput is {found.goodput_part:.1%} of that with LOWAT unset, so it is {kept}."
