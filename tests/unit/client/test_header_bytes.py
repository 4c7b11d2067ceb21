"""Tests of response headers of a given size, as the client sees them."""

from dataclasses import replace

import pytest

from priolab.client.load_scheduler import LoadFailed
from priolab.common.formats.events import Kind
from tests.support.builders import maps
from tests.unit.client.pair import OK, PAGE, Pair
from tests.unit.client.plans import plan_of

_SIZE = 3000


def _asking() -> Pair:
    page = maps()
    document = replace(page["page"], header_bytes=_SIZE)
    pair = Pair(plan=plan_of(replace(page, resources=(document, *page.resources[1:]))))
    pair.begin_load()
    return pair


def test_headers_of_the_size_asked_for() -> None:
    """Headers with the field, and nothing else, are an answer."""
    pair = _asking()
    pair.server.send_headers(PAGE, [*OK, ("x-filler", "~" * _SIZE)])
    pair.down()
    assert pair.events[-1].kind is Kind.HEADERS


@pytest.mark.parametrize("size", [0, _SIZE - 1])
def test_headers_that_a_front_has_cut(size: int) -> None:
    """A load fails if the field is missing or shorter: then it tested nothing."""
    pair = _asking()
    pair.server.send_headers(PAGE, [*OK, ("x-filler", "~" * size)] if size else OK)
    with pytest.raises(LoadFailed, match=f"x-filler of page has {size} bytes at the client, {_SIZE} at the origin"):
        pair.down()
