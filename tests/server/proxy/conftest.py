"""Fixtures of the tests of tuners."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from priolab.testbed.topology.cgroup import own_group


@pytest.fixture
def group(bpf: None) -> Iterator[Path]:  # noqa: ARG001
    """Return a new cgroup for the test."""
    with own_group(f"priolab-test-{os.getpid()}") as path:
        yield path
