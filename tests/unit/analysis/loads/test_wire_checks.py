"""Tests of bytes that are late on the link, on a connection where all times are known."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from priolab.analysis.loads.contradiction import Allowance
from priolab.analysis.loads.wire_checks import late_acknowledgments, late_on_the_way, late_reads
from priolab.analysis.records.runs import Layers
from priolab.common.formats.events import Arrival
from priolab.common.formats.samples import SocketSample
from tests.support.builders import MS, scenario, socket_sample

EXACT = Allowance(rate=0.03, moment_ns=MS, late_ns=6 * MS, is_exact=True)
SEGMENT, FRAME = 1448, 1514
LINK = scenario(rate_bit_s=1_211_200, delay_ns=300 * MS, delay_up_ns=50 * MS, jitter_ns=0)
PACKET_MS = 10
"""The transmission time of a full packet on LINK."""


def logs(late_ms: Sequence[int], *, acked_late_ms: int = 0, again: int = 0) -> Layers:
    """Returns the logs of a front that hands ten packets to its kernel at 0 ms, and samples every 10 ms.

    late_ms: how late each of the packets arrives. acked_late_ms: how late acknowledgments are. again: segments that are
    sent again at 350 ms.
    """
    arrivals = [Arrival(t_ns=-MS, tcp_bytes=100)]
    for number, late in enumerate(late_ms, start=1):
        t_ns = (300 + number * PACKET_MS + late) * MS
        arrivals.append(Arrival(t_ns=max(arrivals[-1].t_ns, t_ns), tcp_bytes=100 + number * SEGMENT))
    sent_bytes = 100 + len(late_ms) * SEGMENT
    samples = []
    for t_ms in range(0, 1000, 10):
        back_ns = (t_ms - 50 - acked_late_ms) * MS
        acked_bytes = max((each.tcp_bytes for each in arrivals if each.t_ns <= back_ns), default=0)
        retrans = again * SEGMENT if t_ms >= 350 else 0
        samples.append(_sample(t_ms, sent_bytes + retrans, acked_bytes, retrans, len(late_ms) + 1))
    return Layers(sockets=tuple(samples), queue=(), arrivals=tuple(arrivals))


def _sample(t_ms: int, sent: int, acked: int, retrans: int, segments: int) -> SocketSample:
    return socket_sample(
        t_ns=t_ms * MS, bytes_sent=sent, bytes_retrans=retrans, bytes_acked=acked, segments_sent=segments
    )


@pytest.mark.parametrize(("late_ms", "lines"), [(0, 0), (15, 0), (40, 1)])
def test_a_packet_that_is_late(late_ms: int, lines: int) -> None:
    """The last packet may be late by two packets' transmission time and a millisecond, and no later."""
    found = list(late_on_the_way(logs([*[0] * 9, late_ms]), LINK, 0, EXACT))
    assert len(found) == lines
    if found:
        sent_bytes = 100 + 10 * SEGMENT
        assert found[0].what == f"arrival of the byte {sent_bytes} that the front had sent"
        assert found[0].seen == "440.0 ms"


