"""Predicts the time of the focal resource's first byte by arithmetic. Pure. docs/model.md lists the errors.

The focal resource is the important resource that the origin has last. The others are the resources that are neither
important nor documents. The link is busy from the others' first packet on. So the first byte's time follows from the
number of bytes that are ahead of the focal resource:

    first byte = time of the others' requests + delay + transmission(bytes ahead + the resource's own first record)

The predicted time is never earlier than the oracle's bound for a whole TLS record. The bytes ahead are those that the
front can no longer reorder when the origin has the resource, at most all bytes of the others:

    ahead = sent at once + unsent + refilled + begun

sent at once   The congestion window. On a fresh connection: ten segments, and one more for each acknowledged segment,
               until the window has filled link and queue once. From then on the window varies between that size and
               the part that a loss leaves (cubic 0.7, RFC 9438; reno 0.5, RFC 5681). bbr sends nothing at once: it
               paces at the link's rate.
unsent         Up to LOWAT in whole packet buffers: the kernel checks the limit only when it begins a new buffer. A
               buffer has 45 segments, or GSO if that is fewer. The send buffer is a limit of the same kind. Without
               SNDBUF the send buffer grows with the window to twice (bbr: three times) 2304 bytes per segment. A full
               packet has this size in the kernel's accounting.
refilled       Until the origin has the resource, acknowledgements free more space. The kernel wakes the front when less
               than half of LOWAT is unsent, and accepts whole packet buffers again.
begun          The rest of a TLS record of which the kernel has a part: half a record on average. A front that writes
               in batches, and waits before each batch until the socket is writable, has begun a whole record.

A window larger than the queue is sent as one burst, and the bottleneck drops the end of this burst. The client cannot
read bytes after the gap until the gap is repaired. The next packet crosses the full queue before it shows the gap, and
then the retransmission crosses the full queue again.

There is no prediction for:

- losses other than at the end of such a burst, jitter, packets that skip the delay, a rate that changes, another
  queueing discipline than fifo, cross traffic, a bottleneck at the front's own egress, LOWAT=auto;
- other resources that the origin holds back or sends in chunks, resources that wait for different documents, the knob
  FIRST;
- an HTTP/2 window that is smaller than all other resources together, a browser as the client;
- NATIVE=on, BUFFERING=off, RECORD with a value, a server whose entry in the catalogue has no table [writes];
- priorities in another dialect than plain weights; if streams share by weight, other weights than those of SPDY's
  priorities.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, Self

from analysis.loads.oracle import bound, latest_important
from analysis.records.rate import Rate
from common.formats.page import Page, Resource
from common.formats.scenario import AUTO, FIFO, ScenarioRecord
from common.packets import INITIAL_WINDOW_SEGMENTS, PACKET_BYTES, RECORD_BYTES, SEGMENT_BYTES

_WIRE = PACKET_BYTES / SEGMENT_BYTES
_IN_RECORDS = 1 + (5 + 1 + 16 + 2 * 9) / RECORD_BYTES  # overhead of a TLS record and the headers of two frames
_OFFLOAD_SEGMENTS = 45  # of full size in 64 KiB
_SEGMENT_TRUESIZE = 2304
_AFTER_LOSS = {"cubic": 0.7, "reno": 0.5}
_BUFFER_PER_WINDOW = {"bbr": 3}
_STARTUP_GAIN = 2.89  # of bbr's startup phase: 2/ln 2


class NoPrediction(Exception):
    """Raised if the model does not cover the scenario. The error message is the reason."""


@dataclass(frozen=True, kw_only=True)
class Writes:
    """How a front writes to its socket.

    record_bytes: the size of the front's TLS records. batch_bytes: the bytes that the front writes before it waits
    until the socket is writable; None if the front writes until the kernel accepts no more. strict: True if a stream
    waits for all streams of higher weight.
    """

    record_bytes: int
    batch_bytes: int | None
    strict: bool

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Reads how a server writes from the key `front` of run.json. Raises NoPrediction if it is not there."""
        if document["record_bytes"] is None:
            raise NoPrediction("the catalogue does not describe how this server writes")
        return cls(
            record_bytes=document["record_bytes"], batch_bytes=document["batch_bytes"], strict=document["strict"]
        )


