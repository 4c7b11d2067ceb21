"""Finds contradictions between the logs of a run, or between its logs and its scenario. Pure.

A contradiction means that a log, or a part of the testbed, is wrong. All logs have times of the same kernel's clock, so
no effect may have an earlier time than its cause. A busy machine records events late. If a late record of the cause can
look like a contradiction, the tolerance is large: another check measures lateness (analysis/loads/lateness.py).

The times of these logs are compared:

    client and origin   the origin receives a request after the client sent the request, and the client receives a
                        response after the origin had the response
    client and front    bytes arrive after the front sent them, and are acknowledged after they have arrived
    front and link      the link holds at most the bytes that were sent and have not arrived
    each log by itself  times never run backwards

The same times also show what was too late: bytes on the link and acknowledgments (wire_checks.py), a front that sends
nothing although it could (idle_checks.py), requests, documents and the origin's responses (request_checks.py).

Other checks compare sizes, numbers of requests, the origin's delays, unsent bytes, retransmissions and the link's rate
with the scenario.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median

from priolab.analysis.loads.contradiction import Allowance, Contradiction, in_ms
from priolab.analysis.loads.idle_checks import idle_contradictions
from priolab.analysis.loads.layer import Layer
from priolab.analysis.loads.metrics import PageLoad, page_loads
from priolab.analysis.loads.queue_check import queue_contradictions
from priolab.analysis.loads.rate_check import rate_contradictions
from priolab.analysis.loads.request_checks import request_contradictions, served
from priolab.analysis.loads.retransmission_check import retransmission_contradictions
from priolab.analysis.loads.wire_checks import late_acknowledgments, late_on_the_way
from priolab.analysis.records.runs import Evidence, Layers
from priolab.analysis.records.samples import latest
from priolab.common.formats.run import LedgerRecord
from priolab.common.formats.samples import FEWEST_LOOKS, SocketSample
from priolab.common.formats.scenario import PROBE, ScenarioRecord
from priolab.common.packets import ACKNOWLEDGMENT_BYTES, PACKET_BUFFER_BYTES, RECORD_BYTES

_MS = 10**6
_UNEXPLAINED_AT_MOST = 0.1

_ACKED_EARLY_BYTES = 2
"""SYN and FIN: each counts as one acknowledged byte."""

_GAPS, _GAP_NS = 3, 20_000_000
"""The longest time between two samples is this many usual intervals and this many nanoseconds."""


def contradictions(
    evidence: Evidence,
    layers: Layers,
    scenario: ScenarioRecord,
    allowance: Allowance,
    *,
    is_stock: bool = False,
    takes_whole: bool = False,
) -> Iterator[Contradiction]:
    """Returns the contradictions, the easiest to understand first. scenario: the scenario in run.json.

    is_stock: True if the front is a server of the catalogue in the lab's version and configuration. takes_whole: True
    if it is known that the front takes whole responses from the origin at once. Raises FolderError if the record of a
    load is incomplete.
    """
    loads = page_loads(evidence)
    yield from _payload(loads)
    yield from _order(evidence, layers)
    if allowance.is_exact:
        yield from _pauses(loads[-1], layers)
    yield from request_contradictions(
        loads, evidence, layers, scenario, allowance, is_stock=is_stock, takes_whole=takes_whole
    )
    if scenario.client == "h2":  # a browser opens spare connections
        yield from _transport(layers, scenario, allowance)
        if not layers.cross:  # otherwise the link holds bytes of other flows
            yield from _held(layers, allowance)
    yield from unsent(layers.sockets, scenario.lowat)
    if loads:
        yield from queue_contradictions(layers, scenario, loads[-1].started_ns, allowance)
    # With cross traffic the front has only a part of the link's rate.
    if loads and scenario.plan != PROBE and not layers.cross:
        yield from rate_contradictions(loads[-1], layers, scenario, allowance)
    if loads and scenario.client == "h2":
        yield from late_on_the_way(layers, scenario, loads[-1].started_ns, allowance)
        yield from late_acknowledgments(layers, scenario, allowance)
        yield from idle_contradictions(loads, evidence, layers, scenario, allowance, is_stock=is_stock)
        yield from retransmission_contradictions(evidence, layers, scenario)


def outside(evidence: Evidence) -> Iterator[Contradiction]:
    """Returns a contradiction for each request that the origin logged before or after all page loads."""
    times_ns = [event.t_ns for event in evidence.events if event.kind in ("load-started", "load-finished")]
    loads = sum(event.kind == "load-started" for event in evidence.events)
    for resource in evidence.page.resources:
        for request in served(resource, evidence)[-loads:]:
            if times_ns and not times_ns[0] <= request.received_ns <= times_ns[-1]:
                seen = f"{(request.received_ns - times_ns[0]) / _MS:.1f} ms after the first load began"
                what = f"time at which the origin received a request for the {resource.name}"
                yield Contradiction(what=what, asked="during the page loads", seen=seen)


def unexplained(ledger: LedgerRecord | None, allowance: Allowance) -> Iterator[Contradiction]:
    """Checks that the ledger explains at least nine tenths of the focal resource's wait, or all but a moment.

    Otherwise something that no log shows has held the resource back. What is uncertain is no proof of it.
    """
    if ledger is None:
        return
    layer = Layer.UNEXPLAINED.value
    left_ms = abs(ledger.parts_ms[layer]) - ledger.parts_uncertainty_ms.get(layer, 0.0)
    if left_ms > max(_UNEXPLAINED_AT_MOST * ledger.wait_ms, allowance.too_late_ns / _MS):
        what = f"part of the {ledger.focal}'s wait that the ledger leaves unexplained"
        seen = f"{left_ms / ledger.wait_ms:.0%}, {left_ms:.1f} ms"
        yield Contradiction(what=what, asked=f"at most {_UNEXPLAINED_AT_MOST:.0%}", seen=seen)


def _payload(loads: Sequence[PageLoad]) -> Iterator[Contradiction]:
    for load in loads:
        for times in load.resources.values():
            if times.size_bytes != times.resource.size_bytes:
                asked, seen = f"{times.resource.size_bytes} bytes", f"{times.size_bytes} bytes"
                yield Contradiction(what=f"payload of the {times.name} in load {load.number}", asked=asked, seen=seen)


def _order(evidence: Evidence, layers: Layers) -> Iterator[Contradiction]:
    logs: dict[str, Iterable[int]] = {
        "client's events": (event.t_ns for event in evidence.events),
        "client's arrivals": (arrival.t_ns for arrival in layers.arrivals),
        "samples of the front's socket": (sample.t_ns for sample in layers.sockets),
        "samples of the link's queue": (line.t_ns for line in layers.queue),
    }
    for name, times_ns in logs.items():
        for before_ns, after_ns in pairwise(times_ns):
            if after_ns < before_ns:
                yield _backwards(f"times of the {name}", after_ns - before_ns)
                break
    for request in evidence.requests:
        stamps = [request.received_ns, request.headers_ns, request.available_ns, request.handed_over_ns]
        for before_ns, after_ns in pairwise(stamp for stamp in stamps if stamp is not None):
            if after_ns < before_ns:
                yield _backwards(f"times of the origin for {request.path}", after_ns - before_ns)
    for event in evidence.events:
        if event.record_ns is not None and event.record_ns > event.t_ns:
            yield _backwards("times of a TLS record's first and last byte", event.t_ns - event.record_ns)
            break


def _pauses(load: PageLoad, layers: Layers) -> Iterator[Contradiction]:
    """Checks that no sample of the front's socket is missing in the measured load.

    Only for a clock that stands still while programs work: a program that takes the processor for a time on this clock
    holds up all others, the sampler too.
    """
    times_ns = [each.t_ns for each in layers.sockets if load.started_ns <= each.t_ns <= load.finished_ns]
    gaps_ns = [after_ns - before_ns for before_ns, after_ns in pairwise(times_ns)]
    if len(gaps_ns) >= FEWEST_LOOKS and max(gaps_ns) > (most_ns := _GAPS * round(median(gaps_ns)) + _GAP_NS):
        what = "time between two samples of the front's socket"
        yield Contradiction(what=what, asked=f"at most {in_ms(most_ns)}", seen=in_ms(max(gaps_ns)))


def _backwards(what: str, step_ns: int) -> Contradiction:
    return Contradiction(what=what, asked="no step backwards", seen=f"a step of {step_ns / _MS:.3f} ms")


def _transport(layers: Layers, scenario: ScenarioRecord, allowance: Allowance) -> Iterator[Contradiction]:
    """Checks that bytes arrived after the front had sent them, and were acknowledged after they had arrived."""
    times_ns = [sample.t_ns for sample in layers.sockets]
    delay_ns = scenario.shortest_delay_ns
    for arrival in layers.arrivals:
        index = bisect_left(times_ns, arrival.t_ns - delay_ns + allowance.moment_ns)
        if index < len(times_ns) and (sent_bytes := layers.sockets[index].sent_bytes) < arrival.tcp_bytes:
            what = f"bytes that the front had sent {in_ms(delay_ns)} before they arrived at the client"
            yield Contradiction(what=what, asked=f"at least {arrival.tcp_bytes}", seen=f"{sent_bytes}")
            break
    for sample in layers.sockets:
        # Bytes that TLS read for its handshake are not among the arrivals.
        arrived = latest(layers.arrivals, sample.t_ns - scenario.delay_up_ns + allowance.too_late_ns)
        acked_bytes = sample.bytes_acked - _ACKED_EARLY_BYTES
        if arrived and acked_bytes > (arrived_bytes := arrived.tcp_bytes):
            what = f"bytes that the client had received {in_ms(scenario.delay_up_ns)} before they were acknowledged"
            yield Contradiction(what=what, asked=f"at least {acked_bytes}", seen=f"{arrived_bytes}")
            break


def _held(layers: Layers, allowance: Allowance) -> Iterator[Contradiction]:
    """Checks that the link holds at most the bytes that were sent and have not arrived.

    A retransmitted byte counts as sent twice.
    """
    times_ns = [sample.t_ns for sample in layers.sockets]
    for line in layers.queue if times_ns and layers.arrivals else ():
        index = bisect_left(times_ns, line.t_ns + allowance.too_late_ns)
        if index == len(times_ns):
            return
        if line.t_ns < times_ns[0]:
            continue
        arrived = latest(layers.arrivals, line.t_ns - allowance.too_late_ns)
        most_bytes = layers.sockets[index].bytes_sent - (arrived.tcp_bytes if arrived else 0)
        held_bytes = line.bytes + line.delay_line_bytes
        held_bytes -= ACKNOWLEDGMENT_BYTES * (line.packets + line.delay_line_packets)
        if held_bytes > most_bytes:
            what = "bytes of the TCP stream that the link held"
            asked = f"at most {most_bytes}, which were sent and had not arrived"
            yield Contradiction(what=what, asked=asked, seen=f"{held_bytes}")
            return


def unsent(
    samples: Iterable[SocketSample], lowat: int | str | None, where: str = "the front's kernel"
) -> Iterator[Contradiction]:
    """Checks that at most LOWAT, one packet buffer and one TLS record are unsent, unless LOWAT is unset or auto.

    samples: those of the sockets of this kernel. The kernel checks LOWAT in tcp_stream_memory_free (net/ipv4/tcp.c).
    """
    if not isinstance(lowat, int):
        return
    most_bytes = lowat + PACKET_BUFFER_BYTES + RECORD_BYTES
    found_bytes = max((sample.notsent_bytes for sample in samples), default=0)
    if found_bytes > most_bytes:
        asked = f"at most {most_bytes} bytes with LOWAT={lowat}"
        yield Contradiction(what=f"bytes unsent in {where}", asked=asked, seen=f"{found_bytes} bytes")
