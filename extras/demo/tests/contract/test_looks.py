"""The film, the slides and the figures have the same colours of resources, and the same map on the client's screen."""

import json
import re

import pytest

from priolab.analysis.figures import street_map
from priolab.analysis.figures.palette import RESOURCES, VERDICTS
from priolab.common.formats.run import Verdict
from priolab.extras.demo.server import PAGE
from tests.support.colours import contrast, difference

_STYLE, _MAP = (PAGE / "style.css").read_text(), (PAGE / "map.js").read_text()
_STREAMS = {"others": "image", "important": "script"}
_BOTH = re.compile(r"--([\w-]+): light-dark\((#\w+), (#\w+)\);")


def _colours(theme: int) -> dict[str, str]:
    """Return the page's variables that are colours. theme: 0 for light, 1 for dark."""
    return {name: both[theme] for name, *both in _BOTH.findall(_STYLE)}


def _constant(name: str) -> str:
    (value,) = re.findall(rf"^export const {name} = (.*);$", _MAP, re.MULTILINE)
    return str(value)


def test_resources_have_one_colour() -> None:
    """In the light theme a stream of the film has the colour that the figures give to the resource."""
    assert {name: _colours(0)[stream] for stream, name in _STREAMS.items()} == RESOURCES
    assert _colours(0)["good"] == VERDICTS[Verdict.KEPT]
    assert _colours(0)["bad"] == VERDICTS[Verdict.INVERTED]


@pytest.mark.parametrize("theme", [0, 1])
def test_resources_can_be_told_apart(theme: int) -> None:
    """In both themes the streams differ in luminance and for the colour-blind, their names can be read."""
    colours = _colours(theme)
    others, important, ground = (colours[name] for name in ("others", "important", "ground"))
    assert contrast(others, important) > 2
    assert difference(others, important) > 40
    assert all(contrast(colour, ground) > 3 for colour in (others, important))
    assert all(contrast(colours[f"{stream}-ink"], ground) > 4.5 for stream in _STREAMS)


def test_the_screen_has_the_figures_colours() -> None:
    """All that is on the client's screen has the same colours in the film and in the filmstrip of the figures."""
    for name, colour in street_map.COLOURS.items():
        assert re.search(rf"^\.{re.escape(name)} \{{[^}}]*(?:fill|stroke): {colour};", _STYLE, re.MULTILINE), name


def test_the_map_is_the_same() -> None:
    """The film and the filmstrip of the figures draw the same map."""
    for name in ("SHORE", "PARK", "ROADS", "PIN"):
        assert json.loads(_constant(name)) == json.loads(json.dumps(getattr(street_map, name))), name
    one, parts = _constant("PIN_SIZE").split(" / ")
    assert int(one) / int(parts) == street_map.PIN_SIZE
