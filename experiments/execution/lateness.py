"""Checks runs on real clocks: the machine must not delay first bytes by more than the tolerance."""

from collections.abc import Mapping
from typing import Any

from priolab.analysis.loads.lateness import FIRST, IMPORTANT, Late, lateness
from priolab.analysis.loads.metrics import measured_load
from priolab.analysis.records.runs import Evidence, Layers
from priolab.common.formats.page import MAPS
from priolab.common.formats.scenario import PROBE
from priolab.experiments.errors import QUIETER, InvalidRun
from priolab.experiments.results.run_folder import RunFolder, read_json
from priolab.experiments.scenario.scenario import ClientKind, Scenario, as_record
from priolab.netem.calibration import Tolerance

_WHAT = {
    FIRST: "lateness of the first packet of a resource",
    IMPORTANT: "lateness of the important resource at the origin",
}
ROUND_TRIPS = 2
"""The round trips before a first byte: one for the page, one for the resource."""
_WAITED = "median time that packets waited in the kernel until the client read them"


def observed_lateness(
    folder: RunFolder, evidence: Evidence, layers: Layers, scenario: Scenario
) -> dict[str, Any] | None:
    """Returns for run.json how late first bytes came; None for a probe, and for a browser, which adds delays itself."""
    if scenario.client is not ClientKind.H2 or scenario.plan == PROBE:
        return None
    found = lateness(measured_load(evidence), evidence, layers, as_record(scenario))
    if scenario.page.name == MAPS and IMPORTANT in found:
        found |= {"script": found[IMPORTANT]}
    return {
        **{name: {"late_ns": late.late_ns, "first_byte_ns": late.first_byte_ns} for name, late in found.items()},
        "waited_p50_ns": read_json(folder.client / "socket.json").get("waited_p50_ns"),
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
    if observed["waited_p50_ns"] is not None:
        _at_most(_WAITED, tolerance.round_trip_ns, observed["waited_p50_ns"])


def _at_most(what: str, most_ns: int, found_ns: int) -> None:
    if found_ns > most_ns:
        raise InvalidRun(what, f"at most {most_ns / 10**6:.1f} ms", f"{found_ns / 10**6:.1f} ms", QUIETER)
