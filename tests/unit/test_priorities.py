"""SPDY levels, HTTP/2 weights, and the weights of resources."""

import pytest

from client.priorities import IMAGE, PAGE, SCRIPT, Priorities, http2_weight, weight_of


def test_weights_of_all_levels() -> None:
    """The eight SPDY levels become the weights that Chrome sent."""
    assert [http2_weight(level) for level in range(8)] == [256, 220, 183, 147, 110, 74, 37, 1]


@pytest.mark.parametrize("level", [-1, 8])
def test_no_other_level(level: int) -> None:
    """SPDY/3 has levels 0 to 7 and no more."""
    with pytest.raises(ValueError, match=rf"SPDY priority {level}; allowed: 0 to 7"):
        http2_weight(level)


@pytest.mark.parametrize(
    ("priorities", "weights"),
    [
        (Priorities.SPDY, {PAGE: 256, SCRIPT: 183, IMAGE: 147}),
        (Priorities.SWAP, {PAGE: 256, SCRIPT: 147, IMAGE: 183}),
        (Priorities.NONE, {PAGE: None, SCRIPT: None, IMAGE: None}),
    ],
)
def test_weights_of_resources(priorities: Priorities, weights: dict[str, int | None]) -> None:
    """The script comes before the image, the image before the script, or no weight is sent."""
    assert {name: weight_of(name, priorities) for name in weights} == weights


def test_unknown_resource_has_no_weight() -> None:
    """A resource outside the case is asked for without a priority."""
    assert weight_of("favicon", Priorities.SPDY) is None
