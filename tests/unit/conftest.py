"""What the unit tests share. Property tests are repeatable: the same examples in every run, on every machine."""

import pytest
from hypothesis import settings

from tests.unit.client.pair import Pair, page_asked, resources_asked

settings.register_profile("unit", deadline=None, derandomize=True, database=None)
settings.load_profile("unit")


@pytest.fixture
def pair() -> Pair:
    """The page is asked for."""
    return page_asked()


@pytest.fixture
def resources() -> Pair:
    """The page has come, image and script are asked for."""
    return resources_asked()
