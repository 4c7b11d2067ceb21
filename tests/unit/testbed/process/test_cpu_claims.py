"""Tests of the choice of a processor for each job."""

import os
from contextlib import ExitStack

import pytest

from priolab.testbed.process import cpu_claims


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return numbers of processors that no machine has, so that no other process claims them."""
    numbers = [100_000 + 10 * os.getpid() % 10**6 + number for number in range(3)]
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(numbers))
    return numbers


def test_claims_are_spread(three: list[int]) -> None:
    """Each processor is claimed once before any is claimed twice, and a free one is claimed again."""
    with ExitStack() as stack:
        first = [stack.enter_context(cpu_claims.claim()).cpu for _ in three]
        assert sorted(first) == three
        second = [stack.enter_context(cpu_claims.claim()) for _ in three]
        assert sorted(claim.cpu for claim in second) == three
        second[1].give_up()
        second[1].give_up()
        assert stack.enter_context(cpu_claims.claim()).cpu == second[1].cpu
    with cpu_claims.claim() as claim:
        assert claim.cpu in three


def test_where_nothing_can_be_claimed(three: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """If claims cannot be recorded, any processor is returned."""
    monkeypatch.setattr(cpu_claims, "_MOST", 0)
    assert cpu_claims.claim().cpu in three
