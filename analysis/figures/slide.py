"""Draws a slide for a wide screen: a title, a sentence or two, and below them the arms on one time axis.

Each arm has lanes of arrived bytes, as in the timeline, and its filmstrip.
"""

from collections.abc import Sequence

from priolab.analysis.figures import filmstrip, lettering, timeline
from priolab.analysis.figures.arms import Arm, facts
from priolab.analysis.figures.palette import INK
from priolab.analysis.figures.sheet import WIDTH, Declaration, sheet
from priolab.analysis.figures.sheet import title as panel_title

RATIO = 16 / 9
"""The slide's width, divided by its height."""
_TITLE_PX = 44
_TEXT_PX = 27
_TEXT_WIDTH = WIDTH - 30
"""The longest line. It leaves room for a font that is wider than the one for which letters are measured."""
_LANES_PX = 224
"""The height of an arm's lanes, in which two rows of text do not touch."""
_TITLE_OFFSET = -20
_SPACING = 14


def _common(shown: Sequence[Arm], fabric: str) -> list[str]:
    """Returns the settings common to all arms. The names of the arms show the settings that differ."""
    first, *others = ([*facts([arm], fabric)] for arm in shown)
    return [fact for fact in first if all(fact in other for other in others)]


def draw(title: str, text: str, shown: Sequence[Arm], fabric: str) -> Declaration:
    """Returns the slide. shown: at least one arm."""
    words = {
        "text": lettering.wrapped(title.split(), " ", _TITLE_PX, _TEXT_WIDTH),
        "subtitle": [
            *lettering.wrapped(text.split(), " ", _TEXT_PX, _TEXT_WIDTH),
            *lettering.wrapped(_common(shown, fabric), " · ", _TEXT_PX, _TEXT_WIDTH),
        ],
        "fontSize": _TITLE_PX,
        "subtitleFontSize": _TEXT_PX,
        "subtitleColor": INK,
        "subtitlePadding": 8,
        "color": INK,
        "anchor": "start",
        "offset": 18,
    }
    lanes = timeline.panels_of(shown, socket=False, has_axis=False)
    strips = filmstrip.panels_of(shown, timeline.axis_of(shown))
    panels = [panel for arm, *both in zip(shown, lanes, strips, strict=True) for panel in _arm(arm, shown, *both)]
    return sheet(panels, words) | {"spacing": _SPACING}


def _arm(arm: Arm, shown: Sequence[Arm], lanes: Declaration, strip: Declaration) -> list[Declaration]:
    """Returns an arm's two panels below one title."""
    moment, colour = filmstrip.moment(arm, shown)
    words = panel_title(f"{arm.name}: {moment}", (), colour) | {"offset": _TITLE_OFFSET}
    return [lanes | {"height": _LANES_PX, "title": words}, {key: strip[key] for key in strip if key != "title"}]
