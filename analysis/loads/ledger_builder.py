"""Makes the ledger of a load from the samples of front, link and client. Pure.

analysis/loads/ledger.py explains the layers, and how the time that the focal resource spends in each is measured.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from priolab.analysis.loads.byte_positions import whereabouts
from priolab.analysis.loads.estimate import Estimate
from priolab.analysis.loads.flow_control import Waiting, Windows, receive_window, windows_of
from priolab.analysis.loads.layer import Layer
from priolab.analysis.loads.ledger import Ledger, Moment
from priolab.analysis.loads.link_model import Pipe
from priolab.analysis.loads.looks import Looks, reached
from priolab.analysis.loads.metrics import PageLoad
from priolab.analysis.loads.network import Transit
from priolab.analysis.loads.spans import Span, at_work, covered_ns
from priolab.analysis.loads.stream import Payload
from priolab.analysis.loads.upstream_proxy import hop_of
from priolab.analysis.records.runs import Evidence, Layers
from priolab.analysis.records.samples import latest, paced_ns
from priolab.common.formats.samples import FEWEST_LOOKS, SocketSample
from priolab.common.formats.scenario import ScenarioRecord


def moments_of(
    load: PageLoad,
    others: Payload,
    position: int,
    sockets: Sequence[SocketSample],
    layers: Layers,
) -> list[Moment]:
    """Returns the moments of a load, in order of time. position: the position of the focal resource's first byte.

    sockets: the samples during the load.
    """
    ahead = others.before(position)
    from_ns = min(load.resources[each.name].available_ns for each in load.page.others)
    # The last sample before the focal resource is available stands for the instant at which it becomes available.
    waiting_from = bisect_right(sockets, load.focal.available_ns, key=lambda sample: sample.t_ns) - 1
    moments = []
    for index, sample in enumerate(sockets):
        if sample.t_ns < from_ns:
            continue
        seen = whereabouts(sample, layers)
        handed, sent, received = (others.before(at) for at in (seen.handed_bytes, seen.sent_bytes, seen.arrived_bytes))
        near_from, far_from = others.before(seen.near_from_bytes), others.before(seen.far_from_bytes)
        is_waiting = index >= waiting_from and handed < ahead
        committed = ahead - handed if is_waiting else 0
        moments.append(
            Moment(
                t_ns=sample.t_ns,
                pending_bytes=others.size_bytes - handed - committed,
                committed_bytes=committed,
                unsent_bytes=handed - sent,
                queue_bytes=near_from - far_from,
                propagation_bytes=sent - near_from,
                recovery_bytes=far_from - received,
                received_bytes=received,
            )
        )
    return moments


_BROWSER_STEP_NS = 10**6


class NoLedger(Exception):
    """Raised if the logs of a run do not suffice for a ledger. The error message says what is missing."""


def _short(waited_ns: int, scenario: ScenarioRecord) -> str:
    """Formats a short wait. A browser's times are rounded down to milliseconds, so a short wait may seem negative."""
    by_browser = scenario.client != "h2"
    if by_browser and -_BROWSER_STEP_NS < waited_ns < 0:
        return "less than a millisecond"
    return f"{waited_ns / 10**6:.1f} ms"


def ledger(
    load: PageLoad, evidence: Evidence, layers: Layers, scenario: ScenarioRecord, sooner: Sequence[str] = ()
) -> Ledger:
    """Makes the ledger of a load. Raises NoLedger if the logs do not suffice.

    sooner: the resources that the client asked for before the focal resource; they do not count as others, unless all
    others are such ones.
    If the link's rate changes, `load` must be the measured load, because the changes are timed from its start.
    """
    focal = load.focal
    if not load.page.others:
        raise NoLedger(f"nothing was loaded beside the {focal.name}")
    names = {each.name for each in load.page.others}
    others = Payload(evidence.events, load.number, names.difference(sooner) or names)
    try:
        position = Payload(evidence.events, load.number, {focal.name}).first() + 1
    except ValueError as error:
        raise NoLedger(str(error)) from error
    sockets = [sample for sample in layers.sockets if load.started_ns <= sample.t_ns <= load.finished_ns]
    if len(sockets) < FEWEST_LOOKS:
        raise NoLedger(f"the front's socket was sampled {len(sockets)} times during the load")
    waited_ns = focal.first_byte_ns - focal.available_ns
    if waited_ns < _look_ns(sockets):
        raise NoLedger(f"the {focal.name} waited {_short(waited_ns, scenario)}, less than one sampling interval")
    if sockets[-1].sent_bytes < position:
        raise NoLedger(f"sampling of the front's socket ended before the {focal.name} was sent")
    if not layers.arrivals:
        raise NoLedger("the client recorded no arrivals")
    if scenario.rate_bit_s is not None and not layers.queue:
        raise NoLedger("the link's queue was not sampled")
    before: Mapping[Layer, Estimate] = {}
    at_front_ns, early_ns = focal.available_ns, 0
    if scenario.via is not None:
        hop = hop_of(load, layers, scenario.via)
        if hop is None:
            raise NoLedger(f"no capture between the fronts has the {focal.name}")
        before, at_front_ns, early_ns = hop.parts, hop.arrived_ns, hop.unexplained_ns
    parts = {**before, **_parts(load, at_front_ns, position, evidence, layers, scenario)}
    parts[Layer.UNEXPLAINED] = parts[Layer.UNEXPLAINED].plus(Estimate.exact(early_ns))
    moments = moments_of(load, others, position, sockets, layers)
    if not moments:
        raise NoLedger("the front's socket was not sampled after the other resources became available")
    return Ledger(
        load=load.number,
        focal=focal.name,
        available_ns=focal.available_ns,
        first_byte_ns=focal.first_byte_ns,
        parts={layer: wait.ns for layer, wait in parts.items()},
        uncertainty={layer: wait.uncertainty_ns for layer, wait in parts.items()},
        moments=tuple(moments),
    )


