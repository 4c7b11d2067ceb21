"""Fixtures of the contract tests: a recorded real sweep, and its summary."""

import json
from pathlib import Path
from typing import Any

import pytest

from priolab.analysis.sweeps.folder import Sweep, load_sweep
from priolab.analysis.sweeps.summary import summarize

GOLDEN_SWEEP = Path(__file__).parent.parent / "golden-sweep"

Summary = dict[str, Any]


@pytest.fixture(scope="session")
def sweep() -> Sweep:
    """Load a recorded sweep: LOWAT none, 4096, 16384, 131072 at 10 Mbit/s and 50 ms, 0 % and 1 % loss, REPEAT=3."""
    return load_sweep(GOLDEN_SWEEP)


@pytest.fixture(scope="session")
def summary(sweep: Sweep) -> Summary:
    """Return the sweep's summary as read back from JSON."""
    read: Summary = json.loads(json.dumps(summarize(sweep)))
    return read