def first_byte_ms(scenario: ScenarioRecord, page: Page, writes: Writes, focal: Resource | None = None) -> float:
    """Returns when the focal resource's first byte should arrive, in milliseconds after the load's first request.

    focal: an important resource; None for the one that the origin should have last. Raises NoPrediction if the model
    does not cover the scenario.
    """
    focal = focal or latest_important(page)
    _check_covered(scenario, page, focal, writes)
    delay_s, up_s = scenario.delay_ns / 10**9, scenario.delay_up_ns / 10**9
    document_bytes = sum(each.size_bytes for each in page.before(focal))
    soonest_ns = bound(page, focal, replace(scenario, jitter_ns=0), Rate.of(scenario)).first_byte_ns
    soonest_ms: float = soonest_ns / 10**6
    if scenario.rate_bit_s is None:
        return soonest_ms
    line = _Line.of(scenario, page, scenario.rate_bit_s / 8)
    record_s = line.transmission_s(writes.record_bytes)
    held_s = sum(each.last_ns for each in page.before(focal)) / 10**9
    asked_s = up_s + len(page.before(focal)) * (up_s + delay_s) + held_s + line.transmission_s(document_bytes)
    ahead = _ahead_bytes(scenario, page, focal, writes, line)
    crossed_s = asked_s + delay_s + line.delivery_s(ahead + writes.record_bytes)
    latest_s: float = max(crossed_s, asked_s + line.mended_s)
    return max(soonest_ms + record_s * 1000, latest_s * 1000)


def _check_covered(scenario: ScenarioRecord, page: Page, focal: Resource, writes: Writes) -> None:
    for knob, covered in (
        ("NATIVE=on", scenario.native == "off"),
        ("LOSS", not scenario.loss),
        ("JITTER", not scenario.jitter_ns),
        ("REORDER", not scenario.reorder),
        ("QDISC", scenario.qdisc == FIFO),
        ("CROSS", not scenario.cross),
        ("VIA", scenario.via is None),
        ("a page whose client waits before a request", not any(each.wait_ns for each in page.resources)),
        (
            "a WINDOW smaller than the other resources",
            scenario.window_bytes >= sum(each.size_bytes for each in page.others),
        ),
        (
            "a page with other resources that are held back or sent in chunks",
            not any(each.last_ns for each in page.others),
        ),
        ("resources that wait for different documents", all(each.after == focal.after for each in page.contents)),
        ("FIRST", scenario.first is None),
        ("a DIALECT other than plain", scenario.dialect == "plain"),
        ("PRIORITY on a server whose streams share the link", writes.strict or scenario.priorities == "spdy"),
        ("LOWAT=auto", scenario.lowat != AUTO),
        ("BUFFERING=off", scenario.buffering == "on"),
        ("RATE_STEPS", not scenario.rate_steps),
        ("TRACE", scenario.trace is None and scenario.trace_up is None),
        ("SHAPER_AT=front", scenario.shaper_at == "link"),
        ("RECORD", scenario.record_bytes is None),
        (f"CLIENT={scenario.client}", scenario.client == "h2"),
    ):
        if not covered:
            raise NoPrediction(f"the model does not cover {knob}")