@dataclass(frozen=True, kw_only=True)
class _Record:
    """The TLS record with the focal resource's first byte: when it began to arrive, and its end in the TCP stream."""

    began_ns: int
    end: int


def _record(load: PageLoad, evidence: Evidence) -> _Record:
    for event in evidence.events:
        if (event.load, event.resource, event.kind) == (load.number, load.focal.name, "data"):
            began_ns = event.t_ns if event.record_ns is None else event.record_ns
            return _Record(began_ns=began_ns, end=event.tcp_bytes or 0)
    raise NoLedger(f"the client received no data of the {load.focal.name}")


def _parts(
    load: PageLoad, available_ns: int, position: int, evidence: Evidence, layers: Layers, scenario: ScenarioRecord
) -> dict[Layer, Estimate]:
    """Returns the waits from when the byte is at the front; available_ns is that instant."""
    record, sockets = _record(load, evidence), layers.sockets
    looks = Looks(
        sockets=sockets,
        layers=layers,
        pipe=Pipe.of(scenario, load.started_ns),
        sent=Estimate.exact(record.began_ns),
        record_ns=record.began_ns,
    )
    transit = Transit(
        looks=looks,
        position=position,
        end=record.end,
        first_byte_ns=load.focal.first_byte_ns,
        loss=scenario.loss > 0,
        clock_ns=_BROWSER_STEP_NS if scenario.client == "chromium" else 0,
        held_ns=_held_ns(sockets, record.began_ns) if scenario.front_qdisc == "fq" else 0,
    )
    sent = _sent(transit, available_ns)
    transit = replace(transit, looks=replace(looks, sent=sent))
    handed_counts = [sample.handed_bytes for sample in sockets]
    handed = reached(sockets, handed_counts, position, available_ns, sent.most_ns)
    handed = replace(handed, ns=min(handed.ns, sent.ns))
    accepted = _accepted(sockets, available_ns, position, handed)
    parts = _in_front(Estimate.exact(available_ns), accepted, handed)
    windows = windows_of(evidence, scenario)
    if windows is not None:
        lowat_bytes = scenario.lowat if isinstance(scenario.lowat, int) else None
        waiting = Waiting(sockets=sockets, position=position, lowat_bytes=lowat_bytes)
        parts |= _behind_windows(parts, waiting, windows, available_ns, handed)
    if layers.service:
        parts |= _at_work(parts, at_work(layers), available_ns, handed)
    unsent = sent.since(handed)
    limited = receive_window(sockets, handed, sent)
    parts |= (
        {Layer.UNSENT: unsent.since(limited), Layer.RECEIVE_WINDOW: limited}
        if limited.most_ns
        else {Layer.UNSENT: unsent}
    )
    parts |= transit.parts()
    if transit.crossed is None:
        parts |= _perhaps_held(parts, transit.held_ns)
    return parts


def _held_ns(sockets: Sequence[SocketSample], until_ns: int) -> int:
    """Returns how long the front's fq may have held a byte that came at until_ns."""
    return paced_ns(latest(sockets, until_ns) or sockets[0])


def _perhaps_held(parts: Mapping[Layer, Estimate], held_ns: int) -> dict[Layer, Estimate]:
    """Returns the waits for kernel and queue if the front's device may have held what TCP counts as sent."""
    unsent, queue = parts[Layer.UNSENT], parts[Layer.QUEUE]
    return {
        Layer.UNSENT: replace(unsent, most_ns=unsent.most_ns + held_ns),
        Layer.QUEUE: replace(queue, least_ns=max(0, queue.least_ns - held_ns)),
    }


