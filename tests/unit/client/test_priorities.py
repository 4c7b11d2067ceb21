"""SPDY levels, HTTP/2 weights, and the weights of resources."""

import pytest

from client.priorities import Priorities, http2_weight
from tests.pages import IMAGE, PAGE, SCRIPT, maps_page


def test_weights_of_all_levels() -> None:
    """The eight SPDY levels become the weights that Chrome sent."""
    assert [http2_weight(level) for level in range(8)] == [256, 220, 183, 147, 110, 74, 37, 1]


@pytest.mark.parametrize("level", [-1, 8])
def test_no_other_level(level: int) -> None:
    """SPDY/3 has levels 0 to 7 and no more."""
    with pytest.raises(ValueError, match=rf"SPDY priority {level}; allowed: 0 to 7"):
        http2_weight(level)


@pytest.mark.parametrize(
    ("priorities", "favoured", "levels"),
    [
        (Priorities.SPDY, (SCRIPT,), {PAGE: 0, SCRIPT: 2, IMAGE: 3}),
        (Priorities.SWAP, (IMAGE,), {PAGE: 0, SCRIPT: 3, IMAGE: 2}),
        (Priorities.NONE, (), {}),
    ],
)
def test_who_comes_first(priorities: Priorities, favoured: tuple[str, ...], levels: dict[str, int]) -> None:
    """The one that is favoured has the level of more urgency; where nobody is, nobody has a level."""
    assert priorities.favoured(maps_page()) == favoured
    assert {name: rank.level for name, rank in priorities.ranks(maps_page()).items()} == levels


def test_opposites() -> None:
    """The contrary of no order is no order."""
    assert [each.opposite for each in Priorities] == [Priorities.SWAP, Priorities.SPDY, Priorities.NONE]
