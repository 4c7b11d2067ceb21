"""Fixtures of the contract tests: a recorded real sweep, and its summary."""

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.sweeps.folder import Sweep, load_sweep
from analysis.sweeps.summary import summarize

GOLDEN_SWEEP = Path(__file__).parent.parent / "golden-sweep"

Summary = dict[str, Any]


@pytest.fixture(scope="session")
def sweep() -> Sweep:
    """LOWAT none, 4096, 16384 and 131072 at 10 Mbit/s and 50 ms, without loss and with 1 %, three times each."""
    return load_sweep(GOLDEN_SWEEP)


@pytest.fixture(scope="session")
def summary(sweep: Sweep) -> Summary:
    """Of it, as whoever reads the document has it."""
    read: Summary = json.loads(json.dumps(summarize(sweep)))
    return read
