"""Draws a slide: a title, a sentence or two, and below them the timelines of arms."""

from collections.abc import Sequence

from analysis.figures import lettering
from analysis.figures.arms import Arm, facts
from analysis.figures.palette import INK
from analysis.figures.sheet import WIDTH, Declaration, sheet
from analysis.figures.timeline import panels_of

_TITLE_PX = 44
_TEXT_PX = 27


def _common(shown: Sequence[Arm], fabric: str) -> list[str]:
    """Returns the settings common to all arms. The names of the arms show the settings that differ."""
    first, *others = ([*facts([arm], fabric)] for arm in shown)
    return [fact for fact in first if all(fact in other for other in others)]


def draw(title: str, text: str, shown: Sequence[Arm], fabric: str) -> Declaration:
    """Returns the slide. shown: at least one arm."""
    words = {
        "text": lettering.wrapped(title.split(), " ", _TITLE_PX, WIDTH),
        "subtitle": [
            *lettering.wrapped(text.split(), " ", _TEXT_PX, WIDTH),
            *lettering.wrapped(_common(shown, fabric), " · ", _TEXT_PX, WIDTH),
        ],
        "fontSize": _TITLE_PX,
        "subtitleFontSize": _TEXT_PX,
        "subtitleColor": INK,
        "subtitlePadding": 10,
        "color": INK,
        "anchor": "start",
        "offset": 24,
    }
    return sheet(panels_of(shown), words)
