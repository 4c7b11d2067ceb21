"""Tests of the round trips of a document on a cold connection."""

import pytest

from priolab.analysis.loads.rounds import most_rounds, segments_of


@pytest.mark.parametrize(("kib", "rounds"), [(1, 0), (3, 0), (8, 1), (12, 1), (20, 1), (30, 2), (60, 3), (100, 5)])
def test_a_cold_connection(kib: int, rounds: int) -> None:
    """Ten segments go at once, of which the set-up may take five; then at least sixteen in each round trip."""
    assert most_rounds(segments_of(kib * 1024, 0), None) == rounds


def test_a_window_that_losses_have_made_smaller() -> None:
    """Later loads begin with the window that the connection has, which need not grow."""
    segments = segments_of(12 * 1024, 0)
    assert [most_rounds(segments, window) for window in (10, 5, 1)] == [1, 2, segments - 1]


def test_chunks() -> None:
    """Each chunk may be a segment of its own."""
    assert segments_of(3000, 4) == segments_of(3000, 0) + 4