def _sent(transit: Transit, available_ns: int) -> Estimate:
    """Returns when the front's kernel first sent the byte.

    The samples tell between which instants. The byte was sent at the latest when it had still to cross the link, and at
    the earliest, unless packets were sent again, when it had to wait in a full bottleneck.
    """
    if transit.crossed is not None:
        return Estimate.exact(max(available_ns, transit.crossed.first_sent_ns))
    looks, own = transit.looks, transit.own
    latest_ns = looks.record_ns + transit.clock_ns - own.least_ns
    counts = [sample.sent_bytes for sample in looks.sockets]
    sent = reached(looks.sockets, counts, transit.position, available_ns, latest_ns)
    longest_ns = looks.pipe.longest_queue_ns(looks.record_ns)
    if longest_ns is None or looks.may_be_resent(sent.least_ns, looks.record_ns):
        return sent
    earliest_ns = looks.record_ns - own.most_ns - longest_ns - looks.off_ns
    return Estimate.between(max(sent.least_ns, min(earliest_ns, sent.most_ns)), sent.most_ns)


def _accepted(sockets: Sequence[SocketSample], available_ns: int, position: int, handed: Estimate) -> Estimate:
    """Returns when the front's kernel first accepted bytes after available_ns.

    If it accepted bytes between the samples around available_ns, it may have done so before or after. That does not
    matter if no bytes were ahead of the byte any more.
    """
    index = bisect_right(sockets, available_ns, key=lambda sample: sample.t_ns)
    before, after = sockets[max(0, index - 1)], sockets[min(index, len(sockets) - 1)]
    if before.handed_bytes >= position - 1:
        return handed
    if after.t_ns > handed.most_ns:
        return Estimate.between(available_ns, handed.most_ns)
    counts = [sample.handed_bytes for sample in sockets]
    later = reached(sockets, counts, after.handed_bytes + 1, available_ns, handed.most_ns)
    later = later.clipped(available_ns, handed.most_ns)
    if after.handed_bytes in (before.handed_bytes, position - 1) or after.t_ns <= available_ns:
        return later
    is_after = after.t_ns - available_ns > available_ns - before.t_ns
    probable = Estimate.between(available_ns, after.t_ns) if is_after else later
    return Estimate(ns=probable.ns, least_ns=available_ns, most_ns=max(later.most_ns, after.t_ns)).clipped(
        available_ns, handed.most_ns
    )


def _in_front(available: Estimate, accepted: Estimate, handed: Estimate) -> dict[Layer, Estimate]:
    accepted_ns = min(accepted.ns, handed.ns)
    accepted = replace(accepted, ns=accepted_ns, least_ns=min(accepted.least_ns, accepted_ns))
    return {Layer.PENDING: accepted.since(available), Layer.COMMITTED: handed.since(accepted)}


def _behind_windows(
    parts: Mapping[Layer, Estimate],
    waiting: Waiting,
    windows: Windows,
    available_ns: int,
    handed: Estimate,
) -> dict[Layer, Estimate]:
    """Takes the waits for the client's flow-control windows out of those in the front."""
    held = waiting.held(windows, available_ns, handed)
    if not held.most_ns:
        return {}
    accepted_ns = available_ns + parts[Layer.PENDING].ns
    pending = waiting.held(windows, available_ns, Estimate.exact(accepted_ns))
    pending = replace(pending, ns=min(pending.ns, held.ns))
    committed = replace(held, ns=held.ns - pending.ns)
    most_ns = handed.most_ns - available_ns - held.least_ns
    return {
        Layer.PENDING: parts[Layer.PENDING].since(pending).clipped(0, most_ns),
        Layer.COMMITTED: parts[Layer.COMMITTED].since(committed).clipped(0, most_ns),
        Layer.FLOW: held,
    }


def _at_work(
    parts: Mapping[Layer, Estimate], working: Sequence[Span], available_ns: int, handed: Estimate
) -> dict[Layer, Estimate]:
    """Takes the time in which the front's server was at work out of the waits in the front."""

    def worked(until: Estimate) -> Estimate:
        least_ns, ns, most_ns = (
            covered_ns(working, available_ns, until_ns) for until_ns in (until.least_ns, until.ns, until.most_ns)
        )
        return Estimate(ns=ns, least_ns=least_ns, most_ns=most_ns)

    found = worked(handed)
    pending = worked(Estimate.exact(available_ns + parts[Layer.PENDING].ns))
    pending = replace(pending, ns=min(pending.ns, parts[Layer.PENDING].ns))
    committed_ns = min(found.ns - pending.ns, parts[Layer.COMMITTED].ns)
    committed = replace(found, ns=max(0, committed_ns))
    service = replace(found, ns=pending.ns + committed.ns, least_ns=min(found.least_ns, pending.ns + committed.ns))
    return {
        Layer.PENDING: parts[Layer.PENDING].since(pending),
        Layer.COMMITTED: parts[Layer.COMMITTED].since(committed),
        Layer.SERVICE: service,
    }


def _look_ns(sockets: Sequence[SocketSample]) -> int:
    """Returns the mean time between successive samples."""
    return (sockets[-1].t_ns - sockets[0].t_ns) // (len(sockets) - 1)
