"""The findings of a finished run for run.json: loads, verdict, ledger, oracle."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from analysis.loads.bookkeeping import NoLedger, ledger
from analysis.loads.metrics import PageLoad, page_loads
from analysis.loads.model import NoPrediction, Writes, first_byte_ms
from analysis.loads.oracle import Bound, bound, inversion
from analysis.loads.probe import Probe, judge_probe, probe_of
from analysis.loads.verdict import Judgement, judge
from analysis.records.runs import Evidence, Layers
from analysis.records.shape import PROBE
from common.formats.page import MAPS, Page
from common.formats.reading import FolderError

NOTHING: Mapping[str, Any] = MappingProxyType(
    {
        "verdict": None,
        "verdict_reason": None,
        "loads": [],
        "ledger": None,
        "ledger_reason": None,
        "oracle": None,
        "prediction": None,
        "probe": None,
    }
)
"""Of a run without a complete load."""


def findings(
    evidence: Evidence, layers: Layers, scenario: Mapping[str, Any], front: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Returns the times of every complete load, and all findings of the measured one. scenario, front: see run.json.

    Raises FolderError if the record of a load is incomplete.
    """
    loads = page_loads(evidence)
    if not loads:
        return NOTHING
    measured = loads[-1]
    told = judgement(measured, evidence, scenario)
    if scenario["plan"] == PROBE:
        return _of_probe(loads, evidence, told)
    accounts, reason = None, None
    try:
        accounts = ledger(measured, evidence, layers, scenario).as_document()
    except NoLedger as error:
        reason = str(error)
    found = {
        "verdict": told.verdict,
        "verdict_reason": told.reason,
        "loads": [load.as_document() for load in loads],
        "ledger": accounts,
        "ledger_reason": reason,
        "oracle": inversion(measured, bound_of(measured, scenario)).as_document(),
        "prediction": _prediction(scenario, evidence.page, front),
        "probe": None,
    }
    return _with_maps_keys(found) if evidence.page.name == MAPS else found


_MAPS_KEYS = {
    "ledger": ("other_bytes_at_available", "image_bytes_at_available"),
    "oracle": ("first_byte_ms", "script_first_byte_ms"),
    "prediction": ("first_byte_ms", "script_first_byte_ms"),
    "probe": ("important_share", "script_share"),
}
"""Of each part the key, and what it is called besides with PAGE=maps."""


def _with_maps_keys(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """The findings with the keys of PAGE=maps, which name its resources."""
    named = {part: {**found[part], own: found[part][key]} for part, (key, own) in _MAPS_KEYS.items() if found[part]}
    return {**found, **named}


def judgement(load: PageLoad, evidence: Evidence, scenario: Mapping[str, Any]) -> Judgement:
    """Returns the verdict on the measured load. Raises FolderError for a probe without steps."""
    if scenario["plan"] == PROBE:
        return judge_probe(_probe(evidence), evidence.favoured)
    return judge(load, evidence.favoured, scenario["delay_ns"])


def _probe(evidence: Evidence) -> Probe:
    if (probe := probe_of(evidence.events, evidence.page)) is None:
        raise FolderError(f"{evidence.source}: a probe whose window was never opened")
    return probe


def _of_probe(loads: Sequence[PageLoad], evidence: Evidence, told: Judgement) -> Mapping[str, Any]:
    """The findings of a probe; without times, because the client itself determines them."""
    found = {
        **NOTHING,
        "verdict": told.verdict,
        "verdict_reason": told.reason,
        "loads": [load.as_document() for load in loads],
        "probe": _probe(evidence).as_document(),
    }
    return _with_maps_keys(found) if evidence.page.name == MAPS else found


def _prediction(scenario: Mapping[str, Any], page: Page, front: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return {"first_byte_ms": first_byte_ms(scenario, page, Writes.from_document(front)), "reason": None}
    except NoPrediction as error:
        return {"first_byte_ms": None, "reason": str(error)}


def bound_of(load: PageLoad, scenario: Mapping[str, Any]) -> Bound:
    """The oracle's bound for the measured load of that scenario."""
    return bound(load.page, load.focal.resource, scenario)
