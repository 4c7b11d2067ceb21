"""The measures of a run of a sweep. Pure, except that it reads front/process.jsonl.

Times are those of the measured load, the last one, in milliseconds from the request of its page (run.json):

- the focal resource's first byte, and the part of its wait in the send queue: unsent in the front's kernel;
- complete: when the last byte of all is there;
- goodput: payload but for documents, over the time in which there was some of it to send. That time begins with the
  first payload byte and ends with the last. If the client had all of the others before any of the
  focal resource could have come, what lies between does not count: nobody could send then. So latency and the
  origin's delay, which are the same whatever LOWAT is, do not hide a link that idles because the kernel had too little.

The front's costs are counted over all loads of the connection, per MB (10^6 bytes) of their payload: processor time,
context switches, and system calls that read and write. They are None if they were not counted: in a folder without
samples, or with a kernel without the accounting, such as the guest's. In the guest work takes no time either, so
context switches there tell how often the front was woken, and nothing of its load.
"""

from collections.abc import Mapping
from enum import StrEnum
from math import ceil

from analysis.loads.ledger import Layer
from analysis.records.rate import Rate
from analysis.records.runs import Run
from common.formats.reading import FolderError, read_journal
from common.formats.run import LoadRecord
from common.formats.samples import ProcessSample
from common.packets import PACKET_BYTES, RECORD_BYTES, SEGMENT_BYTES

IN_NO_TIME = "all came in no time, which has no goodput"

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


COSTS = (Measure.CPU, Measure.VOLUNTARY, Measure.INVOLUNTARY, Measure.READS, Measure.WRITES)
"""The front's costs."""


def measures(run: Run) -> Mapping[Measure, float | None]:
    """The measures of a run whose status is ok. Raises FolderError if it lacks something that such a run has."""
    load, ledger = run.record.measured, run.record.ledger
    return {
        Measure.FIRST_BYTE: load.first_byte_ms,
        Measure.SEND_QUEUE: ledger.parts_ms.get(Layer.UNSENT) if ledger else None,
        Measure.COMPLETE: _complete_ms(load),
        Measure.GOODPUT: _goodput_bit_s(run),
        **_costs(run),
    }


def grains(run: Run) -> Mapping[Measure, float]:
    """The smallest meaningful difference of each measure, in a run whose status is ok.

    Payload is sent and readable in whole TLS records; which of them comes last, or before the script, is up to chance.
    So no time is more exact than the transmission time of the packets that can hold a record, or than the clock's step
    if that is longer; goodput has the corresponding grain. If the rate changes, the lowest rate counts, as any part may
    have been sent at it.
    """
    rate_bit_s = _slowest_bit_s(run)
    packets_ms = _RECORD_PACKETS * PACKET_BYTES * 8 * 1000 / rate_bit_s if rate_bit_s else 0.0
    grain_ms = max(packets_ms, (run.observed.clock_resolution_ns or 0) / 10**6)
    times = dict.fromkeys((Measure.FIRST_BYTE, Measure.SEND_QUEUE, Measure.COMPLETE), grain_ms)
    return {**times, Measure.GOODPUT: _goodput_bit_s(run) * grain_ms / busy_ms(run)}


def record_ms(run: Run) -> float:
    """The transmission time of 16 KiB at the link's rate (the lowest, if it changes); 0 if it has none."""
    rate_bit_s = _slowest_bit_s(run)
    return RECORD_BYTES * 8 * 1000 / rate_bit_s if rate_bit_s else 0.0


def _slowest_bit_s(run: Run) -> int | None:
    rate = Rate.of(run.scenario)
    return rate.slowest_bit_s if rate else None


def _complete_ms(load: LoadRecord) -> float:
    return max(load.important_last_byte_ms, load.others_last_byte_ms)


def busy_ms(run: Run) -> float:
    """The time in which there was something to send, in a run whose status is ok; in damaged results 0 or less."""
    load = run.record.measured
    first_ms, others_ms = load.first_byte_ms, load.others_last_byte_ms
    soonest_ms = load.available_ms + run.scenario.delay_ns / 10**6
    idle_ms = max(0.0, min(first_ms, soonest_ms) - others_ms)
    return _complete_ms(load) - min(first_ms, load.others_first_byte_ms) - idle_ms


def _payload_bytes(run: Run) -> int:
    """The payload of a load, documents excluded."""
    return run.scenario.whole_page.contents_bytes


def _goodput_bit_s(run: Run) -> float:
    over_ms = busy_ms(run)
    if over_ms <= 0:
        raise FolderError(f"{run.path / 'run.json'}: {IN_NO_TIME}")
    return float(_payload_bytes(run) * 8 * 1000 / over_ms)


def _costs(run: Run) -> dict[Measure, float | None]:
    file = run.path / "front" / "process.jsonl"
    samples = read_journal(file, ProcessSample) if file.exists() else []
    if samples:
        samples = [sample for sample in samples if sample.pid == samples[-1].pid]
    payload_mb = _payload_bytes(run) * len(run.record.loads) / _MB

    def per_mb(name: str, scale: float = 1.0) -> float | None:
        if len(samples) < 2:
            return None
        first, last = getattr(samples[0], name), getattr(samples[-1], name)
        return None if first is None or last is None else (last - first) * scale / payload_mb

    return {
        Measure.CPU: per_mb("cpu_ns", 10**-6),
        Measure.VOLUNTARY: per_mb("voluntary_switches"),
        Measure.INVOLUNTARY: per_mb("involuntary_switches"),
        Measure.READS: per_mb("read_calls"),
        Measure.WRITES: per_mb("write_calls"),
    }
