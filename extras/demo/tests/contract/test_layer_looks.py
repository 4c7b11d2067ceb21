"""The film shows the layers of the wait in the figures' order, with the figures' names and colours."""

import re
from itertools import combinations, pairwise

from priolab.analysis.figures.palette import LAYERS
from priolab.analysis.loads.layer import Layer
from priolab.analysis.loads.ledger import NAMES
from priolab.extras.demo.server import PAGE
from tests.support.colours import difference

_CARD, _STYLE = (PAGE / "wait_card.js").read_text(), (PAGE / "style.css").read_text()


def _resolved(theme: int) -> str:
    """Return the style sheet with the theme's colours in place of variables. theme: 0 for light, 1 for dark."""
    style = re.sub(r"light-dark\((#\w+), (#\w+)\)", lambda both: both[theme + 1], _STYLE)
    for name, colour in re.findall(r"--([\w-]+): (#\w+);", style):
        style = style.replace(f"var(--{name})", colour)
    return style


def _colours(theme: int) -> dict[Layer, str]:
    """Return the colour of each layer in the film, in the order of the style sheet."""
    parts = re.findall(r"^\.layer\.(\w+) \{ fill: (#\w+); \}", _resolved(theme), re.MULTILINE)
    return {Layer(key): colour for key, colour in parts}


def test_names_and_order() -> None:
    """The film's parts are the layers of the ledger, in the ledger's order."""
    parts = re.findall(r'\{ key: "(\w+)", name: "([^"]+)", word: "\w+" \}', _CARD)
    assert parts == [(layer.value, NAMES[layer]) for layer in Layer]


def test_colours() -> None:
    """In the light theme each layer has the colour that it has in the figures."""
    assert _colours(0) == LAYERS


def test_dark_colours_can_be_told_apart() -> None:
    """In the dark theme, too, colour-blind people can distinguish layers, and neighbours in a bar at a glance."""
    colours = _colours(1)
    assert list(colours) == list(Layer)
    assert all(difference(colours[one], colours[other]) > 15 for one, other in pairwise(Layer))
    assert all(difference(one, other) > 8 for one, other in combinations(colours.values(), 2))