def test_a_link_that_carries_packets_more_slowly_than_its_rate() -> None:
    """Each packet leaves a wire behind the front 3 % late: the delay adds up until it is seen."""
    late = [number * 3 * PACKET_MS // 100 for number in range(200)]
    assert list(late_on_the_way(logs(late), LINK, 0, EXACT))


def test_a_byte_that_was_sent_again_may_be_late() -> None:
    """A packet that was lost arrives after it was sent again, which is no contradiction if the kernel did that."""
    assert not list(late_on_the_way(logs([*[0] * 9, 260], again=1), LINK, 0, EXACT))
    assert list(late_on_the_way(logs([*[0] * 9, 260]), LINK, 0, EXACT))


def test_a_busy_machine_may_be_late() -> None:
    """On a real clock, what the tolerance explains is no contradiction."""
    real = replace(EXACT, is_exact=False, late_ns=40 * MS)
    assert not list(late_on_the_way(logs([*[0] * 9, 180]), LINK, 0, real))
    assert list(late_on_the_way(logs([*[0] * 9, 240]), LINK, 0, real))


@pytest.mark.parametrize(("late_ms", "lines"), [(40, 0), (110, 1)])
def test_the_fronts_fq_may_hold_bytes(late_ms: int, lines: int) -> None:
    """With FRONT_QDISC=fq two packet buffers, and one more, may wait at the pacing rate; 6 segments take 60 ms."""
    late = logs([*[0] * 9, late_ms])
    paced = tuple(replace(each, pacing_rate_bytes_s=100 * SEGMENT, min_rtt_us=10**5) for each in late.sockets)
    fq = replace(LINK, front_qdisc="fq")
    assert len(list(late_on_the_way(replace(late, sockets=paced), fq, 0, EXACT))) == lines
    assert list(late_on_the_way(replace(late, sockets=paced), LINK, 0, EXACT))


def test_bytes_of_other_flows() -> None:
    """With cross traffic nothing is known about the wait behind other flows."""
    crossed = replace(logs([*[0] * 9, 400]), cross=(None,))  # type: ignore[arg-type]
    assert not list(late_on_the_way(crossed, LINK, 0, EXACT))


@pytest.mark.parametrize(("late_ms", "lines"), [(0, 0), (40, 1), (300, 1)])
def test_acknowledgments_that_are_late(late_ms: int, lines: int) -> None:
    """Two segments may be unacknowledged. With a packet every 10 ms, more are after 40 ms."""
    found = list(late_acknowledgments(logs([0] * 10, acked_late_ms=late_ms), LINK, EXACT))
    assert len(found) == lines
    if found:
        assert found[0].what == "bytes acknowledged 51.0 ms after they had arrived at the client"


@pytest.mark.parametrize(("rate_up_bit_s", "lines"), [(64_000, 0), (10**9, 1)])
def test_acknowledgments_that_wait_for_others(rate_up_bit_s: int, lines: int) -> None:
    """With RATE_UP an acknowledgment may wait for a full queue of others, and no longer."""
    limited = replace(LINK, rate_up_bit_s=rate_up_bit_s)
    assert len(list(late_acknowledgments(logs([0] * 10, acked_late_ms=300), limited, EXACT))) == lines


@pytest.mark.parametrize(("lost_segments", "again_bytes"), [(1, 0), (0, SEGMENT)])
def test_acknowledgments_of_what_waited_for_a_lost_packet(lost_segments: int, again_bytes: int) -> None:
    """While segments are lost, or are sent again soon, an acknowledgment may seem late."""
    layers = logs([0] * 10, acked_late_ms=300)
    sent = tuple(
        replace(sample, rtt_us=50_000, lost_segments=lost_segments, bytes_retrans=number * again_bytes)
        for number, sample in enumerate(layers.sockets)
    )
    assert not list(late_acknowledgments(replace(layers, sockets=sent), LINK, EXACT))


def test_a_delayed_acknowledgment_is_not_late() -> None:
    """The client may hold back the acknowledgment of the last two segments."""
    layers = logs([0] * 10)
    most = layers.arrivals[-1].tcp_bytes - 2 * SEGMENT
    held = tuple(replace(sample, bytes_acked=min(sample.bytes_acked, most)) for sample in layers.sockets)
    assert not list(late_acknowledgments(replace(layers, sockets=held), LINK, EXACT))


def test_datagrams_that_the_client_reads_late() -> None:
    """A datagram may wait in the client's kernel for a moment, on a real clock for longer; None is unknown."""
    real = replace(EXACT, is_exact=False)
    for waited_ms, allowance, lines in ((1, EXACT, 0), (2, EXACT, 1), (29, real, 0), (400, real, 1)):
        assert len(list(late_reads(waited_ms * MS, allowance))) == lines
    assert list(late_reads(None, EXACT)) == []
