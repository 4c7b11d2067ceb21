"""Computes the findings of a finished run for run.json: loads, verdict, ledger, oracle, prediction. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from analysis.loads.bookkeeping import NoLedger, ledger
from analysis.loads.metrics import PageLoad, page_loads
from analysis.loads.model import NoPrediction, Writes, first_byte_ms
from analysis.loads.oracle import Bound, bound, inversion
from analysis.loads.probe import Probe, judge_probe, probe_of
from analysis.loads.verdict import Judgement, judge
from analysis.records.rate import Rate
from analysis.records.runs import Evidence, Layers
from common.formats.page import Page
from common.formats.reading import FolderError
from common.formats.run import Findings, PredictionRecord
from common.formats.scenario import PROBE, ScenarioRecord
from common.packets import PACKET_BYTES


def findings(evidence: Evidence, layers: Layers, scenario: ScenarioRecord, front: Mapping[str, Any]) -> Findings:
    """Returns the times of every complete load, and all findings about the measured load.

    front: the properties of the server, as under the key `front` of run.json. A probe has no ledger, no oracle and no
    prediction, because its times depend on when the client opens its flow-control window. Raises FolderError if the
    record of a load is incomplete.
    """
    loads = page_loads(evidence)
    if not loads:
        return Findings()
    measured = loads[-1]
    told = judgement(measured, evidence, scenario)
    found = Findings(verdict=told.verdict, verdict_reason=told.reason, loads=tuple(load.as_record() for load in loads))
    if scenario.plan == PROBE:
        return replace(found, probe=_probe(evidence).as_record())
    accounts, reason = None, None
    try:
        accounts = ledger(measured, evidence, layers, scenario).as_record()
    except NoLedger as error:
        reason = str(error)
    return replace(
        found,
        ledger=accounts,
        ledger_reason=reason,
        oracle=inversion(measured, bound_of(measured, scenario, layers)).as_record(),
        prediction=_prediction(scenario, evidence.page, front),
    )


def judgement(load: PageLoad, evidence: Evidence, scenario: ScenarioRecord) -> Judgement:
    """Returns the verdict on the measured load, with the rules for probes if the run is a probe.

    Raises FolderError for a probe in which the client never opened its flow-control window.
    """
    if scenario.plan == PROBE:
        return judge_probe(_probe(evidence), evidence.favoured)
    return judge(load, evidence.favoured, scenario.delay_ns)


def _probe(evidence: Evidence) -> Probe:
    if (probe := probe_of(evidence.events, evidence.page)) is None:
        raise FolderError(f"{evidence.source}: the run is a probe, but the client never opened its flow-control window")
    return probe


def _prediction(scenario: ScenarioRecord, page: Page, front: Mapping[str, Any]) -> PredictionRecord:
    try:
        predicted_ms = first_byte_ms(scenario, page, Writes.from_document(front))
    except NoPrediction as error:
        return PredictionRecord(first_byte_ms=None, reason=str(error))
    return PredictionRecord(first_byte_ms=predicted_ms, reason=None)


def bound_of(load: PageLoad, scenario: ScenarioRecord, layers: Layers) -> Bound:
    """Returns the oracle's lower bound for the focal resource's first byte in a load.

    With cross traffic, the link of the bound is the one that the cross traffic left to the front.
    """
    rate = Rate.of(scenario)
    if rate is not None and layers.cross:
        crossed = [(sample.t_ns - load.started_ns, sample.packets * PACKET_BYTES) for sample in layers.cross]
        rate = rate.without(crossed)
    return bound(load.page, load.focal.resource, scenario, rate)
