"""Finds a front that sent nothing although it could, in the samples of its socket. Pure.

Two things are checked:

1. While the origin has handed over a response, and the client does not have all of it, the front has bytes to send. So
   its kernel has bytes that are unsent, or sent and not acknowledged. Flow control is no excuse: if everything is
   acknowledged, the client's WINDOW_UPDATE has arrived as well, on the same way. But where the direction toward the
   front has a bottleneck (RATE_UP, TRACE_UP), it may come later, or be dropped, so there pages that need one are left
   out. With SERVICE, the time in which the front's server was at work does not count.
2. Unsent bytes leave as soon as congestion window and receive window allow it (tcp_output.c, tcp_write_xmit). Only a
   last part of the window may wait for further acknowledgments (tcp_tso_should_defer), so half a window is never left
   unused. BBR paces its packets, and with SHAPER_AT=front the kernel holds bytes back while the shaper is busy
   (tcp_small_queue_check), so there nothing is checked.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from priolab.analysis.loads.contradiction import Allowance, Contradiction, in_ms
from priolab.analysis.loads.flow_control import may_enlarge
from priolab.analysis.loads.metrics import PageLoad
from priolab.analysis.loads.spans import at_work, covered_ns, merged
from priolab.analysis.records.runs import Layers
from priolab.common.formats.samples import SocketSample
from priolab.common.formats.scenario import PROBE, ScenarioRecord

_USED = 1 / 2
"""The part of the congestion window that is used at least while bytes are unsent."""


def idle_contradictions(
    loads: Sequence[PageLoad], layers: Layers, scenario: ScenarioRecord, allowance: Allowance, *, is_stock: bool
) -> Iterator[Contradiction]:
    """Returns a contradiction if the front had nothing in its kernel, or unsent bytes and room in both windows.

    is_stock: True if the front is a server of the catalogue in the lab's version and configuration. Other servers may
    hold bytes back by themselves, so the first point is not checked for them. Nor is it checked with VIA, because a
    response may be on its way between the fronts, nor in a probe, whose client keeps its windows closed.
    """
    has_queue_up = scenario.rate_up_bit_s is not None or scenario.trace_up is not None
    needs_updates = has_queue_up and may_enlarge(scenario)
    if is_stock and scenario.via is None and scenario.plan != PROBE and not needs_updates:
        yield from _nothing_to_send(loads, layers, scenario, allowance)
    is_paced = scenario.congestion_control == "bbr" or scenario.front_qdisc == "fq"
    if not is_paced and scenario.shaper_at == "link":
        yield from _unused_window(layers.sockets, allowance)


def _nothing_to_send(
    loads: Sequence[PageLoad], layers: Layers, scenario: ScenarioRecord, allowance: Allowance
) -> Iterator[Contradiction]:
    had = merged(
        (times.available_ns + times.resource.last_ns - times.resource.first_ns, times.last_byte_ns)
        for load in loads
        for times in load.resources.values()
    )
    working = at_work(layers)
    spans = iter(had)
    span = next(spans, None)
    for from_ns, until_ns in _idle(layers.sockets):
        while span is not None and span[1] <= from_ns:
            span = next(spans, None)
        if span is None:
            return
        since_ns, to_ns = max(from_ns, span[0]), min(until_ns, span[1] - scenario.shortest_delay_ns)
        idle_ns = to_ns - since_ns - covered_ns(working, since_ns, to_ns)
        if idle_ns > allowance.on_the_way_ns:
            what = "time for which the front had nothing to send, although the origin had handed over responses"
            yield Contradiction(what=what, asked="no time", seen=in_ms(idle_ns))
            return


def _idle(samples: Sequence[SocketSample]) -> Iterator[tuple[int, int]]:
    """Yields the times between two samples in which the kernel had neither unsent nor unacknowledged bytes."""
    first: SocketSample | None = None
    last: SocketSample | None = None
    for sample in samples:
        if first and last and (sample.bytes_sent != first.bytes_sent or not _is_empty(sample)):
            yield first.t_ns, last.t_ns
            first = None
        if _is_empty(sample):
            first, last = first or sample, sample
    if first and last:
        yield first.t_ns, last.t_ns


def _is_empty(sample: SocketSample) -> bool:
    return not (sample.notsent_bytes or sample.unacked_segments)


def _unused_window(samples: Sequence[SocketSample], allowance: Allowance) -> Iterator[Contradiction]:
    since_ns: int | None = None
    for before, sample in pairwise(samples):
        is_limited = sample.rwnd_limited_us != before.rwnd_limited_us
        if is_limited or not (_has_room(before) and _has_room(sample)):
            since_ns = None
            continue
        since_ns = before.t_ns if since_ns is None else since_ns
        if sample.t_ns - since_ns > allowance.too_late_ns:
            what = "time for which the front had unsent bytes, and room for them in both windows"
            yield Contradiction(what=what, asked="no time", seen=in_ms(sample.t_ns - since_ns))
            return


def _has_room(sample: SocketSample) -> bool:
    """True if a segment is unsent, and half of the congestion window and of the client's window are unused."""
    used_bytes = sample.unacked_segments * sample.mss_bytes
    return (
        sample.notsent_bytes >= sample.mss_bytes
        and sample.unacked_segments < _USED * sample.cwnd_segments
        and used_bytes < _USED * sample.peer_window_bytes
    )
