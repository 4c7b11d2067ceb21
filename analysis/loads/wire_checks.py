"""Finds bytes that were late on the link, toward the client or as acknowledgments, in the logs of a run. Pure.

A sample of the front's socket tells how many bytes had been sent and acknowledged. The client's log tells when bytes of
the TCP stream arrived. The link alone decides how long both ways take, so each has a latest time:

    toward the client   all bytes of a sample have been sent when the sample is taken. From then on they wait for the
                        delay, and for those bytes before them that the bottleneck has not yet transmitted.
    acknowledgments     wait for the delay alone. A kernel acknowledges as soon as two full segments have arrived
                        (RFC 5681, 4.2; tcp_input.c, __tcp_ack_snd_check), so at most two may be unacknowledged.
"""

from collections.abc import Iterator, Sequence

from priolab.analysis.loads.contradiction import Allowance, Contradiction, in_ms
from priolab.analysis.records.rate import Rate, most_wait_up_ns
from priolab.analysis.records.runs import Layers
from priolab.analysis.records.samples import earliest, paced_ns
from priolab.common.formats.events import Arrival
from priolab.common.formats.samples import FEWEST_LOOKS, SocketSample
from priolab.common.formats.scenario import ScenarioRecord
from priolab.common.packets import HEADERS_BYTES, framed

_DELAYED_SEGMENTS = 2
"""Segments that a kernel may hold without an acknowledgment, until its timer for delayed acknowledgments."""


def late_on_the_way(
    layers: Layers, scenario: ScenarioRecord, began_ns: int, allowance: Allowance
) -> Iterator[Contradiction]:
    """Checks that bytes arrived at the client in time after the front had sent them.

    began_ns: the start of the measured load. A byte that had to be sent again after the sample is not checked: it was
    lost, or taken for lost. With cross traffic, bytes wait behind those of other flows, and nothing is checked.
    """
    if layers.cross or not layers.arrivals:
        return
    rate = Rate.of(scenario, began_ns)
    way_ns = scenario.delay_ns + 2 * scenario.jitter_ns
    late_ns = allowance.on_the_way_ns + (_off_ns(rate) if rate else 0)
    through_ns = 0.0
    is_paced = scenario.front_qdisc == "fq"
    last: SocketSample | None = None
    index = 0
    for sample in layers.sockets:
        through_ns = max(through_ns, sample.t_ns + way_ns + (paced_ns(sample) if is_paced else 0))
        if rate is not None:
            through_ns = rate.through_ns(through_ns, _on_the_link_bytes(last, sample))
        last = sample
        index = _arrived(layers.arrivals, index, sample.sent_bytes)
        if index == len(layers.arrivals):
            return
        arrival = layers.arrivals[index]
        if not index:  # the bytes of the TLS handshake are not among the arrivals
            continue
        if arrival.t_ns > through_ns + late_ns and not _sent_again(sample, arrival.t_ns, layers, scenario):
            what = f"arrival of the byte {sample.sent_bytes} that the front had sent"
            asked = f"at most {in_ms(round(through_ns - sample.t_ns))} later"
            yield Contradiction(what=what, asked=asked, seen=in_ms(arrival.t_ns - sample.t_ns))
            return


def late_reads(waited_ns: int | None, allowance: Allowance) -> Iterator[Contradiction]:
    """Checks that the client read datagrams soon after they had arrived.

    waited_ns: the longest time for which one waited in the client's kernel; None if unknown.
    """
    if waited_ns is not None and waited_ns > allowance.on_the_way_ns:
        what = "longest time for which a datagram waited in the client's kernel"
        yield Contradiction(what=what, asked=f"at most {in_ms(allowance.on_the_way_ns)}", seen=in_ms(waited_ns))


def late_acknowledgments(layers: Layers, scenario: ScenarioRecord, allowance: Allowance) -> Iterator[Contradiction]:
    """Checks that the front's kernel got acknowledgments in time after the bytes had arrived at the client.

    What arrived behind a lost packet may have a stamp from before it became readable (client/transport.py), so nothing
    is checked while segments are lost.
    """
    late_ns = scenario.delay_up_ns + most_wait_up_ns(scenario) + allowance.on_the_way_ns
    index = -1
    for sample in layers.sockets:
        while index + 1 < len(layers.arrivals) and layers.arrivals[index + 1].t_ns <= sample.t_ns - late_ns:
            index += 1
        if index < 0:
            continue
        least_bytes = layers.arrivals[index].tcp_bytes - _DELAYED_SEGMENTS * sample.mss_bytes
        if sample.bytes_acked < least_bytes and not _is_recovering(sample, layers, scenario):
            what = f"bytes acknowledged {in_ms(late_ns)} after they had arrived at the client"
            yield Contradiction(what=what, asked=f"at least {least_bytes}", seen=str(sample.bytes_acked))
            return


def _off_ns(rate: Rate) -> int:
    """Returns by how much a time that follows from the rate may be off.

    The rate of a trace is right at its opportunities; between two of them it is up to a packet off. A packet that is
    being sent when the rate changes is finished at the old rate. What the link could have carried meanwhile at a higher
    rate may have to be carried later at the lowest.
    """
    rates_bit_s = [rate_bit_s for _, rate_bit_s in rate.pieces]
    return round(rate.longest_wait_s(2) * 10**9 * max(rates_bit_s) / min(rates_bit_s))


def _on_the_link_bytes(before: SocketSample | None, sample: SocketSample) -> float:
    """Returns what the front sent since the sample before, in bytes on the link."""
    sent_bytes = sample.bytes_sent - (before.bytes_sent if before else 0)
    if not sample.segments_sent:
        return framed(sent_bytes, sample.mss_bytes)
    return sent_bytes + HEADERS_BYTES * (sample.segments_sent - (before.segments_sent if before else 0))


def _arrived(arrivals: Sequence[Arrival], index: int, stream_bytes: int) -> int:
    """Returns the index, from `index` on, of the first arrival by which so many bytes of the stream had arrived."""
    while index < len(arrivals) and arrivals[index].tcp_bytes < stream_bytes:
        index += 1
    return index


def _is_recovering(sample: SocketSample, layers: Layers, scenario: ScenarioRecord) -> bool:
    """True if the front takes segments for lost, or sends some again within two round trips."""
    until_ns = sample.t_ns + 2000 * sample.rtt_us
    return bool(sample.lost_segments) or _sent_again(sample, until_ns, layers, scenario)


def _sent_again(sample: SocketSample, until_ns: int, layers: Layers, scenario: ScenarioRecord) -> bool:
    """True if the front sent bytes again between the sample and an instant, or may have done so on a lossy link.

    Without a sample after that instant nobody knows.
    """
    after = earliest(layers.sockets, until_ns)
    if after is None:
        return bool(scenario.loss or scenario.reorder) or len(layers.sockets) <= FEWEST_LOOKS
    return after.bytes_retrans > sample.bytes_retrans
