"""Makes the summary of a sweep, in a stable format (docs/reference/results.md), which its types declare. Pure.

`msgspec.json.schema(Summary)` is its JSON Schema, with descriptions. Keys are added, never renamed or removed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isinf
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, to_builtins

from priolab.analysis.sweeps import words
from priolab.analysis.sweeps.auto_vs_fixed import Judgement, judge
from priolab.analysis.sweeps.bootstrap import Estimate
from priolab.analysis.sweeps.folder import Sweep, Trouble
from priolab.analysis.sweeps.knee import Knee, find
from priolab.analysis.sweeps.measures import Measure
from priolab.analysis.sweeps.network_knobs import JS_DELAY
from priolab.analysis.sweeps.networks import Level, Network, networks
from priolab.analysis.sweeps.noise_band import Spread
from priolab.analysis.sweeps.validation import PROMISED, promised

SUMMARY_FORMAT: Literal[1] = 1
"""The version of the summary's format. The format of sweep.json has its own version."""

_DIGITS = 6
_DIGITS_OF_COVERAGE = 4
_LARGEST_SEED = 2**32 - 1
_Whole = Annotated[int, Meta(ge=0)]


class _Runs(Struct, frozen=True, kw_only=True):
    asked: _Whole
    ok: _Whole
    troubles: list[Trouble]


class _Made(Struct, frozen=True, kw_only=True):
    """The fabric, repetitions and seeds of the runs. first_seed, last_seed: of the arms, then of the twins."""

    fabric: str
    repeat: Annotated[int, Meta(ge=1)]
    first_seed: _Whole
    last_seed: _Whole


class _Pair(Struct, frozen=True, kw_only=True):
    """The A/A pair. value: its value of LOWAT. repetitions: those of the arm and of its twin."""

    value: str
    repetitions: tuple[_Whole, _Whole]


class _Band(Struct, frozen=True, kw_only=True):
    """The noise band of a measure. pair: the difference of the pair's medians.

    pair_part: this as a fraction of the larger. pair_ratio: the larger over the smaller; None if infinite. grain: a
    smaller difference never counts.
    """

    pair: float | None
    pair_ratio: float | None
    pair_part: float | None
    grain: float


class _Against(Struct, frozen=True, kw_only=True):
    difference: float
    measurable: bool
    words: str


class _Value(Struct, frozen=True, kw_only=True):
    """A value of LOWAT. asked, ok: counts of repetitions. measured: None where not counted.

    first_byte_ms_at: by JS_DELAY, the median of the script's first byte; empty if the page does not use JS_DELAY.
    on_front: True if no other value is better in one measure and worse in none.
    """

    value: str
    lowat: _Whole | None
    asked: _Whole
    ok: _Whole
    measured: Mapping[Measure, Estimate | None]
    first_byte_ms_at: Mapping[str, float]
    against_unset: Mapping[Measure, _Against | None]
    on_front: bool


class _Range(Struct, frozen=True, kw_only=True):
    low: float
    high: float


class _Knee(Struct, frozen=True, kw_only=True):
    """The recommendation for a network. recommended: None if there is no result.

    price: the recommended value's costs to the front, and with VIA the second front, beside those with LOWAT unset
    or, if this is recommended, with the largest value; None without another value. best: the value with the
    earliest script first byte, of those that keep goodput. front: values on the front. left_out: those with too few
    ok runs. goodput_held_against: the value with which goodput is compared. goodput_falls_at: the first value below
    unset at which goodput falls measurably. documentation: the result of following the kernel's advice. instants:
    what the result depends on the instant at which the script is ready, in sentences. put_back: knobs of `priolab
    run` to measure the recommended value again. promise: the interval, widened at both ends by the noise band;
    analysis.sweeps.promise.check(network, runs) checks new runs.
    """

    recommended: str | None
    reason: str
    price: str | None
    best: str | None
    front: list[str]
    left_out: list[str]
    left_out_words: str | None
    goodput_held_against: str | None
    goodput_falls_at: str | None
    goodput_falls_words: str
    documentation: str
    instants: str
    put_back: list[str] | None
    promise: Mapping[Measure, _Range] | None


@dataclass(frozen=True, kw_only=True)
class _Judgement(Judgement):
    words: str


class _Network(Struct, frozen=True, kw_only=True):
    """A network. network: the knobs with several values in the sweep.

    knob: LOWAT or VIA_LOWAT, for which a value is recommended. knobs: all knobs, without this one and the settings
    of LOWAT=auto. configuration: the configuration of the server for which this holds, in a sentence; None in
    sweeps of earlier versions. pair: None without one. values: by LOWAT, then unset (`none`), then `auto`. auto:
    LOWAT=auto against the best fixed value; empty if it was not tried.
    """

    network: str
    knob: str
    knobs: Mapping[str, str]
    configuration: str | None
    made: _Made
    pair: _Pair | None
    no_difference: Mapping[Measure, _Band]
    no_difference_words: str
    values: list[_Value]
    knee: _Knee
    auto: list[_Judgement]


class _Overall(Struct, frozen=True, kw_only=True):
    """The judgements of LOWAT=auto in all networks, counted."""

    judged: _Whole
    near: _Whole
    keep_goodput: _Whole
    unknown: _Whole
    worst_ratio: float | None


class Summary(Struct, frozen=True, kw_only=True):
    """The summary of a sweep."""

    format: Literal[1] = SUMMARY_FORMAT
    sweep: str
    name: str
    fabric: str
    finished: bool
    repeat: Annotated[int, Meta(ge=1)]
    runs: _Runs
    networks: list[_Network]
    auto: _Overall | None


