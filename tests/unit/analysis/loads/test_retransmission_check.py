"""Tests of packets that were sent again although nothing was dropped."""

import pytest

from priolab.analysis.loads.retransmission_check import retransmission_contradictions
from priolab.analysis.records.runs import Layers
from priolab.common.formats.samples import QueueSample
from tests.support.builders import MS, evidence, scenario, socket_sample

SEGMENT = 1448
CONNECTED = evidence([], [])
"""A connection that stands at 0."""


def told(
    *, again: int, dropped: int = 0, twice: int = 0, at_ms: int = 100, segments: int = 100, first_ms: int = 0
) -> list[str]:
    """Returns what is said about a kernel that sent so many segments again at `at_ms`; the last sample is at 1 s."""
    samples = tuple(
        socket_sample(
            t_ns=t_ms * MS,
            rtt_us=100_000,
            segments_sent=segments,
            bytes_retrans=again * SEGMENT if t_ms >= at_ms else 0,
            duplicate_segments=twice if t_ms >= at_ms else 0,
        )
        for t_ms in range(first_ms, 1001, 10)
    )
    before = QueueSample(t_ns=-MS, direction="down", dropped=8)  # by the calibration
    queue = (before, QueueSample(t_ns=at_ms * MS, direction="down", dropped=8 + dropped))
    layers = Layers(sockets=samples, queue=queue, arrivals=())
    return [f"{each.what}: {each.seen}" for each in retransmission_contradictions(CONNECTED, layers, scenario({}))]


@pytest.mark.parametrize("counts", [(0, 0, 0), (7, 7, 0), (7, 3, 4), (6, 7, 0)])
def test_what_was_dropped_or_came_twice(counts: tuple[int, int, int]) -> None:
    """Segments that the queue dropped, or that the client reports as duplicates, are sent again rightly."""
    again, dropped, twice = counts
    assert told(again=again, dropped=dropped, twice=twice) == []


def test_drops_before_the_first_sample_of_the_socket() -> None:
    """A sweep samples every 100 ms, and on a fast link much is dropped and sent again before the first sample."""
    assert told(again=42, dropped=42, at_ms=60, first_ms=100) == []
    assert told(again=42, dropped=41, at_ms=60, first_ms=100)


def test_a_single_packet_that_nobody_dropped() -> None:
    """A loss that the link was not asked for is found by a single packet."""
    assert told(again=4, dropped=3) == [f"bytes that the front's kernel sent again: {4 * SEGMENT}"]


def test_a_report_that_may_be_on_its_way() -> None:
    """In the last two round trips the client's report of a duplicate may not have arrived."""
    assert told(again=1, at_ms=790) == [f"bytes that the front's kernel sent again: {SEGMENT}"]
    assert told(again=1, at_ms=810) == []


def test_records_without_these_counts() -> None:
    """Older records have no count of duplicates, so nothing can be said."""
    assert told(again=4, segments=0) == []


@pytest.mark.parametrize("knobs", [{"LOSS": "1%"}, {"REORDER": "1%"}])
def test_a_link_that_loses_or_reorders_packets(knobs: dict[str, str]) -> None:
    """With LOSS any number of packets may be lost, and with REORDER any number may be reported together."""
    samples = tuple(socket_sample(t_ns=t_ns * MS, segments_sent=9, bytes_retrans=SEGMENT) for t_ns in (0, 1))
    layers = Layers(sockets=samples, queue=(), arrivals=())
    assert list(retransmission_contradictions(CONNECTED, layers, scenario(knobs))) == []
    assert list(retransmission_contradictions(CONNECTED, layers, scenario({})))
