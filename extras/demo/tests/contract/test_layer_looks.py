"""The film shows the layers of the wait in the figures' order, with the figures' names and colours."""

import re
from collections.abc import Mapping
from itertools import combinations

import pytest

from priolab.analysis.figures.palette import INK, LAYERS, ink_on
from priolab.analysis.loads.layer import Layer
from priolab.analysis.loads.ledger import NAMES
from priolab.extras.demo.server import PAGE
from tests.support.colours import contrast, difference

_CARD, _STYLE = (PAGE / "wait_card.js").read_text(), (PAGE / "style.css").read_text()
_PARTS = re.findall(r'\{ key: "(\w+)", name: "([^"]+)", place: "(\w+)" \}', _CARD)
_MAIN: Mapping[str, Layer] = {
    "front": Layer.PENDING,
    "socket": Layer.UNSENT,
    "queue": Layer.QUEUE,
    "propagation": Layer.PROPAGATION,
    "loss": Layer.RECOVERY,
    "record": Layer.RECORD,
}
"""The layer whose colour the film gives to all layers of a place."""


def _colours(theme: int) -> dict[str, str]:
    """Return the colour of each place in the film. theme: 0 for light, 1 for dark."""
    variables = {name: both for name, *both in re.findall(r"--([\w-]+): light-dark\((#\w+), (#\w+)\);", _STYLE)}
    fills = re.findall(r"^\.part\.(\w+) \{ fill: var\(--([\w-]+)\); \}", _STYLE, re.MULTILINE)
    return {place: variables[variable][theme] for place, variable in fills}


def test_names_and_order() -> None:
    """The film's parts are the layers of the ledger, but for what is unexplained, in the ledger's order."""
    layers = [layer for layer in Layer if layer is not Layer.UNEXPLAINED]
    assert [(key, name) for key, name, _ in _PARTS] == [(layer.value, NAMES[layer]) for layer in layers]


def test_colours() -> None:
    """In the light theme each place has the colour that its layer has in the figures."""
    assert {place for _, _, place in _PARTS} == set(_MAIN)
    assert _colours(0) == {place: LAYERS[layer] for place, layer in _MAIN.items()}


@pytest.mark.parametrize("theme", [0, 1])
def test_colours_can_be_told_apart(theme: int) -> None:
    """In both themes colour-blind people can distinguish the colours of any two places."""
    assert all(difference(one, other) > 15 for one, other in combinations(_colours(theme).values(), 2))


@pytest.mark.parametrize("theme", [0, 1])
def test_names_can_be_read(theme: int) -> None:
    """In both themes a part's name contrasts with the part, by 4.5 to 1."""
    usual = re.findall(r"\.stage \.part-name \{ fill: light-dark\((#\w+), (#\w+)\); \}", _STYLE)[0][theme]
    ((places, dark),) = re.findall(r"\.stage \.part-name:is\(([^)]+)\) \{ fill: (#\w+); \}", _STYLE)
    is_dark = set(re.findall(r"\w+", places))
    assert all(
        contrast(colour, dark if place in is_dark else usual) >= 4.5 for place, colour in _colours(theme).items()
    )
    assert is_dark == {place for place, layer in _MAIN.items() if ink_on(LAYERS[layer]) == INK}
