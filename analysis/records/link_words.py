"""The settings of links in words, for the headline of a figure and the beginning of an experiment."""

from collections.abc import Iterator

from priolab.common.formats.scenario import FIFO, ScenarioRecord
from priolab.common.trace import Trace


def link_words(scenario: ScenarioRecord) -> Iterator[str]:
    """Yields each setting of the link that differs from the lab's usual value, written as a knob, such as LOSS=1%.

    Rate, delay and queue are not among them. A trace is named by its file, without the folder.
    """
    for name, packed in (("TRACE", scenario.trace), ("TRACE_UP", scenario.trace_up)):
        if packed is not None:
            yield f"{name}={Trace.unpack(packed).name}"
    if scenario.rate_up_bit_s is not None:
        yield f"RATE_UP={scenario.rate_up_bit_s / 8000:g}kbps"
    if scenario.loss:
        yield f"LOSS={scenario.loss * 100:g}%"
    if scenario.loss_burst_packets is not None:
        yield f"LOSS_BURST={scenario.loss_burst_packets:g}"
    if scenario.jitter_ns:
        yield f"JITTER={scenario.jitter_ns / 10**6:g}ms"
    if scenario.reorder:
        yield f"REORDER={scenario.reorder * 100:g}%"
    if scenario.qdisc != FIFO:
        yield f"QDISC={scenario.qdisc}"
    if scenario.ecn:
        yield "ECN=on"
    if scenario.cross:
        yield f"CROSS={scenario.cross}"
        yield f"CROSS_CC={scenario.cross_cc}"
    if (via := scenario.via) is not None:
        yield f"VIA_HTTP={via.http}"
        if via.rate_bit_s is not None:
            yield f"VIA_RATE={via.rate_bit_s / 8000:g}kbps"
        yield f"VIA_DELAY={via.delay_ns / 10**6:g}ms"
        if via.queue_bytes is not None:
            yield f"VIA_QUEUE={via.queue_bytes}b"
