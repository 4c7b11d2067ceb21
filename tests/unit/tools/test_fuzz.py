"""Tests of a short run of `make fuzz`."""

import json

import pytest

from tools.campaigns.fuzz.__main__ import SEEDS
from tools.campaigns.fuzz.session import PROTOCOLS, fuzz

_MILLION = 10**6


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_nothing_but_load_failed(protocol: str) -> None:
    """Some sessions fail and some succeed, and the same seed gives the same result."""
    found = fuzz(protocol, 7, 3000)
    assert found.frames >= 3000
    assert found.failed > 10
    assert found.finished > 10
    assert fuzz(protocol, 7, 3000) == found


def test_the_kept_seeds() -> None:
    """There are seeds of every protocol, without duplicates, with a million frames in all."""
    kept = json.loads(SEEDS.read_text())
    assert {run["protocol"] for run in kept} == set(PROTOCOLS)
    assert sum(run["frames"] for run in kept) >= _MILLION
    assert len({(run["protocol"], run["seed"]) for run in kept}) == len(kept)
