"""Tests of SPDY levels, HTTP/2 weights, and the ranks of resources."""

import pytest

from priolab.client.priorities import Priorities, Rank, Role, http2_weight
from priolab.common.formats.page import Page
from priolab.experiments.scenario.pages import Parameters, page_of
from tests.support.pages import page_of_parts, part


def test_weights_of_all_levels() -> None:
    """The eight SPDY levels become the weights that Chrome sent."""
    assert [http2_weight(level) for level in range(8)] == [256, 220, 183, 147, 110, 74, 37, 1]


@pytest.mark.parametrize("level", [-1, 8])
def test_no_other_level(level: int) -> None:
    """SPDY/3 has levels 0 to 7; any other level raises ValueError."""
    with pytest.raises(ValueError, match=rf"SPDY priority {level}; allowed: 0 to 7"):
        http2_weight(level)


def test_opposites() -> None:
    """`spdy` and `swap` are opposites; the opposite of no order is no order."""
    assert [each.opposite for each in Priorities] == [Priorities.SWAP, Priorities.SPDY, Priorities.NONE]


def _catalogued(name: str) -> Page:
    return page_of(name, Parameters(size_bytes=2048, script_delay_ns=0))


def test_several_are_favoured() -> None:
    """The page's important resources are favoured, or with `swap` all others; documents never are."""
    news = _catalogued("news")
    images = tuple(f"image-{number:02}" for number in range(1, 21))
    assert [each.favoured(news) for each in Priorities] == [("style", "app"), images, ()]


def test_each_resource_has_its_own_rank() -> None:
    """Urgency, incremental flag, weight and dependency of a rank are those of the page."""
    page = page_of_parts(
        part("html", urgency=0),
        part("b", after="html", urgency=6, incremental=True, weight=9, depends_on="a"),
        part("a", after="html", urgency=1, important=True),
    )
    assert dict(Priorities.SPDY.ranks(page)) == {
        "html": Rank(role=Role.DOCUMENT, urgency=0, incremental=False, weight=256),
        "b": Rank(role=Role.SECOND, urgency=6, incremental=True, weight=9, depends_on="a"),
        "a": Rank(role=Role.FIRST, urgency=1, incremental=False, weight=220),
    }


def test_swapped_ranks_of_six() -> None:
    """With `swap` the most urgent resource gets the rank of the least urgent resource, and so on."""
    ranks = Priorities.SWAP.ranks(_catalogued("six"))
    assert {name: rank.urgency for name, rank in ranks.items()} == {f"u{n}": 5 - n for n in range(6)}
    assert {name: rank.weight for name, rank in ranks.items()} == {f"u{n}": http2_weight(5 - n) for n in range(6)}
    assert {rank.role for name, rank in ranks.items() if name != "u0"} == {Role.FIRST}
    assert ranks["u0"].role is Role.SECOND


def test_swapped_ranks_depend_on_nothing() -> None:
    """With `swap` ranks have no dependencies, because a dependency expresses the page's order."""
    page = page_of_parts(part("a", depends_on="b"), part("b", important=True, urgency=0))
    assert {rank.depends_on for rank in Priorities.SWAP.ranks(page).values()} == {None}


@pytest.mark.parametrize(
    ("weight", "level"), [(256, 0), (239, 0), (238, 0), (237, 1), (183, 2), (110, 4), (20, 6), (18, 7), (1, 7)]
)
def test_the_level_of_a_weight(weight: int, level: int) -> None:
    """`level` is the SPDY level, of eight, whose weight is nearest."""
    assert Rank(role=Role.FIRST, urgency=3, incremental=False, weight=weight).level == level
