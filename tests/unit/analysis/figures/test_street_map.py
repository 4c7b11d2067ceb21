"""Tests of the street map on the client's screen."""

import pytest

from priolab.analysis.figures.street_map import COLOURS, ROADS, pin, shapes


def test_a_whole_map_has_everything() -> None:
    """All of the image shows land, water, park and all roads, and no line at which the rest is awaited."""
    names = [name for name, _ in shapes(1)]
    assert names == ["land", "water", "park", *["road"] * len(ROADS)]
    assert set(names) < set(COLOURS)


@pytest.mark.parametrize("part", [0.05, 0.2, 0.5, 0.7, 0.95])
def test_only_what_can_be_read_is_shown(part: float) -> None:
    """A part of the image shows the map down to this height and no farther; a line is at this height."""
    every = list(shapes(part))
    assert every[-1][0] == "front-line"
    for _, points in every:
        assert len(points) >= 3
        assert all(0 <= y <= part for _, y in points)
    assert max(y for name, points in every if name == "land" for _, y in points) == part
    assert ("water" in [name for name, _ in every]) == (part > 0.578)


def test_nothing_of_an_image_is_nothing() -> None:
    """Before its first byte an image is only awaited."""
    assert list(shapes(0)) == []


@pytest.mark.parametrize("ratio", [0.5, 1, 2])
def test_the_pin_keeps_its_shape(ratio: float) -> None:
    """The pin is in the middle, and equally wide on maps of all shapes."""
    xs, ys = zip(*pin(ratio), strict=True)
    assert (min(xs) + max(xs)) / 2 == pytest.approx(0.5)
    assert (max(xs) - min(xs)) * ratio / (max(ys) - min(ys)) == pytest.approx(1.98 / 2.5)
