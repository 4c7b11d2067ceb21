"""Predicts the time of the focal resource's first byte by arithmetic. Pure. docs/measured/model.md lists the errors.

The focal resource is the important resource that the origin has last. The others are the resources that are neither
important nor documents. The link is busy from the others' first packet on. So the first byte's time follows from the
number of bytes that are ahead of the focal resource:

    first byte = time of the others' requests + delay + time until bytes ahead and the resource's first record are read

The predicted time is never earlier than the oracle's bound for a whole TLS record. The front can no longer reorder the
bytes ahead when the origin has the resource. They are at most all bytes of the others:

    ahead = sent at once + unsent + refilled + begun

sent at once   The congestion window. On a fresh connection: ten segments, and one more for each acknowledged segment.
               analysis/loads/flights.py computes the loads before the measured one, and the measured one, flight by
               flight. A loss leaves a part of the window (cubic 0.7, RFC 9438; reno 0.5, RFC 5681). bbr sends nothing
               at once: it paces at the link's rate.
unsent         Up to LOWAT in whole packet buffers: the kernel checks the limit only when it begins a new buffer. A
               buffer has 45 segments, or GSO if that is fewer. The send buffer is a limit of the same kind. Without
               SNDBUF the send buffer grows with the window to twice (bbr: three times) 2304 bytes per segment. A full
               packet has this size in the kernel's accounting.
refilled       Until the origin has the resource, acknowledgements free more space. The kernel wakes the front when less
               than half of LOWAT is unsent, and accepts whole packet buffers again.
begun          Records that the front has taken from the others, and of which the kernel does not have all bytes. The
               server's entry in the catalogue has the least and the largest number of these records [writes].

Some of these numbers depend on more than the scenario says. The model then computes the first byte for the ends of
their ranges, too:

window         Once the queue has dropped packets, the window is between what link and queue hold and what a loss leaves
               of this; after loads too short to recover, what a loss leaves of a window that fits into the queue.
               cubic may end slow start early, because round trips become longer (HyStart), and then grows by the
               clock. bbr has up to a quarter of a pipe more in flight than the pipe, and its packet bursts; before the
               end of its startup phase up to 2.89 times the pipe.
loss           bbr goes on when its packets are dropped, and repairs the gap later. A queue that is smaller than what
               bbr has in flight beside the pipe may so delay the first byte by two round trips. cubic's window, which
               grows by the clock, may reach what link and queue hold at any time: one round trip.
begun          Between the least and the largest number of records.
send buffer    The kernel wakes a server that waits for it when a third of the send buffer is free. So between two
               thirds of the send buffer and all of it is full.

If the prediction would be wrong by more than 25 % in one of these cases, there is no prediction, and the reason names
the cause of the widest range. There is no prediction either for:

- losses other than those at a full queue, jitter, packets that skip the delay, a rate that changes, another queueing
  discipline than fifo, cross traffic, a bottleneck at the front's own egress, LOWAT=auto;
- other resources that the origin holds back or sends in chunks, resources that wait for different documents, the knob
  FIRST;
- an HTTP/2 window that is smaller than all other resources together, a browser as the client;
- SERVICE, NATIVE=on, BUFFERING=off, RECORD with a value, a server whose entry in the catalogue has no table [writes];
- priorities in another dialect than plain weights; if streams share by weight, other weights than those of SPDY's
  priorities.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count, product
from math import ceil, inf
from typing import Any, Self

from priolab.analysis.loads.flights import Path, Sender, after_load, progress, read_s
from priolab.analysis.loads.oracle import bound, latest_important
from priolab.analysis.records.rate import Rate
from priolab.common.formats.page import Page, Resource
from priolab.common.formats.scenario import AUTO, FIFO, ScenarioRecord
from priolab.common.packets import INITIAL_WINDOW_SEGMENTS, PACKET_BYTES, RECORD_BYTES, SEGMENT_BYTES

LARGEST_ERROR = 0.25
"""The largest error of a prediction, as a part of the time to first byte, that the ranges in the docstring allow."""

_WIRE = PACKET_BYTES / SEGMENT_BYTES
_IN_RECORDS = 1 + (5 + 1 + 16 + 2 * 9) / RECORD_BYTES  # overhead of a TLS record and the headers of two frames
_OFFLOAD_SEGMENTS = 45  # of full size in 64 KiB
_SEGMENT_TRUESIZE = 2304
_AFTER_LOSS = {"cubic": 0.7, "reno": 0.5}
_BUFFER_MOST = 4 * 2**20  # the kernel's default of the largest send buffer that it makes by itself (tcp_wmem)
_BUFFER_OVERHEAD = 640  # of a packet buffer, in the kernel's accounting
_BUFFER_PER_WINDOW = {"bbr": 3}
_STARTUP_GAIN = 2.89  # of bbr's startup phase: 2/ln 2
_STARTUP_PIPES = 10  # bbr's startup is over after so many pipes: the last three of its round trips bring no higher rate
_PACED_BURSTS = 12.0  # segments: bbr allows three bursts and a few packets more than the pipe
_HYSTART = 16.0  # segments: with a smaller window HyStart is not active
_HYSTART_SAMPLES = 8.0  # acknowledgements of a flight that HyStart looks at
_TRAIN_S = 0.001  # between two segments of a train; an acknowledgement is for two of them
_HYSTART_S = (0.004, 0.016)  # HyStart ends slow start at a delay of an eighth of the round trip, within these limits


class NoPrediction(Exception):
    """Raised if the model does not cover the scenario. The error message is the reason."""


@dataclass(frozen=True, kw_only=True)
class Writes:
    """The way in which a front writes to its socket.

    record_bytes: the size of the front's TLS records. batch_bytes: the bytes that the front writes before it waits
    until the socket is writable; None if the front writes until the kernel accepts no more. begun_records: the least
    and the largest number of records that the front has begun. strict: True if a stream waits for all streams of higher
    weight.
    """

    record_bytes: int
    batch_bytes: int | None
    begun_records: tuple[float, float]
    strict: bool

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Reads how a server writes from the key `front` of run.json. Raises NoPrediction if it is not there."""
        begun = document.get("begun_records")
        if begun is None:
            raise NoPrediction("the catalogue does not describe how this server writes")
        return cls(
            record_bytes=document["record_bytes"],
            batch_bytes=document["batch_bytes"],
            begun_records=(begun[0], begun[1]),
            strict=document["strict"],
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
    path = _path(scenario, scenario.rate_bit_s / 8)
    record_s = _segments(writes.record_bytes) * path.segment_s
    held_s = sum(each.last_ns for each in page.before(focal)) / 10**9
    document_s = _segments(document_bytes) * path.segment_s
    asked_s = up_s + len(page.before(focal)) * (up_s + delay_s) + held_s + document_s

    def first_byte_s(course: _Course) -> float:
        ahead = _ahead_bytes(scenario, page, focal, writes, path, course)
        crossed_s = read_s(course.sender, path, _segments(ahead + writes.record_bytes)) + course.repair_s
        return max(soonest_ms / 1000 + record_s, asked_s + delay_s + crossed_s)

    return _certain_s(_Ranges.of(scenario, page, writes, path), first_byte_s) * 1000


def _check_covered(scenario: ScenarioRecord, page: Page, focal: Resource, writes: Writes) -> None:
    for knob, covered in (
        ("NATIVE=on", scenario.native == "off"),
        ("LOSS", not scenario.loss),
        ("JITTER", not scenario.jitter_ns),
        ("REORDER", not scenario.reorder),
        ("QDISC", scenario.qdisc == FIFO),
        ("CROSS", not scenario.cross),
        ("VIA", scenario.via is None),
        ("SERVICE", scenario.service is None),
        ("a page whose client waits before a request", not any(each.wait_ns for each in page.resources)),
        (
            "a WINDOW smaller than the other resources",
            min(scenario.window_bytes, scenario.whole_window_bytes) >= sum(each.size_bytes for each in page.others),
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
        ("RATE_UP", scenario.rate_up_bit_s is None),
        ("FRONT_QDISC", scenario.front_qdisc is None),
        ("TRACE", scenario.trace is None and scenario.trace_up is None),
        ("SHAPER_AT=front", scenario.shaper_at == "link"),
        ("RECORD", scenario.record_bytes is None),
        (f"CLIENT={scenario.client}", scenario.client == "h2"),
    ):
        if not covered:
            raise NoPrediction(f"the model does not cover {knob}")


@dataclass(frozen=True, kw_only=True)
class _Course:
    """A course that the measured load may take.

    sender: the congestion control at its beginning. largest: the largest window so far. begun_bytes: bytes of the
    others that the front has begun to write. refilled: the part that the front has filled of the third of the
    send buffer that is free when the kernel wakes it. repair_s: the time by which a loss delays the first byte.
    """

    sender: Sender
    largest: float
    begun_bytes: float
    refilled: float
    repair_s: float


@dataclass(frozen=True, kw_only=True)
class _Ranges:
    """The numbers that depend on more than the scenario says. The first of each tuple is the likely one.

    senders: the congestion control at the beginning of the measured load, and the largest window so far. The other
    numbers are those of _Course.
    """

    senders: tuple[tuple[Sender, float], ...]
    begun_bytes: tuple[float, ...]
    refilled: tuple[float, ...]
    repair_s: tuple[float, ...]

    @classmethod
    def of(cls, scenario: ScenarioRecord, page: Page, writes: Writes, path: Path) -> Self:
        least, most = writes.begun_records
        is_paced = scenario.congestion_control == "bbr"
        senders = tuple(_paced(scenario, page, path) if is_paced else _clocked(scenario, page, path))
        windows = [sender.window for sender, _ in senders]
        if is_paced:
            in_flight = max(sender.slow_start_until for sender, _ in senders)
            repair_s = 2 * path.longest_s if in_flight > path.most else 0.0
        else:
            hits = senders[0][0].is_cubic and windows[0] <= path.queue + 1 and max(windows) >= path.most
            repair_s = path.longest_s if hits else 0.0
        return cls(
            senders=senders,
            begun_bytes=tuple(writes.record_bytes * part for part in ((least + most) / 2, least, most)),
            refilled=(0.5, 0.0, 1.0),
            repair_s=(0.0, repair_s),
        )

    def courses(self) -> Iterator[_Course]:
        """Yields every combination; the likely one is the first."""
        for (sender, largest), *rest in product(self.senders, self.begun_bytes, self.refilled, self.repair_s):
            begun_bytes, refilled, repair_s = rest
            yield _Course(sender=sender, largest=largest, begun_bytes=begun_bytes, refilled=refilled, repair_s=repair_s)

    def causes(self) -> Iterator[tuple[str, "_Ranges"]]:
        """Yields each range alone, with the reason in words."""
        likely = _Ranges(
            senders=self.senders[:1],
            begun_bytes=self.begun_bytes[:1],
            refilled=self.refilled[:1],
            repair_s=self.repair_s[:1],
        )
        windows = [sender.window for sender, _ in self.senders]
        yield (
            f"the congestion window may have {min(windows):.0f} to {max(windows):.0f} segments, in or after slow start",
            replace(likely, senders=self.senders),
        )
        yield "the server may have begun more or fewer records", replace(likely, begun_bytes=self.begun_bytes)
        yield "the send buffer may be full, or free by a third", replace(likely, refilled=self.refilled)
        yield "the queue may drop packets before the byte, or not", replace(likely, repair_s=self.repair_s)


def _certain_s(ranges: _Ranges, first_byte_s: Callable[[_Course], float]) -> float:
    """Returns the first byte's time in the likely course. Raises NoPrediction if another one may be too far from it."""

    def ends(of: _Ranges) -> tuple[float, float]:
        times_s = [first_byte_s(course) for course in of.courses()]
        return min(times_s), max(times_s)

    likely_s = first_byte_s(next(ranges.courses()))
    soonest_s, latest_s = ends(ranges)
    if max((likely_s - soonest_s) / soonest_s, (latest_s - likely_s) / latest_s) > LARGEST_ERROR:
        cause, _ = max(ranges.causes(), key=lambda each: ends(each[1])[1] - ends(each[1])[0])
        raise NoPrediction(f"the first byte may come after {soonest_s:.3g} to {latest_s:.3g} s: {cause}")
    return likely_s


def _path(scenario: ScenarioRecord, byte_s: float) -> Path:
    segment_s = PACKET_BYTES / byte_s
    round_trip_s = (scenario.delay_ns + scenario.delay_up_ns) / 10**9
    return Path(
        pipe=max(1.0, round_trip_s / segment_s),
        queue=scenario.queue_packets,
        segment_s=segment_s,
        round_trip_s=round_trip_s,
    )


def _segments(stream_bytes: float) -> float:
    """Returns the segments that carry bytes of responses, in TLS records."""
    return stream_bytes * _IN_RECORDS / SEGMENT_BYTES


def _paced(scenario: ScenarioRecord, page: Page, path: Path) -> Iterator[tuple[Sender, float]]:
    """Yields what bbr may be like at the beginning of the measured load, the likely first."""
    loaded = scenario.reloads * _segments(page.contents_bytes)
    startup = _STARTUP_GAIN * path.pipe + _PACED_BURSTS
    grown = min(INITIAL_WINDOW_SEGMENTS + loaded, startup)
    if loaded >= _STARTUP_PIPES * path.pipe:
        steady = [
            Sender(window=window, slow_start_until=window, is_paced=True)
            for window in (path.pipe + 1, path.pipe * 1.25 + _PACED_BURSTS)
        ]
        yield steady[0], grown
        yield steady[1], 2 * grown
    if loaded < scenario.reloads * _STARTUP_PIPES * path.pipe or not scenario.reloads:
        for until in (startup, path.pipe + 1):
            yield Sender(window=min(grown, until), slow_start_until=until, is_paced=True), grown


def _clocked(scenario: ScenarioRecord, page: Page, path: Path) -> Iterator[tuple[Sender, float]]:
    """Yields what a congestion control without pacing may be like, the likely first."""
    control = scenario.congestion_control
    loaded = _segments(page.contents_bytes)
    after_loss = _AFTER_LOSS.get(control, 1.0)
    is_cubic = control == "cubic"
    exit_window = _hystart(path) if is_cubic else inf
    recovers = loaded > path.most * path.most * (1 - after_loss)
    lost, senders = False, []
    for until in (exit_window, exit_window / 2, exit_window * 2) if is_cubic else (inf,):
        sender = Sender(
            window=INITIAL_WINDOW_SEGMENTS, slow_start_until=until, after_loss=after_loss, is_cubic=is_cubic
        )
        peak = sender.window
        for _ in range(scenario.reloads):
            sender, largest, dropped = after_load(sender, path, loaded)
            peak, lost = max(peak, largest), lost or dropped
            if dropped and recovers:
                break  # further loads change nothing that the ranges below do not have
        senders.append((sender, peak))
    if lost:
        least = after_loss * (path.most if recovers else min(path.most, path.queue + 1))
        usual = path.most * (1 + after_loss) / 2 if recovers else senders[0][0].window
        peaks = [peak for _, peak in senders]
        ranges = ((min(max(usual, least), path.most), peaks[0]), (least, min(peaks)), (path.most, max(peaks)))
        senders = [
            (replace(sender, window=window, slow_start_until=window, before=path.most), max(window, peak))
            for window, peak in ranges
        ]
    yield from senders


def _hystart(path: Path) -> float:
    """Returns the window at which cubic's HyStart ends slow start (tcp_cubic.c), if flights double from ten segments.

    It ends when acknowledgements have come in one train for half a round trip, or when the first acknowledgements of a
    flight come late, because the flight before has left a queue.
    """
    slower_s = min(max(path.round_trip_s / 8, _HYSTART_S[0]), _HYSTART_S[1])
    late = 2 * _doubled(path.pipe + slower_s / path.segment_s) + _HYSTART_SAMPLES
    train = _doubled(path.pipe / 2) + path.pipe / 2 if path.segment_s < _TRAIN_S else inf
    return max(_HYSTART, min(late, train))


def _doubled(beyond: float) -> float:
    """Returns the first flight of slow start that has more segments."""
    return next(flight for flight in (INITIAL_WINDOW_SEGMENTS * 2.0**n for n in count()) if flight > beyond)


def _ahead_bytes(
    scenario: ScenarioRecord, page: Page, focal: Resource, writes: Writes, path: Path, course: _Course
) -> float:
    """Returns the bytes ahead of the focal resource: those of the others, and of earlier important resources."""
    sooner = [each for each in page.important if each is not focal and each.first_ns <= focal.first_ns]
    before = float(sum(each.size_bytes for each in (*page.others, *sooner)))
    if writes.strict and scenario.priorities != "spdy":
        return before  # without its weight the front does not send the resource first
    sender = course.sender
    now = progress(sender, path, focal.first_ns / 10**9, before / SEGMENT_BYTES)
    sent, acked = now.sent * SEGMENT_BYTES, now.acked * SEGMENT_BYTES
    at_once = 0.0 if sender.is_paced else sender.window * SEGMENT_BYTES
    offload = min(scenario.gso_segments or _OFFLOAD_SEGMENTS, _OFFLOAD_SEGMENTS) * SEGMENT_BYTES
    buffer = _buffer_bytes(scenario, max(course.largest, now.largest)) * offload / (offload + _BUFFER_OVERHEAD)
    if writes.batch_bytes is None:
        first = at_once + ceil(max(0.0, buffer - at_once) / offload) * offload
        refill = ceil(buffer / 3 / offload) * offload
        ahead = [max(first, acked + buffer * 2 / 3 + course.refilled * refill)]
    else:
        ahead = [ceil((acked + buffer * 2 / 3) / writes.batch_bytes) * writes.batch_bytes]
    if isinstance(scenario.lowat, int):
        ahead.append(_let_go_bytes(scenario.lowat, offload, writes, at_once, sent))
    return min(before, min(ahead) + course.begun_bytes)


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


def _buffer_bytes(scenario: ScenarioRecord, largest: float) -> float:
    """Returns the size of the send buffer: SNDBUF, or more if the congestion window has made the buffer grow."""
    per_window = _BUFFER_PER_WINDOW.get(scenario.congestion_control, 2)
    grown = per_window * max(largest, INITIAL_WINDOW_SEGMENTS) * _SEGMENT_TRUESIZE
    return max(float(scenario.sndbuf_bytes or 0), min(grown, _BUFFER_MOST))
