"""Varies the moment at which the script becomes available, to see if the best LOWAT is best by luck only. Pure.

Rules:
1. With one delay of the script the time of the first byte is partly luck (experiments/sweep/instants.py).
2. Every value of LOWAT is tried in every network with several delays of the script (JS_DELAY). The delays are spread
   evenly over the time that two packet buffers take at the link's rate. The means over the delays are compared. The
   best fixed value has the smallest mean of the values that cost no goodput (analysis/sweeps/auto_vs_fixed.py). A
   sweep itself has fewer delays, over the time of one packet buffer.
3. A mean counts as near the best mean if it is later by at most 15 %, or by at most the time of one TLS record. The
   same rule applies to a first byte with one delay.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from priolab.analysis.sweeps.moment_means import MomentMeans
from priolab.analysis.sweeps.network_knobs import AUTO, JS_DELAY
from priolab.analysis.sweeps.networks import Network
from priolab.experiments.scenario.knobs import with_defaults
from priolab.experiments.sweep.instants import instants_ms

_MOMENTS = 12
_BUFFERS = 2


def moments_ms(knobs: Mapping[str, str]) -> tuple[int, ...]:
    """Returns the delays of the script to try in a network with these knobs, in milliseconds after the request."""
    return instants_ms(with_defaults(knobs), _MOMENTS, _BUFFERS)


def grids(summary: Mapping[str, Any]) -> list[list[str]]:
    """Returns the sweeps to run: a sweep for each rate of the summary's networks.

    A sweep is a list of words such as LOWAT=4096,16384. Each sweep has all of the summary's values
    of LOWAT except unset, with all delays of the script.
    """
    by_rate: dict[str, list[Mapping[str, str]]] = {}
    for network in summary["networks"]:
        by_rate.setdefault(network["knobs"]["RATE"], []).append(network["knobs"])
    return [_words(networks, _values(summary)) for networks in by_rate.values()]


def _values(summary: Mapping[str, Any]) -> list[str]:
    found = chain.from_iterable(network["values"] for network in summary["networks"])
    return list(dict.fromkeys(each["value"] for each in found if each["lowat"] is not None or each["value"] == AUTO))


def _words(networks: Sequence[Mapping[str, str]], values: Sequence[str]) -> list[str]:
    levels = {name: list(dict.fromkeys(knobs[name] for knobs in networks)) for name in networks[0]}
    levels |= {"LOWAT": list(values), JS_DELAY: [f"{each}ms" for each in moments_ms(networks[0])]}
    return [f"{name}={','.join(words)}" for name, words in levels.items()]


def gather(summary: Mapping[str, Any], found: Iterable[Network]) -> dict[str, MomentMeans]:
    """Returns the mean first bytes of each network of the summary, by the network's name.

    found: the networks in the results of all sweeps that `grids` returned. A value of LOWAT is left out if its result
    for any delay of the script is missing. A network is left out if LOWAT=auto is left out, or if no fixed value
    remains that costs no goodput.
    """
    by_knobs = {frozenset(network.knobs.items()): network for network in found}
    means = {
        each["network"]: _means(each, by_knobs.get(frozenset(each["knobs"].items()))) for each in summary["networks"]
    }
    return {name: each for name, each in means.items() if each is not None}


def _means(network: Mapping[str, Any], found: Network | None) -> MomentMeans | None:
    if found is None or len(network["auto"]) != 1:
        return None
    moments = moments_ms(network["knobs"])
    first_bytes = {
        level.value: tuple(level.instants[moment] for moment in moments)
        for level in found.levels
        if {*moments} <= {*level.instants}
    }
    left_out = network["auto"][0]["left_out"]
    fixed = [each["value"] for each in network["values"] if each["lowat"] is not None and each["value"] in first_bytes]
    kept = tuple(value for value in fixed if value not in left_out)
    if AUTO not in first_bytes or not kept:
        return None
    return MomentMeans(moments_ms=moments, first_bytes_ms=first_bytes, may_be_best=kept, record_ms=found.record_ms)
