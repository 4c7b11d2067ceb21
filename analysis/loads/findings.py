"""What a finished run comes to: loads, verdict, ledger, oracle; run.json keeps it beside what was asked and seen."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from analysis.loads.bookkeeping import NoLedger, ledger
from analysis.loads.metrics import PageLoad, page_loads
from analysis.loads.model import NoPrediction, Writes, script_first_byte_ms
from analysis.loads.oracle import Bound, bound, inversion
from analysis.loads.probe import judge_probe, probe_of
from analysis.loads.verdict import judge
from analysis.records.runs import Evidence, Layers
from analysis.records.shape import PROBE
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
    """Of every complete load its times, and of the last, the measured one, the rest. scenario, front: see run.json.

    Raises FolderError if the record of a load is incomplete.
    """
    loads = page_loads(evidence)
    if not loads:
        return NOTHING
    measured = loads[-1]
    if scenario["plan"] == PROBE:
        return _of_probe(loads, evidence)
    judgement = judge(measured, evidence.favoured, scenario["delay_ns"])
    accounts, reason = None, None
    try:
        accounts = ledger(measured, evidence, layers, scenario).as_document()
    except NoLedger as error:
        reason = str(error)
    return {
        "verdict": judgement.verdict,
        "verdict_reason": judgement.reason,
        "loads": [load.as_document() for load in loads],
        "ledger": accounts,
        "ledger_reason": reason,
        "oracle": inversion(measured, bound_of(measured, scenario)).as_document(),
        "prediction": _prediction(scenario, front),
        "probe": None,
    }


def _of_probe(loads: Sequence[PageLoad], evidence: Evidence) -> Mapping[str, Any]:
    """Its times are the client's own doing, so nothing is made of them."""
    if (probe := probe_of(evidence.events)) is None:
        raise FolderError(f"{evidence.source}: a probe whose window was never opened")
    judgement = judge_probe(probe, evidence.favoured)
    return {
        **NOTHING,
        "verdict": judgement.verdict,
        "verdict_reason": judgement.reason,
        "loads": [load.as_document() for load in loads],
        "probe": probe.as_document(),
    }


def _prediction(scenario: Mapping[str, Any], front: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return {"script_first_byte_ms": script_first_byte_ms(scenario, Writes.from_document(front)), "reason": None}
    except NoPrediction as error:
        return {"script_first_byte_ms": None, "reason": str(error)}


def bound_of(load: PageLoad, scenario: Mapping[str, Any]) -> Bound:
    """The oracle's bound for the measured load of that scenario."""
    return bound(
        rate_bit_s=scenario["rate_bit_s"],
        delay_ns=scenario["delay_ns"],
        delay_up_ns=scenario["delay_up_ns"],
        jitter_ns=scenario["jitter_ns"],
        page_bytes=load.page_bytes,
        script_delay_ns=scenario["script_delay_ns"],
        image_bytes=load.image.size_bytes,
        rate_steps=scenario["rate_steps"],
    )
