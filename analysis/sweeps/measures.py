"""What is measured of one run of a sweep. Pure, but for the look into front/process.jsonl.

Times are those of the measured load, the last one, in milliseconds from the request of its page (run.json):

- script first byte, and the part of its wait in the send queue: unsent in the front's kernel (the ledger's);
- complete: when the last byte of image and script is there;
- goodput: payload of image and script, over the time in which there was some of it to send. That time begins with the
  first payload byte of either and ends with the last of both. If the client had the whole image before any of the
  script could have come, what lies between does not count: nobody could send then. So latency and the origin's delay,
  which are the same whatever LOWAT is, do not hide a link that idles because the kernel had too little.

What the front spent is counted over all loads of the connection, and given per MB (10^6 bytes) of their payload:
processor time, context switches, and system calls that read and write. It is None where nobody counted: a folder
without samples, or a kernel without the accounting, as the guest's. There a processor does its work in no time, too, so
its context switches tell how often the front was woken up, and nothing of its load.
"""

from collections.abc import Mapping
from enum import StrEnum
from math import ceil
from typing import Any

from analysis.loads.ledger import Layer
from analysis.loads.metrics import IMAGE, SCRIPT
from analysis.records.rate import Rate
from analysis.records.runs import Run
from analysis.reports.summary import measured
from common.formats.reading import FolderError, read_journal
from common.formats.samples import ProcessSample
from common.packets import PACKET_BYTES, RECORD_BYTES, SEGMENT_BYTES

IN_NO_TIME = "image and script came in no time, which has no goodput"

_MB = 10**6
_RECORD_PACKETS = ceil(RECORD_BYTES / SEGMENT_BYTES) + 1  # it need not begin where a packet does


class Measure(StrEnum):
    """What is measured, named with its unit."""

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
"""What the front spent."""


def measures(run: Run) -> Mapping[Measure, float | None]:
    """Of a run whose status is ok. Raises FolderError if it lacks what such a run has."""
    load = measured(run)
    ledger = run.document.get("ledger")
    return {
        Measure.FIRST_BYTE: load[SCRIPT]["first_byte_ms"],
        Measure.SEND_QUEUE: ledger["parts_ms"].get(Layer.UNSENT) if ledger else None,
        Measure.COMPLETE: _complete_ms(load),
        Measure.GOODPUT: _goodput_bit_s(run),
        **_costs(run),
    }


def grains(run: Run) -> Mapping[Measure, float]:
    """The smallest difference that means anything in a run whose status is ok.

    Payload is sent and can be read in whole TLS records, and which of them comes last, or before the script, depends on
    how writes happen to fall. So a time means nothing finer than the packets in which one record can lie take at the
    link's rate, or than the step of the clock if that is longer; goodput nothing finer than what that makes of it. Of a
    rate that changes it is the lowest, at which any of it may have been.
    """
    rate_bit_s = _slowest_bit_s(run)
    packets_ms = _RECORD_PACKETS * PACKET_BYTES * 8 * 1000 / rate_bit_s if rate_bit_s else 0.0
    grain_ms = max(packets_ms, (run.observed["clock_resolution_ns"] or 0) / 10**6)
    times = dict.fromkeys((Measure.FIRST_BYTE, Measure.SEND_QUEUE, Measure.COMPLETE), grain_ms)
    return {**times, Measure.GOODPUT: _goodput_bit_s(run) * grain_ms / busy_ms(run)}


def record_ms(run: Run) -> float:
    """What 16 KiB take at the link's rate, the lowest it ever has; 0 if it has none."""
    rate_bit_s = _slowest_bit_s(run)
    return RECORD_BYTES * 8 * 1000 / rate_bit_s if rate_bit_s else 0.0


def _slowest_bit_s(run: Run) -> int | None:
    rate = Rate.of(run.scenario)
    return rate.slowest_bit_s if rate else None


def _complete_ms(load: Mapping[str, Any]) -> float:
    return float(max(load[SCRIPT]["last_byte_ms"], load[IMAGE]["last_byte_ms"]))


def busy_ms(run: Run) -> float:
    """How long there was something to send in a run whose status is ok; not above 0 in a record that is damaged."""
    load = measured(run)
    script_ms, image_ms = load[SCRIPT]["first_byte_ms"], load[IMAGE]["last_byte_ms"]
    soonest_ms = load["script_available_ms"] + run.scenario["delay_ns"] / 10**6
    idle_ms = max(0.0, min(script_ms, soonest_ms) - image_ms)
    return float(_complete_ms(load) - min(script_ms, load[IMAGE]["first_byte_ms"]) - idle_ms)


def _goodput_bit_s(run: Run) -> float:
    over_ms = busy_ms(run)
    if over_ms <= 0:
        raise FolderError(f"{run.path / 'run.json'}: {IN_NO_TIME}")
    return float(2 * run.scenario["size_bytes"] * 8 * 1000 / over_ms)


def _costs(run: Run) -> dict[Measure, float | None]:
    file = run.path / "front" / "process.jsonl"
    samples = read_journal(file, ProcessSample) if file.exists() else []
    if samples:
        samples = [sample for sample in samples if sample.pid == samples[-1].pid]
    payload_mb = 2 * run.scenario["size_bytes"] * len(run.document["loads"]) / _MB

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
