"""Tests of ledger, oracle and whereabouts with cross traffic, on a connection where all times are known."""

from dataclasses import replace

import pytest

from priolab.analysis.loads.byte_positions import whereabouts
from priolab.analysis.loads.findings import bound_of
from priolab.analysis.loads.layer import Layer
from priolab.analysis.loads.ledger import Ledger, sentence
from priolab.analysis.loads.ledger_builder import ledger
from priolab.analysis.loads.metrics import page_loads
from priolab.analysis.records.runs import Layers
from priolab.common.formats.events import Arrival
from priolab.common.formats.samples import CrossSample, QueueSample
from priolab.common.packets import framed
from tests.support.builders import MS
from tests.unit.analysis.loads.known_load import (
    PACKET_MS,
    RECORD_MS,
    SCENARIO,
    SENT_MS,
    evidence,
    layers,
    sampled,
)

DELAY_MS = 300
MSS = 100
CROSSED = 17
"""Packets of cross traffic that leave the bottleneck while the script's first byte waits there."""


def crossed(packets: int = CROSSED) -> tuple[CrossSample, ...]:
    """Returns the counts: packets leave at an even pace from the time at which the byte is in the bottleneck."""
    entered, left = SENT_MS + DELAY_MS, RECORD_MS
    return tuple(
        CrossSample(t_ns=round(entered + (left - entered) * index / packets) * MS, flows=1, packets=index, bytes=0)
        for index in range(packets + 1)
    )


def with_cross(packets: int = CROSSED, *, resent: int = 0) -> Layers:
    """Returns the samples of a link whose bottleneck holds a packet of the front's, and packets of another flow."""
    usual = layers()
    queue = replace(usual.queue[1], packets=30, bytes=30 * 1514)
    sockets = tuple(
        replace(sampled(t_ms, resent=resent * (t_ms > SENT_MS + DELAY_MS)), mss_bytes=MSS)
        for t_ms in range(0, 2001, 10)
    )
    return replace(usual, sockets=sockets, queue=(usual.queue[0], queue), cross=crossed(packets))


def made(found: Layers) -> Ledger:
    known = evidence()
    return ledger(page_loads(known)[0], known, found, SCENARIO)


def test_the_wait_behind_other_flows_is_a_layer() -> None:
    """The packets of other flows that left while the byte waited are one part, the front's own packets another."""
    found = made(with_cross())
    parts_ms = {layer: wait_ns / MS for layer, wait_ns in found.parts.items()}
    off_ms = found.uncertainty[Layer.CROSS] / MS
    assert off_ms <= 6 * PACKET_MS  # what socket and queue may differ by, and a sampling interval at each end
    assert parts_ms[Layer.CROSS] == pytest.approx(CROSSED * PACKET_MS, abs=off_ms)
    # 501 bytes of the front's are before the script and have not arrived; a packet less, as two are there in part.
    own_ms = framed(501 - MSS, MSS) / 1514 * PACKET_MS
    assert parts_ms[Layer.QUEUE] == pytest.approx(own_ms, abs=0.1)
    transmission_ms = framed(MSS, MSS) / 1514 * PACKET_MS
    assert parts_ms[Layer.PROPAGATION] == pytest.approx(DELAY_MS + transmission_ms, abs=0.1)
    assert sum(found.parts.values()) == found.wait_ns
    assert parts_ms[Layer.UNEXPLAINED] == 0  # what is left is within the uncertainty of both
    assert "behind packets of other flows in the bottleneck" in sentence(found.as_record())


def test_without_cross_traffic_there_is_no_such_layer() -> None:
    """The ledger of a run without cross traffic has the layers that it always had."""
    assert Layer.CROSS not in made(layers()).parts


def test_bytes_behind_a_lost_packet_do_not_count_as_waiting() -> None:
    """After a loss the front's own part is at most the time in which the bottleneck was not busy with other flows."""
    own = [made(with_cross(packets, resent=MSS)).parts[Layer.QUEUE] for packets in (CROSSED, 20)]
    assert own == [made(with_cross()).parts[Layer.QUEUE], 0]


def test_a_pause_for_other_flows_is_no_recovery() -> None:
    """While packets of other flows cross the bottleneck, nothing of the front's can arrive."""
    few, many = (made(with_cross(packets, resent=1448)).parts for packets in (1, CROSSED))
    assert few[Layer.RECOVERY] > many[Layer.RECOVERY] >= 0


def test_the_bound_is_that_of_what_was_left() -> None:
    """If other flows fill the link until a time, the page cannot cross it before, and everything is later by that."""
    load = page_loads(evidence())[0]
    free = bound_of(load, SCENARIO, layers()).first_byte_ns
    until_ms = 900
    full = tuple(
        CrossSample(t_ns=at_ms * MS, flows=1, packets=at_ms // PACKET_MS, bytes=0)
        for at_ms in range(0, until_ms + 1, PACKET_MS)
    )
    taken = bound_of(load, SCENARIO, replace(layers(), cross=full)).first_byte_ns
    assert taken - free == pytest.approx((until_ms - DELAY_MS) * MS, abs=PACKET_MS * MS)


def test_the_link_holds_only_a_share_for_the_front() -> None:
    """With cross traffic the front's bytes on the link are at most those that were sent and have not arrived."""
    look = sampled(SENT_MS)
    held = QueueSample(
        t_ns=0,
        direction="down",
        packets=20,
        bytes=20 * 1514,
        delay_line_packets=10,
        delay_line_bytes=10 * 1514,
        dropped=0,
    )
    found = Layers(sockets=(look,), queue=(held,), arrivals=(Arrival(t_ns=1, tcp_bytes=400),), cross=crossed())
    seen = whereabouts(look, found)
    assert (seen.sent_bytes, seen.far_from_bytes, seen.arrived_bytes) == (1300, 400, 400)
    assert seen.sent_bytes - seen.near_from_bytes == pytest.approx(900 / 3, abs=1)


def test_counts_between_two_samples_are_interpolated() -> None:
    """Half of a packet has left in the middle between two counts; nothing is known before the first."""
    found = Layers(
        sockets=(),
        queue=(),
        arrivals=(),
        cross=(
            CrossSample(t_ns=100, flows=1, packets=0, bytes=0),
            CrossSample(t_ns=200, flows=1, packets=4, bytes=0),
        ),
    )
    assert [found.cross_packets(0, t_ns) for t_ns in (50, 100, 125, 200, 900)] == [0, 0, 1, 4, 4]
    assert found.cross_packets(125, 175) == 2
