"""Tests of the words in the figure beside each step of the link's rate."""

import pytest

from priolab.analysis.figures.following import words_of
from priolab.analysis.reports.following import Step


@pytest.mark.parametrize(
    ("lowat_ns", "round_trips_ns", "words"),
    [
        (None, (400_000_000,), "LOWAT never correct"),
        (0, (), "LOWAT correct at once"),
        (150_000_000, (), "LOWAT correct after 150 ms"),
        (150_000_000, (400_000_000,), "LOWAT correct after 150 ms (a round trip: 400 ms)"),
        (150_000_000, (400_000_000, 700_000_000), "LOWAT correct after 150 ms (two round trips: 700 ms)"),
    ],
)
def test_round_trips_that_did_not_end_are_not_named(
    lowat_ns: int | None, round_trips_ns: tuple[int, ...], words: str
) -> None:
    """The words name the duration of the round trips after the step, if these ended before the last sample."""
    step = Step(at_ns=0, rate_bit_s=128_000, round_trips_ns=round_trips_ns, lowat_ns=lowat_ns, unsent_ns=None)
    assert words_of(step) == words
