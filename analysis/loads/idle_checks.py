"""Finds a front that did nothing although it could, in the samples of its socket. Pure.

Three things are checked:

1. The front hands bytes over as soon as it has them and its kernel takes them. It has what the origin may have sent, up
   to the windows of HTTP/2; in the last 32 KiB of a window a server may wait for more. Where this comes in the TCP
   stream is known from the client's log. The kernel takes bytes while fewer than half of LOWAT are unsent, and a third
   of the send buffer is free (net/core/stream.c, sk_stream_is_writeable). If the server sets LOWAT itself, or a tuner
   does, only an empty kernel is known to take bytes. Where the direction toward the front has a bottleneck (RATE_UP,
   TRACE_UP), a WINDOW_UPDATE may come later, or be dropped, so there pages that need one are left out. With SERVICE,
   the time in which the front's server was at work does not count, and nothing before the last bytes that it handed
   over: its kernel may have been full until it was at work again.
2. Unsent bytes leave as soon as congestion window and receive window allow it (tcp_output.c, tcp_write_xmit). Only a
   last part of the window may wait for further acknowledgments (tcp_tso_should_defer), so half a window is never left
   unused. BBR paces its packets, so there nothing is checked.
3. Packet buffers become large: the kernel checks LOWAT only when it begins a new one, so a front that writes eagerly
   fills one, of 45 segments. A smaller limit of segmentation shows in fewer unsent bytes, even if the connection alone
   has it, from its handshake. In all observed runs at least 34 KiB were unsent at some time.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from priolab.analysis.loads.contradiction import Allowance, Contradiction, in_ms
from priolab.analysis.loads.flow_control import Windows, may_enlarge, windows_of
from priolab.analysis.loads.metrics import PageLoad
from priolab.analysis.loads.spans import at_work, covered_ns
from priolab.analysis.records.runs import Evidence, Layers
from priolab.common.formats.events import Kind
from priolab.common.formats.samples import SocketSample
from priolab.common.formats.scenario import AUTO, PROBE, ScenarioRecord
from priolab.common.packets import PACKET_BUFFER_BYTES, RECORD_BYTES

_FEW_BYTES = 2 * RECORD_BYTES
"""With less than a record's room in a window, Traffic Server waits for more; another record may have to be finished."""

_SMALL_BYTES, _OFTEN = 16 * 1024, 50
"""The largest LOWAT that half a packet buffer exceeds, and how often the kernel must be seen full."""

_USED = 1 / 2
"""The part of the congestion window that is used at least while bytes are unsent."""


def idle_contradictions(
    loads: Sequence[PageLoad],
    evidence: Evidence,
    layers: Layers,
    scenario: ScenarioRecord,
    allowance: Allowance,
    *,
    is_stock: bool,
) -> Iterator[Contradiction]:
    """Returns a contradiction if the front kept bytes that its kernel would take, or the kernel kept bytes back.

    is_stock: True if the front is a server of the catalogue in the lab's version and configuration. Other servers may
    hold bytes back by themselves, so the first point is not checked for them. Nor is it checked with VIA, because a
    response may be on its way between the fronts, nor in a probe, whose client keeps its windows closed.
    """
    has_queue_up = scenario.rate_up_bit_s is not None or scenario.trace_up is not None
    needs_updates = has_queue_up and may_enlarge(scenario)
    if is_stock and scenario.via is None and scenario.plan != PROBE and not needs_updates:
        yield from _not_handed_over(loads, evidence, layers, scenario, allowance)
        yield from _small_buffers(evidence, layers, scenario)
    is_paced = scenario.congestion_control == "bbr" or scenario.front_qdisc == "fq"
    if not is_paced:
        yield from _unused_window(layers.sockets, allowance)


def _not_handed_over(
    loads: Sequence[PageLoad], evidence: Evidence, layers: Layers, scenario: ScenarioRecord, allowance: Allowance
) -> Iterator[Contradiction]:
    ends = sorted(each for load in loads for each in _ends(load, evidence))
    windows, working = windows_of(evidence, scenario), at_work(layers)
    index = position = 0
    handed_bytes = 0
    since_ns: int | None = None
    for sample in layers.sockets:
        has_written = scenario.service is not None and sample.handed_bytes > handed_bytes
        handed_bytes = sample.handed_bytes
        while index < len(ends) and ends[index][0] <= sample.t_ns:
            position = max(position, ends[index][1])
            index += 1
        has_bytes = sample.handed_bytes < position and takes_bytes(sample, scenario)
        if not has_bytes or (windows and _is_held(windows, sample, position)):
            since_ns = None
            continue
        since_ns = sample.t_ns if since_ns is None or has_written else since_ns
        idle_ns = sample.t_ns - since_ns - covered_ns(working, since_ns, sample.t_ns)
        if idle_ns > allowance.on_the_way_ns:
            what = "time for which the front had bytes that it did not hand over, although its kernel took some"
            yield Contradiction(what=what, asked="no time", seen=in_ms(idle_ns))
            return


def _ends(load: PageLoad, evidence: Evidence) -> Iterator[tuple[int, int]]:
    """Yields when the origin could send the last byte of each response, and where this is in the TCP stream."""
    ends = {
        event.resource: event.tcp_bytes
        for event in evidence.events
        if event.kind is Kind.DATA and event.load == load.number and event.tcp_bytes is not None
    }
    for name, times in load.resources.items():
        if name in ends:
            yield times.available_ns + times.resource.last_ns - times.resource.first_ns, ends[name]


def _is_held(windows: Windows, sample: SocketSample, position: int) -> bool:
    """True if the windows keep the front from sending, now or in a record more."""
    handed_bytes = sample.handed_bytes
    return any(windows.hold(at, sample.t_ns, position) for at in (handed_bytes, handed_bytes + _FEW_BYTES))


def _small_buffers(evidence: Evidence, layers: Layers, scenario: ScenarioRecord) -> Iterator[Contradiction]:
    """Checks that a small LOWAT was exceeded as far as a packet buffer of the kernel allows."""
    lowat = scenario.lowat
    if not isinstance(lowat, int) or lowat > _SMALL_BYTES or scenario.native != "off":
        return
    if scenario.gso_segments is not None or windows_of(evidence, scenario):
        return
    limited = [sample.notsent_bytes for sample in layers.sockets if 2 * sample.notsent_bytes >= max(2, lowat)]
    if len(limited) >= _OFTEN and max(limited) < PACKET_BUFFER_BYTES // 2:
        what = f"most bytes unsent in the front's kernel, which are more than LOWAT={lowat} by a packet buffer"
        yield Contradiction(what=what, asked=f"at least {PACKET_BUFFER_BYTES // 2}", seen=str(max(limited)))


def takes_bytes(sample: SocketSample, scenario: ScenarioRecord) -> bool:
    """True if the front's kernel is known to take bytes at a sample of its socket."""
    if scenario.native != "off" or scenario.lowat == AUTO:
        return not (sample.notsent_bytes or sample.unacked_segments)
    below = scenario.lowat is None or 2 * sample.notsent_bytes < int(scenario.lowat)
    return below and 3 * sample.wmem_queued_bytes < 2 * sample.sndbuf_bytes


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
