"""Fixtures about guests, for tests of the engine with the lab and without it."""

from collections.abc import Iterator

import pytest

from priolab.testbed.process import command_process


@pytest.fixture(scope="module")
def own_guests() -> Iterator[None]:
    """Lets the tests of a module start guests of their own, which end with their runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command_process, "_kept", None)
        yield
