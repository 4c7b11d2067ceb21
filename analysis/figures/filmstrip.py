"""Draws the filmstrip: for each arm the client's screen at equal steps of time.

Each screen shows the page at the time of the screen's right edge. A resource is drawn as its content type suggests, as
on the demo's page (extras/demo/page/screen.js): HTML as a line of text, an image as a street map, from its top down to
the part that the client can read, a style sheet as a darker line, a script as three buttons and a pin that have colour
when it is complete, any other resource as a bar. Before the HTML the page is blank. When all
important resources are complete, the screen has a frame in colour.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from priolab.analysis.figures import street_map
from priolab.analysis.figures.arms import Arm, arms, headline, longest_s
from priolab.analysis.figures.palette import IMPORTANT, INK, OTHERS, VERDICTS
from priolab.analysis.figures.sheet import (
    START,
    WIDTH,
    Axis,
    Declaration,
    Panel,
    Rows,
    heading,
    layer,
    number,
    sheet,
    title,
)
from priolab.analysis.figures.street_map import COLOURS, Points
from priolab.analysis.loads.metrics import PageLoad
from priolab.analysis.records.runs import Experiment
from priolab.common.formats.page import Resource
from priolab.common.formats.run import Verdict

FRAMES = 16
_HEIGHT_PX = 112
_PART = 0.86
"""The width of a screen, as a part of the distance between two."""
_SHORTEST_MS = 20.0
"""A shorter difference is none: it is less than a person sees."""
READY = VERDICTS[Verdict.KEPT]
_TOOLTIP = [number("at", "seconds", ",.2f")]
_SCREEN_RATIO = WIDTH / FRAMES * _PART / _HEIGHT_PX
"""The width of a screen, divided by its height."""
_COLUMNS = 4
_FEW = 3
_MOST_WITH_PIN = 2


def draw(experiment: Experiment) -> Declaration | None:
    """Returns the figure; None if no arm has an ok run."""
    shown = arms(experiment)
    if not shown:
        return None
    axis = Axis(most=longest_s(shown), title="seconds after the page was asked for")
    return sheet(panels_of(shown, axis), heading(headline(experiment, shown)))


def panels_of(shown: Sequence[Arm], axis: Axis) -> list[Declaration]:
    """Returns a panel for each arm. The last panel shows the axis."""
    last_s = longest_s(shown)
    found = []
    for index, arm in enumerate(shown):
        is_last = index == len(shown) - 1
        panel = Panel(axis=axis, bottom=0.0, top=1.0, height_px=_HEIGHT_PX, is_last=is_last)
        rows = [row for frame in range(1, FRAMES + 1) for row in _screen(arm.load, frame * last_s / FRAMES, last_s)]
        words, colour = moment(arm, shown)
        layers = [panel.bars([row for row in rows if "end" in row], _TOOLTIP)]
        if corners := [row for row in rows if "corner" in row]:
            layers.append(_polygons(corners, panel))
        found.append(panel.made_of(layers, title(f"{arm.name}: {words}", (), colour)))
    return found


def moment(arm: Arm, shown: Sequence[Arm]) -> tuple[str, str]:
    """Returns when the arm's page was ready, and how much sooner than that of the first arm; and the words' colour."""
    ready_ms, first_ms = (each.load.ms(each.load.important.last_byte_ns) for each in (arm, shown[0]))
    words = f"{arm.load.page.ready} after {ready_ms / 1000:.2f} s"
    if abs(first_ms - ready_ms) < _SHORTEST_MS:
        return words, INK
    if ready_ms < first_ms:
        return f"{words}, {(first_ms - ready_ms) / 1000:.1f} s sooner", READY
    return f"{words}, {(ready_ms - first_ms) / 1000:.1f} s later", VERDICTS[Verdict.INVERTED]


def _polygons(corners: Rows, panel: Panel) -> Declaration:
    return layer(
        corners,
        {"type": "line", "filled": True, "strokeWidth": 0},
        x=START,
        y=panel.y("base"),
        detail={"field": "shape", "type": "nominal"},
        order={"field": "corner", "type": "quantitative"},
        fill={"field": "colour", "type": "nominal", "scale": None, "legend": None},
        tooltip=_TOOLTIP,
    )


@dataclass(frozen=True, kw_only=True)
class _Box:
    """A part of a panel, in values of the axis and heights of the panel."""

    start: float
    end: float
    base: float
    top: float

    def inner(self, left: float, right: float, bottom: float, top: float) -> "_Box":
        """Returns a part of the box; the edges are parts of its width and height."""
        width, height = self.end - self.start, self.top - self.base
        return _Box(
            start=self.start + left * width,
            end=self.start + right * width,
            base=self.base + bottom * height,
            top=self.base + top * height,
        )

    def through(self, points: Points) -> Points:
        """Returns the positions of points that are parts of the box's width and height, from its upper left corner."""
        width, height = self.end - self.start, self.top - self.base
        return [(self.start + along * width, self.top - down * height) for along, down in points]

    def row(self, colour: str, at_s: float) -> dict[str, float | str]:
        edges = {"start": self.start, "end": self.end, "base": self.base, "top": self.top}
        return {**{name: round(value, 5) for name, value in edges.items()}, "colour": colour, "at": round(at_s, 3)}


