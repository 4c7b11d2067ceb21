"""Declares the street map on the client's screen, in the demo's film (extras/demo/page/map.js) and in the filmstrip.

Points are parts of the map's width and height, from its upper left corner. Those of the pin are multiples of its size,
from its middle.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from priolab.analysis.figures.palette import IMPORTANT, OTHERS

Points = Sequence[tuple[float, float]]
"""The corners of a polygon or the points of a line."""

SHORE: Points = (
    (0, 0.62),
    (0.134, 0.586),
    (0.256, 0.578),
    (0.366, 0.598),
    (0.464, 0.646),
    (0.55, 0.72),
    (0.632, 0.794),
    (0.718, 0.838),
    (0.808, 0.854),
    (0.902, 0.842),
    (1, 0.8),
)
PARK: Points = ((0.6, 0.1), (0.88, 0.1), (0.88, 0.3), (0.6, 0.3))
ROADS: Sequence[Points] = (
    ((0, 0.2), (1, 0.42)),
    ((0.3, 0), (0.42, 1)),
    ((0.75, 0.35), (0.75, 1)),
    ((0, 0.5), (0.75, 0.6)),
)
PIN: Points = (
    (0, 1),
    (-0.56, 0.39),
    (-0.87, -0.15),
    (-0.99, -0.61),
    (-0.92, -0.99),
    (-0.72, -1.27),
    (-0.4, -1.44),
    (0, -1.5),
    (0.4, -1.44),
    (0.72, -1.27),
    (0.92, -0.99),
    (0.99, -0.61),
    (0.87, -0.15),
    (0.56, 0.39),
)
PIN_SIZE = 1 / 7
"""The pin's size, as a part of the map's width or height, whichever is less."""

COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "paper": "#ffffff",
        "edge": "#8d949e",
        "header": "#b5bac2",
        "header.styled": "#5b6470",
        "awaited": "#eceef1",
        "land": "#e9e3d0",
        "water": "#6fb3dd",
        "park": "#8cc48c",
        "road": "#ffffff",
        "front-line": OTHERS[0],
        "button": "#d5d8dd",
        "button.works": IMPORTANT[0],
        "pin": IMPORTANT[0],
    }
)
"""The colours of all that is on the screen, by their classes in the page's style sheet (extras/demo/page/style.css)."""

_LAND: Points = ((0, 0), (1, 0), (1, 1), (0, 1))
_HALF_ROAD = 0.012
_EDGE = 0.03


def shapes(part: float) -> Iterator[tuple[str, Points]]:
    """Yields the polygons of the map's upper part, the lowest first, each with the name of its colour.

    part: the part of the image that the client can read, 0 to 1.
    """
    if part <= 0:
        return
    every = [("land", _LAND), ("water", (*SHORE, (1, 1), (0, 1))), ("park", PARK)]
    every += [("road", _wide(road)) for road in ROADS]
    if part < 1:
        every.append(("front-line", ((0, part - _EDGE), (1, part - _EDGE), (1, part), (0, part))))
    for name, points in every:
        if above := _above(points, part):
            yield name, above


def pin(ratio: float) -> Points:
    """Returns the pin in the middle of a map. ratio: the map's width, divided by its height."""
    across, down = (PIN_SIZE / max(1, ratio), PIN_SIZE * min(1, ratio))
    return [(0.5 + x * across, 0.5 + y * down) for x, y in PIN]


def _wide(road: Points) -> Points:
    """Returns a straight road as a polygon."""
    (x, y), (to_x, to_y) = road
    steep = abs(to_y - y) > abs(to_x - x)
    across, down = (_HALF_ROAD, 0) if steep else (0, _HALF_ROAD)
    return (
        (x - across, y - down),
        (to_x - across, to_y - down),
        (to_x + across, to_y + down),
        (x + across, y + down),
    )


def _above(points: Points, limit: float) -> Points:
    """Returns the part of a polygon from the map's upper edge to a height; empty if there is none."""
    for edge, side in ((limit, 1), (0.0, -1)):
        points = [each for one, other in _sides(points) for each in _kept(one, other, edge, side)]
    return points


def _sides(points: Points) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    return zip(points, [*points[1:], *points[:1]], strict=True)


def _kept(
    one: tuple[float, float], other: tuple[float, float], edge: float, side: int
) -> Iterator[tuple[float, float]]:
    """Yields the corners that a side of a polygon keeps if what is beyond the edge is cut off."""
    inside, other_inside = ((y - edge) * side <= 0 for _, y in (one, other))
    if inside:
        yield one
    if inside != other_inside:
        yield one[0] + (other[0] - one[0]) * (edge - one[1]) / (other[1] - one[1]), edge