@dataclass(frozen=True, kw_only=True)
class _Line:
    """The link, and the front's congestion control. A segment is the payload of a full packet.

    byte_s: the link's rate in bytes per second. pipe: the segments that fill the link without a queue. window: the
    segments sent at once. largest: the window's maximum. after_loss: the fraction of the window that a loss leaves.
    is_paced: True if nothing is sent at once.
    """

    byte_s: float
    round_trip_s: float
    queue_segments: int
    pipe: float
    window: float
    largest: float
    after_loss: float
    is_paced: bool

    @classmethod
    def of(cls, scenario: ScenarioRecord, page: Page, byte_s: float) -> Self:
        round_trip_s = (scenario.delay_ns + scenario.delay_up_ns) / 10**9
        pipe = max(1.0, byte_s * round_trip_s / PACKET_BYTES)
        most = pipe + scenario.queue_packets
        grown = INITIAL_WINDOW_SEGMENTS + scenario.reloads * page.contents_bytes / SEGMENT_BYTES
        control = scenario.congestion_control
        is_paced = control == "bbr"
        after_loss = _AFTER_LOSS.get(control, 1.0)
        largest = min(grown, _STARTUP_GAIN * pipe if is_paced else most)
        return cls(
            byte_s=byte_s,
            round_trip_s=round_trip_s,
            queue_segments=scenario.queue_packets,
            pipe=pipe,
            window=largest if is_paced or grown < most else most * (1 + after_loss) / 2,
            largest=largest,
            after_loss=after_loss,
            is_paced=is_paced,
        )

    @property
    def bursts(self) -> bool:
        """True if the front sends at once a window that is larger than the bottleneck queue."""
        return not self.is_paced and self.window > self.queue_segments + 1

    @property
    def mended_s(self) -> float:
        """The seconds from the others' request until the dropped end of a burst has arrived; 0 if there is no burst."""
        if not self.bursts:
            return 0.0
        return 2 * (self.round_trip_s + self.queue_segments * PACKET_BYTES / self.byte_s)

    @property
    def at_once_bytes(self) -> float:
        """The bytes that are sent in one burst, without waiting for acknowledgements."""
        return 0.0 if self.is_paced else self.window * SEGMENT_BYTES

    def transmission_s(self, stream_bytes: float) -> float:
        return stream_bytes * _IN_RECORDS * _WIRE / self.byte_s

    def sent_bytes(self, elapsed_s: float) -> float:
        """Returns the bytes of a response that have been sent `elapsed_s` after the response's beginning."""
        if self.is_paced:
            return self.byte_s / _WIRE * elapsed_s
        left = self.after_loss if self.bursts else 1.0
        clocked = self.byte_s / _WIRE * max(0.0, elapsed_s - self.round_trip_s)
        return max(self.at_once_bytes, left * self.at_once_bytes + clocked)

    def delivery_s(self, stream_bytes: float) -> float:
        """Returns the seconds that the link needs for `stream_bytes`. In slow start it is idle between two windows."""
        remaining, window, waited_s = stream_bytes * _IN_RECORDS, self.window, 0.0
        while window < self.pipe and remaining > window * SEGMENT_BYTES:
            remaining -= window * SEGMENT_BYTES
            waited_s += self.round_trip_s + PACKET_BYTES / self.byte_s
            window *= 2
        return waited_s + remaining * _WIRE / self.byte_s


def _ahead_bytes(scenario: ScenarioRecord, page: Page, focal: Resource, writes: Writes, line: _Line) -> float:
    """Returns the bytes ahead of the focal resource: those of the others, and of earlier important resources."""
    sooner = [each for each in page.important if each is not focal and each.first_ns <= focal.first_ns]
    before = float(sum(each.size_bytes for each in (*page.others, *sooner)))
    if writes.strict and scenario.priorities != "spdy":
        return before  # without its weight the front does not send the resource first
    sent = line.sent_bytes(focal.first_ns / 10**9)
    offload = min(scenario.gso_segments or _OFFLOAD_SEGMENTS, _OFFLOAD_SEGMENTS) * SEGMENT_BYTES
    room = max(0.0, _buffer_bytes(scenario, line) - line.at_once_bytes)
    ahead = [max(line.at_once_bytes, sent) + ceil(room / offload) * offload]
    if isinstance(scenario.lowat, int):
        ahead.append(_let_go_bytes(scenario.lowat, offload, writes, line.at_once_bytes, sent))
    begun = writes.record_bytes if writes.batch_bytes else writes.record_bytes / 2
    return min(before, min(ahead) + begun)


def _let_go_bytes(lowat: int, offload: int, writes: Writes, at_once: float, sent: float) -> float:
    """Returns the bytes that a front has written to the kernel, with LOWAT as the limit.

    offload: the size of a packet buffer. at_once: the bytes that are sent in one burst, without waiting for
    acknowledgements. sent: all bytes sent so far.
    """
    if writes.batch_bytes is not None:
        return ceil((sent + lowat / 2) / writes.batch_bytes) * writes.batch_bytes
    first = at_once + ceil(lowat / offload) * offload
    refill = ceil(lowat / 2 / offload) * offload
    return first + max(0, ceil((sent + lowat / 2 - first) / refill)) * refill


def _buffer_bytes(scenario: ScenarioRecord, line: _Line) -> float:
    """Returns the size of the send buffer: SNDBUF, or more if the congestion window has made the buffer grow."""
    per_window = _BUFFER_PER_WINDOW.get(scenario.congestion_control, 2)
    grown = per_window * max(line.largest, INITIAL_WINDOW_SEGMENTS) * _SEGMENT_TRUESIZE
    return max(float(scenario.sndbuf_bytes or 0), grown)
