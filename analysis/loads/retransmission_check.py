"""Compares the number of packets that the front sent again with the number that the link dropped. Pure.

A kernel sends a segment again if it was lost, or taken for lost. If the client then has the segment twice, its kernel
says so (D-SACK, RFC 2883), and the front's kernel counts that. So without LOSS every segment that was sent again was
dropped by the bottleneck, or is counted as a duplicate. Either stands for at most one full segment.
"""

from collections.abc import Iterator

from priolab.analysis.loads.contradiction import Contradiction
from priolab.analysis.records.runs import Evidence, Layers
from priolab.analysis.records.samples import latest
from priolab.common.formats.events import Kind
from priolab.common.formats.scenario import ScenarioRecord

_REPORT_ROUNDS = 2
"""The round trips until a duplicate is reported: the second copy's way to the client, and the report's way back."""


def retransmission_contradictions(
    evidence: Evidence, layers: Layers, scenario: ScenarioRecord
) -> Iterator[Contradiction]:
    """Checks that the front's kernel sent no more bytes again than were dropped, or came twice.

    Both are counted from the connection's start: the kernel counts what it sends again from then on, and what the link
    dropped before was the calibration's. The first sample of the socket may come later than the first drop.
    What was sent again in the last two round trips is not checked, because the client's report may be on its way. With
    LOSS nothing is checked, because chance decides how many packets are lost. Nor with REORDER: among packets that
    overtake each other, a single report stands for several duplicates (tcp_input.c, tcp_dsack_extend).
    """
    if scenario.loss or scenario.reorder or not layers.sockets or not layers.sockets[-1].segments_sent:
        return
    last = layers.sockets[-1]
    rtt_us = max(sample.rtt_us for sample in layers.sockets)
    until = latest(layers.sockets, last.t_ns - _REPORT_ROUNDS * 1000 * rtt_us) if last.bytes_retrans else None
    if until is None:
        return
    before = layers.held(_connected_ns(evidence))
    dropped = layers.queue[-1].dropped - (before.dropped if before else 0) if layers.queue else 0
    most_bytes = (dropped + last.duplicate_segments) * max(sample.mss_bytes for sample in layers.sockets)
    if until.bytes_retrans > most_bytes:
        what = "bytes that the front's kernel sent again"
        asked = f"at most {most_bytes}, which the queue dropped or the client had twice"
        yield Contradiction(what=what, asked=asked, seen=str(until.bytes_retrans))


def _connected_ns(evidence: Evidence) -> int:
    return next((event.t_ns for event in evidence.events if event.kind is Kind.CONNECTED), 0)