def _screen(load: PageLoad, at_s: float, last_s: float) -> Iterator[dict[str, Any]]:
    """Yields the rectangles of the screen at a time, the lowest first, and the corners of polygons, which are above."""
    box = _Box(start=at_s - last_s / FRAMES * _PART, end=at_s, base=0.0, top=1.0)
    at_ns = load.started_ns + round(at_s * 10**9)
    is_ready = load.important.last_byte_ns <= at_ns
    margin = 0.06 if is_ready else 0.02
    across, down = margin, margin * _SCREEN_RATIO
    yield box.row(READY if is_ready else COLOURS["edge"], at_s)
    yield box.inner(across, 1 - across, down, 1 - down).row(COLOURS["paper"], at_s)
    for index, (shape, colour) in enumerate(_page(load, at_ns, box)):
        if isinstance(shape, _Box):
            yield shape.row(colour, at_s)
            continue
        common = {"shape": f"{at_s:.3f} {index:02}", "colour": colour, "at": round(at_s, 3)}
        for corner, (start, base) in enumerate(shape):
            yield {"start": round(start, 5), "base": round(base, 5), "corner": corner, **common}


def _page(load: PageLoad, at_ns: int, box: _Box) -> Iterator[tuple[_Box | Points, str]]:
    parts = {each.name: _readable(load, each, at_ns) for each in load.page.resources}
    kinds = {each.name: _kind(load, each) for each in load.page.resources}
    names = {kind: [name for name, own in kinds.items() if own == kind] for kind in set(kinds.values())}
    texts, styles, scripts = (names.get(kind, []) for kind in ("text", "style", "script"))
    if texts and not any(parts[name] for name in texts):
        return
    styled = all(parts[name] >= 1 for name in styles)
    yield box.inner(0.1, 0.9, 0.85, 0.93), COLOURS["header.styled" if styled else "header"]
    middle = [each for each in load.page.resources if kinds[each.name] in ("picture", "bar")]
    columns = _COLUMNS if len(middle) > _COLUMNS else 1
    lines = -(-len(middle) // columns)
    body = box.inner(0.1, 0.9, 0.27 if scripts else 0.1, 0.81)
    for index, resource in enumerate(middle):
        line, column = divmod(index, columns)
        gap = 0.06 if len(middle) > 1 else 0.0
        cell = body.inner(
            column / columns, (column + 1 - gap) / columns, 1 - (line + 1 - 2 * gap) / lines, 1 - line / lines
        )
        yield from _cell(cell, kinds[resource.name], parts[resource.name], resource)
    works = bool(scripts) and all(parts[name] >= 1 for name in scripts)
    for index in range(_FEW if scripts else 0):
        yield (
            box.inner(0.1 + 0.28 * index, 0.34 + 0.28 * index, 0.1, 0.22),
            COLOURS["button.works" if works else "button"],
        )
    if works and len(middle) <= _MOST_WITH_PIN:
        yield body.through(street_map.pin(0.8 / 0.54 * _SCREEN_RATIO)), COLOURS["pin"]


def _cell(cell: _Box, kind: str, part: float, resource: Resource) -> Iterator[tuple[_Box | Points, str]]:
    yield cell, COLOURS["awaited"]
    if kind == "bar" and part:
        yield cell.inner(0, part, 0, 1), (IMPORTANT if resource.important else OTHERS)[0]
    elif kind == "picture":
        for name, points in street_map.shapes(part):
            yield cell.through(points), COLOURS[name]


def _readable(load: PageLoad, resource: Resource, at_ns: int) -> float:
    """Returns the part of a resource that the client can read."""
    traffic = load.traffic([resource.name])
    return traffic.bytes_until(at_ns) / max(1, traffic.size_bytes)


def _kind(load: PageLoad, resource: Resource) -> str:
    kind = resource.content_type.partition(";")[0]
    known = {"text/html": "text", "text/css": "style", "text/javascript": "script"}
    if kind.startswith("image/"):
        return "picture"
    return known.get(kind, "text" if resource in load.page.documents else "bar")
