"""Computes the findings of a finished run for run.json: loads, verdict, ledger, oracle. Pure."""

import re
from collections.abc import Sequence
from dataclasses import replace

from priolab.analysis.loads.cost import costs, second_costs
from priolab.analysis.loads.flow_control import windows_of
from priolab.analysis.loads.interleaving import Interleaving
from priolab.analysis.loads.ledger_builder import NoLedger, ledger
from priolab.analysis.loads.limits import Ends, limits
from priolab.analysis.loads.lower_bound import Bound, Inversion, bound, inversion
from priolab.analysis.loads.metrics import PageLoad, ResourceTimes, page_loads, with_rate
from priolab.analysis.loads.probe import Probe, judge_probe, probe_of
from priolab.analysis.loads.requested_order import AskedOrder
from priolab.analysis.loads.verdict import Judgement, judge
from priolab.analysis.records.rate import Rate
from priolab.analysis.records.runs import Evidence, Layers
from priolab.common.formats.reading import FolderError
from priolab.common.formats.run import Findings, Verdict
from priolab.common.formats.scenario import PROBE, ScenarioRecord
from priolab.common.packets import PACKET_BUFFER_BYTES, PACKET_BYTES, RECORD_BYTES

_SEVERAL = "a probe of several streams has no single order"


def findings(evidence: Evidence, layers: Layers, scenario: ScenarioRecord) -> Findings:
    """Returns the times of every complete load, and all findings about the measured load.

    A probe has no ledger and no oracle, because its times depend on when the client opens its flow-control window.
    Raises FolderError if the record of a load is incomplete.
    """
    loads = page_loads(evidence)
    if not loads:
        return Findings()
    told = judgement(loads[-1], evidence, layers, scenario)
    loads = [replace(load, focal_name=told.focal) for load in with_rate(loads, scenario)]
    measured = loads[-1]
    spent, second = costs(loads, layers), second_costs(layers)
    ends = Ends(
        rate=measured.rate,
        delay_ns=scenario.delay_ns,
        windows=windows_of(evidence, scenario),
    ).after_crossing(layers)
    records = tuple(
        replace(
            load.as_record(),
            cost=spent.get(load.number),
            second_cost=second.get(load.number),
            limits=limits(load, layers, ends),
        )
        for load in loads
    )
    found = Findings(verdict=told.verdict, verdict_reason=told.reason, loads=records)
    if scenario.plan == PROBE and evidence.page.is_sequence:
        return found
    if scenario.plan == PROBE:
        return replace(found, probe=_probe(evidence).as_record())
    accounts, reason = None, None
    try:
        accounts = ledger(measured, evidence, layers, scenario, told.sooner).as_record()
    except NoLedger as error:
        reason = str(error)
    return replace(
        found,
        ledger=accounts,
        ledger_reason=reason,
        oracle=inversion(measured, bound_of(measured, scenario, layers, told.sooner)).as_record(),
    )


def _late_but_kept(told: Judgement, needless: Inversion, scenario: ScenarioRecord) -> str:
    """Returns the words about needless bytes for the reason of `kept`; none if LOWAT's mechanism explains the bytes.

    LOWAT lets the kernel hold LOWAT, one packet buffer and one TLS record.
    """
    lowat_bytes = scenario.lowat if isinstance(scenario.lowat, int) else 0
    explained_bytes = lowat_bytes + PACKET_BUFFER_BYTES + RECORD_BYTES
    if told.verdict is not Verdict.KEPT or not told.favoured or needless.other_bytes <= explained_bytes:
        return ""
    needless_kib = f"{needless.other_bytes / 1024:,.0f} needless KiB"
    return f"; its first byte was {needless.late_ns / 10**9:.2f} s late, after {needless_kib}"


_LATE = re.compile(r"; (?:it|its first byte) was ([0-9.]+ s late), after")  # `it`: in older runs


def lateness_in(reason: str) -> str:
    """Returns how late an order was kept, as the reason of its verdict says it; empty if the reason does not say so."""
    found = _LATE.search(reason)
    return found[1] if found else ""


def judgement(load: PageLoad, evidence: Evidence, layers: Layers, scenario: ScenarioRecord) -> Judgement:
    """Returns the verdict on the measured load, with the rules for probes if the run is a probe.

    The order is that of the client's signals on the wire in this load. The reason of `kept` also says how late the
    order was kept, if LOWAT does not explain it. Raises FolderError for a probe in which the client never opened its
    flow-control window.
    """
    order = AskedOrder.of(evidence.events, load.number, evidence.groups)
    if scenario.plan == PROBE and evidence.page.is_sequence:
        return Judgement(verdict=Verdict.UNDECIDED, reason=_SEVERAL, focal=load.focal.name, favoured=False)
    if scenario.plan == PROBE:
        probe, others = _probe(evidence), [each.name for each in load.page.others]
        favoured = order.favoured(probe.important, others)
        rest = others if probe.important in favoured else [probe.important]
        return judge_probe(probe, favoured, order.share(favoured, rest) or 1.0 if favoured else 1.0)

    def sooner(times: ResourceTimes) -> tuple[str, ...]:
        awaited = load.page.before(times.resource)
        return order.sooner(times.name, (each.name for each in load.page.resources if each not in awaited))

    def needless(times: ResourceTimes) -> Inversion:
        focused = replace(load, focal_name=times.name)
        return inversion(focused, bound_of(focused, scenario, layers, sooner(times)))

    scene = Interleaving.of(load, evidence, layers, scenario)
    told = judge(load, order, scenario.delay_ns, lambda times: needless(times).late_ns, scene)
    focal = load.resources[told.focal]
    reason = told.reason + _late_but_kept(told, needless(focal), scenario)
    return replace(told, reason=reason, sooner=sooner(focal))


def _probe(evidence: Evidence) -> Probe:
    if (probe := probe_of(evidence.events, evidence.page)) is None:
        raise FolderError(f"{evidence.source}: the run is a probe, but the client never opened its flow-control window")
    return probe


def bound_of(load: PageLoad, scenario: ScenarioRecord, layers: Layers, sooner: Sequence[str] = ()) -> Bound:
    """Returns the oracle's lower bound for the focal resource's first byte in a load.

    sooner: the resources that the client asked for before the focal resource. With cross traffic, the link of the bound
    is the one that the cross traffic left to the front.
    """
    rate = Rate.of(scenario)
    if rate is not None and layers.cross:
        crossed = [(sample.t_ns - load.started_ns, sample.packets * PACKET_BYTES) for sample in layers.cross]
        rate = rate.without(crossed)
    return bound(load.page, load.focal.resource, scenario, rate, [load.page[name] for name in sooner])
