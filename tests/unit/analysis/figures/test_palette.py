"""Tests of the colours of figures."""

from itertools import combinations, pairwise

import pytest

from priolab.analysis.figures.palette import GOODPUT, INK, LAYERS, RESOURCES, STEERED, ink_on
from priolab.analysis.loads.layer import Layer
from tests.support.colours import difference


def test_every_layer_has_a_colour_of_its_own() -> None:
    """Each layer has a colour, and no two colours of layers and resources look alike."""
    assert set(LAYERS) == set(Layer)
    colours = [*LAYERS.values(), *RESOURCES.values()]
    assert all(_distance(one, other) > 60 for one, other in combinations(colours, 2))


def test_colour_blind_people_see_the_layers() -> None:
    """Colour-blind people can distinguish any two layers, and those that follow each other in a bar at a glance."""
    assert all(difference(LAYERS[one], LAYERS[other]) > 15 for one, other in pairwise(Layer))
    assert all(difference(one, other) > 8 for one, other in combinations(LAYERS.values(), 2))


def test_what_a_sweep_shows_can_be_told_apart() -> None:
    """The colours of first byte, send queue, goodput and LOWAT=auto differ clearly."""
    colours = [RESOURCES["script"], LAYERS[Layer.UNSENT], GOODPUT, STEERED]
    assert all(_distance(one, other) > 100 for one, other in combinations(colours, 2))


def _distance(one: str, other: str) -> int:
    return sum(abs(int(one[at : at + 2], 16) - int(other[at : at + 2], 16)) for at in (1, 3, 5))


@pytest.mark.parametrize(
    ("colour", "ink"), [("#332288", "#ffffff"), ("#ddcc77", INK), ("#ffffff", INK), ("#000000", "#ffffff")]
)
def test_ink_can_be_read(colour: str, ink: str) -> None:
    """Text is white on dark colours and dark on light colours."""
    assert ink_on(colour) == ink
