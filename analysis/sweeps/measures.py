"""Computes the measures of a run of a sweep. Pure.

Times are those of the measured load, in milliseconds from the request of its page (run.json):

- the focal resource's first byte, and the time that this byte waited in the send queue, unsent in the front's kernel;
- complete: the arrival of the last byte of all resources;
- goodput: payload without documents, divided by the time in which the front had some of this payload to send. The time
  begins with the first payload byte and ends with the last. If the client had all other resources before the focal
  resource's first byte could arrive, the time in between does not count, because the front had nothing to send. So
  goodput shows a link that idles because the kernel has too few bytes. Latency and the origin's delay, which are the
  same for every LOWAT, do not hide it. The time is at least what the link's rate needs for the payload: the first bytes
  may have waited at the client for a lost packet or for the rest of a TLS record.

The front's costs are counted over all loads of the connection, per MB (10^6 bytes) of their payload: processor time,
context switches, and system calls that read and write (CostRecord). Memory is the most in the send buffer of the
client's connection at a sample of the measured load, bytes on their way included. A cost is None if it was not counted:
in a folder of an earlier version, by a user who may not load the BPF program that counts calls, or processor time in
the guest, where work takes no time. With VIA the second front's costs are counted in the same way.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from math import ceil

from priolab.analysis.loads.layer import Layer
from priolab.analysis.records.rate import Rate
from priolab.analysis.records.runs import Run
from priolab.common.formats.reading import FolderError
from priolab.common.formats.run import CostRecord
from priolab.common.packets import PACKET_BYTES, RECORD_BYTES, SEGMENT_BYTES

IN_NO_TIME = "all payload arrived at one instant, so there is no goodput"

_MB = 10**6
_RECORD_PACKETS = ceil(RECORD_BYTES / SEGMENT_BYTES) + 1  # a record need not begin at a packet's start


class Measure(StrEnum):
    """A measure, named with its unit."""

    FIRST_BYTE = "script_first_byte_ms"
    SEND_QUEUE = "send_queue_ms"
    COMPLETE = "complete_ms"
    GOODPUT = "goodput_bit_s"
    CPU = "front_cpu_ms_per_mb"
    VOLUNTARY = "voluntary_switches_per_mb"
    INVOLUNTARY = "involuntary_switches_per_mb"
    READS = "read_calls_per_mb"
    WRITES = "write_calls_per_mb"
    MEMORY = "send_buffer_bytes"
    SECOND_CPU = "second_front_cpu_ms_per_mb"
    SECOND_VOLUNTARY = "second_front_voluntary_switches_per_mb"
    SECOND_WRITES = "second_front_write_calls_per_mb"


COSTS = (Measure.CPU, Measure.VOLUNTARY, Measure.INVOLUNTARY, Measure.READS, Measure.WRITES)
"""The measures of the front's costs."""


def measures(run: Run) -> Mapping[Measure, float | None]:
    """Returns the measures of a run that is ok. Raises FolderError if the run lacks data that an ok run has."""
    load, ledger = run.record.measured, run.record.ledger
    return {
        # Runs may have different focal resources, so the one that began last stands for all important ones.
        Measure.FIRST_BYTE: max(
            (each.first_byte_ms for each in load.resources.values() if each.important), default=load.first_byte_ms
        ),
        Measure.SEND_QUEUE: ledger.parts_ms.get(Layer.UNSENT) if ledger else None,
        Measure.COMPLETE: load.complete_ms,
        Measure.GOODPUT: _goodput_bit_s(run),
        Measure.MEMORY: load.cost.memory_most_bytes if load.cost else None,
        **_costs(run),
    }


def grains(run: Run) -> Mapping[Measure, float]:
    """Returns the grain of each measure in a run that is ok: the smallest meaningful difference.

    Payload is sent and readable in whole TLS records. Chance decides which record comes last, or before the script. So
    no time is more exact than the transmission time of the packets that can hold a record, or than the clock's step if
    this step is longer. The grain of goodput is the change of goodput that such a difference of time makes. If the rate
    changes, the lowest rate counts, because any record may have been sent at the lowest rate.
    """
    rate_bit_s = _slowest_bit_s(run)
    packets_ms = _RECORD_PACKETS * PACKET_BYTES * 8 * 1000 / rate_bit_s if rate_bit_s else 0.0
    grain_ms = max(packets_ms, (run.observed.clock_resolution_ns or 0) / 10**6)
    times = dict.fromkeys((Measure.FIRST_BYTE, Measure.SEND_QUEUE, Measure.COMPLETE), grain_ms)
    return {**times, Measure.GOODPUT: _goodput_bit_s(run) * grain_ms / busy_ms(run)}


def record_ms(run: Run) -> float:
    """Returns the transmission time of a TLS record of 16 KiB at the link's lowest rate; 0 if it is unlimited."""
    rate_bit_s = _slowest_bit_s(run)
    return RECORD_BYTES * 8 * 1000 / rate_bit_s if rate_bit_s else 0.0


def _slowest_bit_s(run: Run) -> int | None:
    rate = Rate.of(run.scenario)
    return rate.slowest_bit_s if rate else None


def busy_ms(run: Run) -> float:
    """Returns the time in which the front had payload to send, in an ok run; 0 or less if the results are damaged."""
    load, rate = run.record.measured, Rate.of(run.scenario)
    busy_ms = _busy_ms(run)
    if rate is None or busy_ms <= 0:
        return busy_ms
    complete_ns = load.complete_ms * 10**6
    return max(busy_ms, (complete_ns - rate.begun_ns(complete_ns, _payload_bytes(run))) / 10**6)


def _busy_ms(run: Run) -> float:
    load = run.record.measured
    first_ms, others_first_ms, others_last_ms = load.first_byte_ms, load.others_first_byte_ms, load.others_last_byte_ms
    if others_first_ms is None or others_last_ms is None:
        return load.complete_ms - first_ms
    soonest_ms = load.available_ms + run.scenario.delay_ns / 10**6
    idle_ms = max(0.0, min(first_ms, soonest_ms) - others_last_ms)
    return load.complete_ms - min(first_ms, others_first_ms) - idle_ms


def _payload_bytes(run: Run) -> int:
    """Returns the payload of a load, documents excluded."""
    return run.scenario.whole_page.contents_bytes


def _goodput_bit_s(run: Run) -> float:
    over_ms = busy_ms(run)
    if over_ms <= 0:
        raise FolderError(f"{run.path / 'run.json'}: {IN_NO_TIME}")
    return float(_payload_bytes(run) * 8 * 1000 / over_ms)


def _costs(run: Run) -> dict[Measure, float | None]:
    loads = run.record.loads
    first, second = [load.cost for load in loads], [load.second_cost for load in loads]
    payload_mb = _payload_bytes(run) * len(loads) / _MB

    def per_mb(name: str, scale: float = 1.0, spent: Sequence[CostRecord | None] = first) -> float | None:
        counts = [getattr(cost, name) if cost else None for cost in spent]
        return None if None in counts else sum(filter(None, counts)) * scale / payload_mb

    return {
        Measure.CPU: per_mb("cpu_ns", 10**-6),
        Measure.VOLUNTARY: per_mb("wakeups"),
        Measure.INVOLUNTARY: per_mb("involuntary_switches"),
        Measure.READS: per_mb("read_calls"),
        Measure.WRITES: per_mb("write_calls"),
        Measure.SECOND_CPU: per_mb("cpu_ns", 10**-6, second),
        Measure.SECOND_VOLUNTARY: per_mb("wakeups", spent=second),
        Measure.SECOND_WRITES: per_mb("write_calls", spent=second),
    }
