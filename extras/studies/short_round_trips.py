"""Measures the tuner of `priolab tune` beside LOWAT=auto, on new connections with short round trips.

A new connection has had no bytes acknowledged, so its rate is unknown. A short round trip makes the congestion window
per round trip a high rate on every link. The cautious tuner lowers a value a second later than LOWAT=auto, so a first
value that is too large would show.
"""

from collections.abc import Mapping

import priolab
from priolab import Measure, Run
from priolab.analysis.sweeps.cautious_tuner import AUTO, CAUTIOUS, UNSET, NewConnection, Result
from priolab.analysis.sweeps.measures import grains
from priolab.experiments.commands.console import Report

_FIXED = (UNSET, "16384")
_TUNERS = {AUTO: "bpf", CAUTIOUS: "cautious-bpf"}
_SIZES = {"2mbit": "716800", "10mbit": "2M", "100mbit": "10M", "1gbit": "20M"}
"""The size of image and script for each rate: enough for some hundred milliseconds after the slow start."""

_ROUND_TRIPS = ("1ms", "5ms", "20ms")

EVERYWHERE = {"QUEUE": "2000", "WINDOW": "256M", "RELOADS": "0"}
"""The knobs of every run."""


def new_connections(words: Mapping[str, str], report: Report) -> list[NewConnection]:
    """Runs every network with each tuner and with fixed values. words: the knobs that the user set. Raises LabError."""
    found = []
    for rate, size in _SIZES.items():
        for round_trip in _ROUND_TRIPS:
            network = {"RATE": rate, "DELAY": round_trip, "SIZE": size}
            runs = _runs(network, words, report)
            found.append(
                NewConnection(
                    knobs=f"RATE={rate} DELAY={round_trip} SIZE={size}",
                    record_ms=grains(runs[UNSET])[Measure.FIRST_BYTE],
                    results={name: _result(run) for name, run in runs.items()},
                )
            )
    return found


def _runs(network: Mapping[str, str], words: Mapping[str, str], report: Report) -> dict[str, Run]:
    common = {"REUSE": "yes", "SAMPLE": "none", **words, **network, **EVERYWHERE}
    report.say(f"new connections: {network['RATE']}, round trip {network['DELAY']}")
    fixed = priolab.run(**{**common, "LOWAT": "none,16384"}, progress=report).check()
    runs = dict(zip(_FIXED, fixed.runs, strict=True))
    for name, tuner in _TUNERS.items():
        knobs = {**common, "LOWAT": "auto", "TUNER": tuner, "CONTROL": "no"}
        (runs[name],) = priolab.run(**knobs, progress=report).check().runs
    return runs


def _result(run: Run) -> Result:
    found = run.measures
    first_byte_ms, goodput_bit_s = found[Measure.FIRST_BYTE], found[Measure.GOODPUT]
    assert first_byte_ms is not None, "a run that is ok has these measures"
    assert goodput_bit_s is not None, "a run that is ok has these measures"
    return Result(first_byte_ms=first_byte_ms, goodput_bit_s=goodput_bit_s)
