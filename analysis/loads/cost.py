"""Computes what each load cost the front: the differences of its counters (common/formats/counters.py). Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace

from priolab.analysis.loads.metrics import PageLoad
from priolab.analysis.records.runs import Layers
from priolab.analysis.records.samples import latest
from priolab.common.amounts import kibibytes
from priolab.common.formats.counters import Counts, FrontReading
from priolab.common.formats.run import CostRecord
from priolab.common.formats.samples import counts_of

_MB = 10**6
_NEXT_TO_NOTHING = 0.01
"""The part of a load's bytes that the first reading may miss."""

_OPENING_BYTES = 16 * 1024
"""The most that a front hands over before the first load, for TLS and HTTP/2; no arrival is recorded of it."""

_OTHERS = tuple(field.name for field in fields(Counts) if field.name not in ("handed_bytes", "service_ns"))
_LATE = "the machine was busy, so the front had handed over {} of the load when its counters were read"


def costs(loads: Sequence[PageLoad], layers: Layers) -> Mapping[int, CostRecord]:
    """Returns the costs of the loads by number, without those at whose beginning or end no counters were read.

    If a reading has no counts of the connection, as in containers, or if the connection had closed, those of the
    samples of the front's socket are taken. If a busy machine read the counters late, all but the bytes are unknown.
    loads: in order.
    """
    readings = {reading.load: reading for reading in layers.readings}
    begins_ns = [load.started_ns for load in loads]
    for load in loads:
        if {load.number, load.number + 1} <= readings.keys():
            begin, end = readings[load.number], readings[load.number + 1]
            readings[load.number] = _in_time(begin, end, layers, load.started_ns)
    found = {}
    for load, ends_ns in zip(loads, [*begins_ns[1:], 2**63], strict=True):
        before, after = readings.get(load.number), readings.get(load.number + 1)
        if before is None or after is None:
            continue
        counts = _less(after.counts, before.counts)
        if counts.handed_bytes is None:
            counts = replace(counts, **_sampled(layers, load.started_ns, ends_ns))
        queued_bytes = [each.wmem_queued_bytes for each in layers.sockets if load.started_ns <= each.t_ns < ends_ns]
        found[load.number] = CostRecord(
            **vars(counts),
            cwnd_limited_us=_rest_us(counts),
            memory_bytes=after.memory_bytes,
            memory_most_bytes=max(queued_bytes, default=None),
            reasons={**before.reasons, **after.reasons},
        )
    return found


def second_costs(layers: Layers) -> Mapping[int, CostRecord]:
    """Returns the costs of the loads to the second front, by number; without those of its connections."""
    readings = {reading.load: reading for reading in layers.second_readings}
    return {
        number: CostRecord(**vars(_less(readings[number + 1].counts, before.counts)), reasons=before.reasons)
        for number, before in readings.items()
        if number + 1 in readings
    }


def sentence(cost: CostRecord, which: str = "the front") -> str:
    """Returns a load's costs in words, each per MB that the front handed to the kernel; the largest memory as it is.

    Without the bytes, as over QUIC, they are those of the whole load. Counts that are not known are left out; if it is
    the calls, the reason is there. which: the front.
    """
    size_mb = (cost.handed_bytes or 0) / _MB
    of_what = "per MB" if size_mb else "in the measured load"
    parts = [
        _counted(count / (size_mb or 1), noun)
        for count, noun in ((cost.wakeups, "wake-up"), (cost.read_calls, "read"), (cost.write_calls, "write"))
        if count is not None
    ]
    if cost.cpu_ns is not None:
        parts.append(f"{cost.cpu_ns / 10**6 / (size_mb or 1):,.1f} ms of processor time")
    if cost.memory_most_bytes is not None:
        parts.append(f"at most {kibibytes(cost.memory_most_bytes)} in its send buffer")
    reason = cost.reasons.get("read_calls")
    return f"{of_what} {which} had {', '.join(parts) or 'unknown costs'}" + (
        f"; calls are not counted: {reason}" if reason else ""
    )


def _counted(count: float, noun: str) -> str:
    return f"{count:,.0f} {noun}{'' if round(count) == 1 else 's'}"


def _in_time(reading: FrontReading, after: FrontReading, layers: Layers, started_ns: int) -> FrontReading:
    """Returns a reading; if it came late, the bytes alone as they were when its load began.

    after: the next reading. A front has nothing left to send when a load begins, so all that it has handed over until
    then has arrived. If it had handed over much more at the reading, the reading came late.
    """
    arrived = latest(layers.arrivals, started_ns)
    handed_bytes, arrived_bytes = reading.counts.handed_bytes or 0, arrived.tcp_bytes if arrived else 0
    late_bytes, load_bytes = handed_bytes - arrived_bytes, (after.counts.handed_bytes or 0) - handed_bytes
    if not layers.arrivals or late_bytes <= _OPENING_BYTES + _NEXT_TO_NOTHING * load_bytes:
        return reading
    reasons = {**dict.fromkeys(_OTHERS, _LATE.format(kibibytes(late_bytes))), **reading.reasons}
    return replace(reading, counts=Counts(handed_bytes=arrived_bytes), reasons=reasons)


def _sampled(layers: Layers, begins_ns: int, ends_ns: int) -> dict[str, int]:
    """Returns the connection's counts between the samples of the socket before two instants; none without samples."""
    ends, begins = (latest(layers.sockets, t_ns - 1) for t_ns in (ends_ns, begins_ns))
    if ends is None or begins is None:
        return {}
    late, early = counts_of(ends), counts_of(begins)
    return {name: late[name] - early[name] for name in late}


def _less(after: Counts, before: Counts) -> Counts:
    """Returns the differences; None for a count that is not known at both ends."""
    names = [field.name for field in fields(Counts)]
    ends = {name: (getattr(after, name), getattr(before, name)) for name in names}
    return Counts(**{name: None if None in (late, early) else late - early for name, (late, early) in ends.items()})


def _rest_us(counts: Counts) -> int | None:
    """Returns the time with data to send in which neither window nor buffer of the ends was the limit."""
    busy_us, rwnd_us, sndbuf_us = counts.busy_us, counts.rwnd_limited_us, counts.sndbuf_limited_us
    return None if busy_us is None or rwnd_us is None or sndbuf_us is None else busy_us - rwnd_us - sndbuf_us