def summarize(sweep: Sweep) -> dict[str, Any]:
    """Returns the summary of a sweep, which `priolab knee --json` prints. Raises FolderError."""
    found = networks(sweep)
    troubles = [trouble for arm in sweep.arms for trouble in arm.troubles]
    asked = sum(arm.asked for arm in sweep.arms)
    judgements = [judgement for network in found for judgement in judge(network)]
    summary = Summary(
        sweep=sweep.record.sweep,
        name=sweep.record.name,
        fabric=sweep.record.fabric,
        finished=sweep.is_finished,
        repeat=sweep.record.repeat,
        runs=_Runs(asked=asked, ok=asked - len(troubles), troubles=troubles),
        networks=[_network(network, _made(sweep), sweep.record.usual_buffering) for network in found],
        auto=_overall(judgements) if judgements else None,
    )
    document: dict[str, Any] = _rounded(to_builtins(summary))
    return document


def _rounded(value: Any, digits: int = _DIGITS) -> Any:
    if isinstance(value, dict):
        return {
            key: _rounded(each, _DIGITS_OF_COVERAGE if key == "coverage" else digits) for key, each in value.items()
        }
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return round(value, digits) if isinstance(value, float) else value


def _made(sweep: Sweep) -> _Made:
    """Returns the sweep's fabric and the range of its seeds. The seeds of twins follow those of the other arms."""
    first, repeat = sweep.record.seed, sweep.record.repeat
    return _Made(fabric=sweep.record.fabric, repeat=repeat, first_seed=first, last_seed=first + 2 * repeat - 1)


def _network(network: Network, made: _Made, usual: Mapping[str, str | None]) -> _Network:
    knee = find(network)
    return _Network(
        network=network.name,
        knob=network.knob,
        knobs=network.knobs,
        configuration=words.configuration(network, usual),
        made=made,
        pair=_pair(*network.pair) if network.pair else None,
        no_difference={measure: _band(knee.spreads[measure]) for measure in Measure},
        no_difference_words=words.no_difference(network, knee),
        values=[_value(network, knee, level) for level in network.levels],
        knee=_knee(network, knee, made),
        auto=[_Judgement(**vars(judgement), words=words.judgement(judgement)) for judgement in judge(network)],
    )


def _pair(original: Level, twin: Level) -> _Pair:
    return _Pair(value=original.value, repetitions=(original.repetitions, twin.repetitions))


def _band(spread: Spread) -> _Band:
    ratio = None if spread.ratio is None or isinf(spread.ratio) else spread.ratio
    return _Band(pair=spread.amount, pair_ratio=ratio, pair_part=spread.part, grain=spread.grain)


def _value(network: Network, knee: Knee, level: Level) -> _Value:
    compared: dict[Measure, _Against | None] = dict.fromkeys(PROMISED)
    for measure in PROMISED:
        if level.is_good and network.unset is not None and level is not network.unset:
            found = knee.against(level, network.unset, measure)
            told = words.difference(measure, found)
            compared[measure] = _Against(difference=found.amount, measurable=found.is_measurable, words=told)
    return _Value(
        value=level.value,
        lowat=level.lowat_bytes,
        asked=level.asked,
        ok=level.repetitions,
        measured={measure: level.estimates.get(measure) for measure in Measure},
        first_byte_ms_at={f"{instant}ms": first_ms for instant, first_ms in level.instants.items()},
        against_unset=compared,
        on_front=level in knee.front,
    )


def _knee(network: Network, knee: Knee, made: _Made) -> _Knee:
    chosen = knee.recommended
    return _Knee(
        recommended=chosen.value if chosen else None,
        reason=words.reason(network, knee),
        price=words.price(network, knee),
        best=knee.best.value if knee.best else None,
        front=[level.value for level in knee.front],
        left_out=[level.value for level in network.thin],
        left_out_words=words.left_out(network),
        goodput_held_against=knee.reference.value if knee.reference else None,
        goodput_falls_at=knee.falls_at.value if knee.falls_at else None,
        goodput_falls_words=words.falls(network, knee),
        documentation=words.documentation(network, knee),
        instants=words.instants(network, knee),
        put_back=[*_again(network), f"{network.knob}={chosen.value}", *_anew(made)] if chosen else None,
        promise=_promise(knee, chosen) if chosen else None,
    )


def _again(network: Network) -> list[str]:
    """Returns the knobs of a network, with all instants of its runs unless they are JS_DELAY's default alone."""
    several = ",".join(f"{instant}ms" for instant in network.instants)
    return [*network.words, *([f"{JS_DELAY}={several}"] if len(network.instants) > 1 else [])]


def _anew(made: _Made) -> list[str]:
    """Returns knobs for new runs: as many repetitions as in the sweep, its fabric, and seeds that it did not use."""
    seed = made.last_seed + 1
    if seed + made.repeat - 1 > _LARGEST_SEED:
        seed = made.first_seed - made.repeat
    return [f"REPEAT={made.repeat}", f"SEED={seed}", f"FABRIC={made.fabric}"]


def _promise(knee: Knee, chosen: Level) -> dict[Measure, _Range]:
    ranges = {measure: promised(chosen.estimate(measure), knee.spreads[measure]) for measure in PROMISED}
    return {measure: _Range(low=low, high=high) for measure, (low, high) in ranges.items()}


def _overall(judgements: Sequence[Judgement]) -> _Overall:
    """Sums up the judgements of all networks."""
    ratios = [judgement.ratio for judgement in judgements if judgement.ratio is not None]
    return _Overall(
        judged=len(judgements),
        near=sum(judgement.near is True for judgement in judgements),
        keep_goodput=sum(judgement.keeps_goodput is True for judgement in judgements),
        unknown=sum(judgement.near is None or judgement.keeps_goodput is None for judgement in judgements),
        worst_ratio=max(ratios, default=None),
    )
