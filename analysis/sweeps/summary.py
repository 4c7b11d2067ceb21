"""Makes the summary of a sweep, in a stable format (docs/reference/results.md). schema.py has its JSON Schema. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isinf
from typing import Any

from priolab.analysis.sweeps import words
from priolab.analysis.sweeps.bootstrap import Estimate
from priolab.analysis.sweeps.folder import Sweep
from priolab.analysis.sweeps.knee import Knee, find
from priolab.analysis.sweeps.measures import Measure
from priolab.analysis.sweeps.networks import Level, Network, networks
from priolab.analysis.sweeps.promise import PROMISED, promised
from priolab.analysis.sweeps.spread import Spread
from priolab.analysis.sweeps.steered import Judgement, judge

SUMMARY_FORMAT = 1
"""The version of the summary's format. The format of sweep.json has its own version."""

_DIGITS = 6
_LARGEST_SEED = 2**32 - 1


def summarize(sweep: Sweep) -> dict[str, Any]:
    """Returns the summary of a sweep, which `priolab knee --json` prints. Raises FolderError."""
    found = networks(sweep)
    troubles = [asdict(trouble) for arm in sweep.arms for trouble in arm.troubles]
    asked = sum(arm.asked for arm in sweep.arms)
    judgements = [judgement for network in found for judgement in judge(network)]
    return {
        "format": SUMMARY_FORMAT,
        "sweep": sweep.record.sweep,
        "name": sweep.record.name,
        "fabric": sweep.record.fabric,
        "finished": sweep.is_finished,
        "repeat": sweep.record.repeat,
        "runs": {"asked": asked, "ok": asked - len(troubles), "troubles": troubles},
        "networks": [_network(network, _made(sweep)) for network in found],
        "auto": _overall(judgements),
    }


def _made(sweep: Sweep) -> dict[str, Any]:
    """Returns the sweep's fabric and the range of its seeds. The seeds of twins follow those of the other arms."""
    first, repeat = sweep.record.seed, sweep.record.repeat
    return {
        "fabric": sweep.record.fabric,
        "repeat": repeat,
        "first_seed": first,
        "last_seed": first + 2 * repeat - 1,
    }


def _network(network: Network, made: Mapping[str, Any]) -> dict[str, Any]:
    knee = find(network)
    return {
        "network": network.name,
        "knobs": dict(network.knobs),
        "made": dict(made),
        "pair": _pair(network),
        "no_difference": {measure: _spread(knee.spreads[measure]) for measure in Measure},
        "no_difference_words": words.no_difference(network, knee),
        "values": [_value(network, knee, level) for level in network.levels],
        "knee": _knee(network, knee, made),
        "auto": [_judgement(judgement) for judgement in judge(network)],
    }


def _pair(network: Network) -> dict[str, Any] | None:
    if network.pair is None:
        return None
    original, twin = network.pair
    return {"value": original.value, "repetitions": [original.repetitions, twin.repetitions]}


def _spread(spread: Spread) -> dict[str, Any]:
    ratio = None if spread.ratio is None or isinf(spread.ratio) else spread.ratio
    return {
        "pair": _round(spread.amount),
        "pair_ratio": _round(ratio),
        "pair_part": _round(spread.part),
        "grain": _round(spread.grain),
    }


def _value(network: Network, knee: Knee, level: Level) -> dict[str, Any]:
    compared: dict[str, dict[str, Any] | None] = dict.fromkeys(PROMISED)
    for measure in PROMISED:
        if level.is_good and network.unset is not None and level is not network.unset:
            found = knee.against(level, network.unset, measure)
            compared[measure] = {
                "difference": _round(found.amount),
                "measurable": found.is_measurable,
                "words": words.difference(measure, found),
            }
    return {
        "value": level.value,
        "lowat": level.lowat_bytes,
        "asked": level.asked,
        "ok": level.repetitions,
        "measured": {measure: _estimate(level.estimates.get(measure)) for measure in Measure},
        "against_unset": compared,
        "on_front": level in knee.front,
    }


def _knee(network: Network, knee: Knee, made: Mapping[str, Any]) -> dict[str, Any]:
    chosen = knee.recommended
    return {
        "recommended": chosen.value if chosen else None,
        "reason": words.reason(network, knee),
        "best": knee.best.value if knee.best else None,
        "front": [level.value for level in knee.front],
        "left_out": [level.value for level in network.thin],
        "left_out_words": words.left_out(network),
        "goodput_held_against": knee.reference.value if knee.reference else None,
        "goodput_falls_at": knee.falls_at.value if knee.falls_at else None,
        "goodput_falls_words": words.falls(network, knee),
        "documentation": words.documentation(network, knee),
        "put_back": [*network.words, f"LOWAT={chosen.value}", *_anew(made)] if chosen else None,
        "promise": _promise(knee, chosen) if chosen else None,
    }


def _anew(made: Mapping[str, Any]) -> list[str]:
    """Returns knobs for new runs: as many repetitions as in the sweep, its fabric, and seeds that it did not use."""
    repeat, seed = made["repeat"], made["last_seed"] + 1
    if seed + repeat - 1 > _LARGEST_SEED:
        seed = made["first_seed"] - repeat
    return [f"REPEAT={repeat}", f"SEED={seed}", f"FABRIC={made['fabric']}"]


def _promise(knee: Knee, chosen: Level) -> dict[str, Any]:
    ranges = {measure: promised(chosen.estimate(measure), knee.spreads[measure]) for measure in PROMISED}
    return {measure: {"low": _round(low), "high": _round(high)} for measure, (low, high) in ranges.items()}


def _judgement(judgement: Judgement) -> dict[str, Any]:
    return {
        "value": judgement.value,
        "script_first_byte_ms": _round(judgement.auto_ms),
        "best_fixed": judgement.best,
        "best_fixed_ms": _round(judgement.best_ms),
        "left_out": list(judgement.left_out),
        "ratio": _round(judgement.ratio),
        "near": judgement.is_near,
        "goodput_part": _round(judgement.goodput_part),
        "keeps_goodput": judgement.keeps_goodput,
        "words": words.judgement(judgement),
    }


def _overall(judgements: Sequence[Judgement]) -> dict[str, Any] | None:
    """Sums up the judgements of all networks; None if LOWAT=auto was not tried."""
    if not judgements:
        return None
    ratios = [judgement.ratio for judgement in judgements if judgement.ratio is not None]
    return {
        "judged": len(judgements),
        "near": sum(judgement.is_near is True for judgement in judgements),
        "keep_goodput": sum(judgement.keeps_goodput is True for judgement in judgements),
        "unknown": sum(judgement.is_near is None or judgement.keeps_goodput is None for judgement in judgements),
        "worst_ratio": _round(max(ratios, default=None)),
    }


def _estimate(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    return {
        "median": _round(estimate.median),
        "low": _round(estimate.low),
        "high": _round(estimate.high),
        "repetitions": estimate.repetitions,
        "coverage": round(estimate.coverage, 4),
    }


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)
