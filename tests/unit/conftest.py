"""Fixtures of the unit tests. Property tests use the same examples in every run, on every machine."""

import pytest
from hypothesis import settings

from tests.unit.client.pair import Pair, page_asked, resources_asked

settings.register_profile("unit", deadline=None, derandomize=True, database=None)
settings.load_profile("unit")


@pytest.fixture
def pair() -> Pair:
    """Return a client and a server after the request for the page."""
    return page_asked()


@pytest.fixture
def resources() -> Pair:
    """Return a client and a server after the page has arrived, and image and script were requested."""
    return resources_asked()
