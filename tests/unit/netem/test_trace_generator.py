"""Tests of synthetic traces."""

import pytest

from priolab.netem.trace_generator import KINDS, synthetic


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_decides(kind: str) -> None:
    """The same seed gives the same trace, and another seed another one; the name says that it is synthetic."""
    one, same, other = (synthetic(kind, seed=seed, duration_ms=5000) for seed in (1, 1, 2))
    assert one == same
    assert one.times_ms != other.times_ms
    assert one.name == f"{kind}-synthetic-1"
    assert one.period_ns == 5 * 10**9


@pytest.mark.parametrize("kind", KINDS)
def test_the_rate_is_about_the_mean(kind: str) -> None:
    """Over ten minutes the mean rate is within a third of the one asked for, and there are gaps."""
    trace = synthetic(kind, seed=1, duration_ms=600_000, rate_bit_s=1_000_000)
    assert trace.mean_bit_s == pytest.approx(1_000_000, rel=1 / 3)
    assert trace.longest_gap_ns > 40 * 10**6


def test_too_slow() -> None:
    """A trace without an opportunity is refused."""
    with pytest.raises(ValueError, match="no opportunities"):
        synthetic("lte", seed=1, duration_ms=5, rate_bit_s=1000)
