"""Varies the moment at which the script becomes available, to see if the best LOWAT is best by luck only. Pure.

Rules:
1. A server writes whole buffers, and a packet buffer has 64 KiB. A script that becomes available just before the server
   writes the next buffer is sent soon. A script that becomes available just after the server has written this buffer
   waits until the buffer is sent. So with one delay of the script, the time of the first byte is partly luck. The value
   of LOWAT with the earliest first byte is then partly the luckiest value.
2. Every value of LOWAT is tried in every network with several delays of the script (JS_DELAY). The delays are spread
   evenly over the time that two packet buffers take at the link's rate. The means over the delays are compared. The
   best fixed value has the smallest mean of the values that cost no goodput (analysis/sweeps/auto_vs_fixed.py).
3. A mean counts as near the best mean if it is later by at most 15 %, or by at most the time of one TLS record. The
   same rule applies to a first byte with one delay.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from priolab.analysis.sweeps.measures import Measure
from priolab.analysis.sweeps.moment_means import MomentMeans
from priolab.analysis.sweeps.network_knobs import AUTO
from priolab.analysis.sweeps.networks import Network
from priolab.common.packets import PACKET_BUFFER_BYTES
from priolab.experiments.scenario.knobs import KNOBS

_MOMENT = "JS_DELAY"
_MOMENTS = 12
_BUFFERS = 2


def moments_ms(knobs: Mapping[str, str]) -> tuple[int, ...]:
    """Returns the delays of the script to try in a network with these knobs, in milliseconds after the request."""
    first_ms = int(KNOBS[_MOMENT].parse(knobs[_MOMENT]) / 10**6)
    rate_bit_s: int | None = KNOBS["RATE"].parse(knobs["RATE"])
    if rate_bit_s is None:
        return (first_ms,)
    buffers_ms = _BUFFERS * PACKET_BUFFER_BYTES * 8000 / rate_bit_s
    return tuple(first_ms + round(buffers_ms * number / _MOMENTS) for number in range(_MOMENTS))


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
    levels |= {"LOWAT": list(values), _MOMENT: [f"{each}ms" for each in moments_ms(networks[0])]}
    return [f"{name}={','.join(words)}" for name, words in levels.items()]


def gather(summary: Mapping[str, Any], found: Iterable[Network]) -> dict[str, MomentMeans]:
    """Returns the mean first bytes of each network of the summary, by the network's name.

    found: the networks in the results of all sweeps that `grids` returned. A value of LOWAT is left out if its result
    for any delay of the script is missing. A network is left out if LOWAT=auto is left out, or if no fixed value
    remains that costs no goodput.
    """
    by_cell: dict[tuple[tuple[str, str], ...], list[Network]] = {}
    for network in found:
        by_cell.setdefault(_cell(network.knobs), []).append(network)
    means = {each["network"]: _means(each, by_cell.get(_cell(each["knobs"]), [])) for each in summary["networks"]}
    return {name: each for name, each in means.items() if each is not None}


def _cell(knobs: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, word) for name, word in knobs.items() if name != _MOMENT))


def _means(network: Mapping[str, Any], found: Sequence[Network]) -> MomentMeans | None:
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
    return MomentMeans(
        moments_ms=moments, first_bytes_ms=first_bytes, may_be_best=kept, record_ms=at[moments[0]].record_ms
    )
