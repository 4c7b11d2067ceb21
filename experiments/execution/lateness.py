"""Checks runs on real clocks: the machine must not delay first bytes by more than the tolerance."""

from collections.abc import Mapping
from typing import Any

from priolab.analysis.loads.contradiction import Allowance
from priolab.analysis.loads.lateness import FIRST, IMPORTANT, Late, lateness
from priolab.analysis.loads.metrics import measured_load
from priolab.analysis.records.runs import Evidence, Layers
from priolab.common.errors import QUIETER, InvalidRun
from priolab.common.formats.files import read_json
from priolab.common.formats.page import MAPS
from priolab.common.formats.scenario import PROBE, ClientKind
from priolab.experiments.results.run_folder import RunFolder
from priolab.experiments.scenario.scenario import Scenario
from priolab.netem.calibration import Tolerance

_WHAT = {
    FIRST: "lateness of the first packet of a resource",
    IMPORTANT: "lateness of the important resource at the origin",
}
ROUND_TRIPS = 2
"""The round trips before a first byte: one for the page, one for the resource."""
_WAITED = {
    "waited_p50_ns": ("median time that packets waited in the kernel until the client read them", 1),
    "waited_p90_ns": ("time that one packet in ten waited in the kernel until the client read it", ROUND_TRIPS),
}
"""The waits in client/socket.json: each in words, and how many times a round trip's tolerance it may be."""


def observed_lateness(
    folder: RunFolder, evidence: Evidence, layers: Layers, scenario: Scenario
) -> dict[str, Any] | None:
    """Returns for run.json how late first bytes came; None for a probe, and for a browser, which adds delays itself.

    The waits are unknown with LOSS and REORDER: TCP gives a packet after a gap to the client when the gap is filled.
    """
    if scenario.client is not ClientKind.H2 or scenario.plan == PROBE:
        return None
    found = lateness(measured_load(evidence), evidence, layers, scenario)
    if scenario.page == MAPS and IMPORTANT in found:
        found |= {"script": found[IMPORTANT]}
    waits = {} if scenario.link.loss or scenario.link.reorder else read_json(folder.client / "socket.json")
    return {
        **{name: {"late_ns": late.late_ns, "first_byte_ns": late.first_byte_ns} for name, late in found.items()},
        **{key: waits.get(key) for key in _WAITED},
    }


def check_lateness(observed: Mapping[str, Any], tolerance: Tolerance) -> None:
    """Compares the observed lateness of first bytes with the tolerance. Raises InvalidRun.

    A first byte may be late by the tolerance of two round trips, or by the tolerance of the rate, whichever is more.
    Calibration cannot measure the link more accurately than these tolerances.
    """
    for name in _WHAT:
        if name in observed:
            late = Late(**observed[name])
            of_rate_ns = round(tolerance.rate * (late.first_byte_ns - late.late_ns))
            most_ns = max(ROUND_TRIPS * tolerance.round_trip_ns, of_rate_ns)
            _at_most(_WHAT[name], most_ns, late.late_ns)
    for key, (what, times) in _WAITED.items():
        if observed[key] is not None:
            _at_most(what, times * tolerance.round_trip_ns, observed[key])


def remedy_of(folder: RunFolder, allowance: Allowance) -> str:
    """Returns what the user can do about a contradiction on a real clock; empty if the machine does not explain it.

    All the time for which the client lacked a processor may have been one delay, longer than the checks allow.
    """
    lacked_ns = read_json(folder.client / "socket.json").get("run_delay_ns") or 0
    return QUIETER if lacked_ns > allowance.too_late_ns else ""


def _at_most(what: str, most_ns: int, found_ns: int) -> None:
    if found_ns > most_ns:
        raise InvalidRun(what, f"at most {most_ns / 10**6:.1f} ms", f"{found_ns / 10**6:.1f} ms", QUIETER)
