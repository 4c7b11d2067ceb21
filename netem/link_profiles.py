"""Links that people name, such as wpt-4g: their published figures, and the knobs that a name stands for."""

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from priolab.common.amounts import plain
from priolab.common.errors import ScenarioError
from priolab.netem import units
from priolab.netem.link_options import LinkOption, link_from

T = TypeVar("T")

LINK, NONE = "LINK", "none"
STANDS_FOR = ("RATE", "RATE_UP", "DELAY", "DELAY_UP")
"""The knobs that a profile sets."""

FIGURES = "RATE/RATE_UP/ROUND_TRIP or RATE/ROUND_TRIP, such as 1500kbit/384kbit/50ms or 10mbit/30ms"
"""The figures allowed for a link of one's own, in words."""

_OR_NONE = f"; or {NONE}"
_FILE = Path(__file__).with_suffix(".toml")
_TRACES = {"TRACE": "RATE", "TRACE_UP": "RATE_UP"}
"""The knobs that have a rate themselves, with the rate that a profile does not set then."""


@dataclass(frozen=True, kw_only=True)
class LinkProfile:
    """The figures of a link: rates toward the client and toward the server in tc's notation, and the round trip."""

    down: str
    up: str
    round_trip_ns: int

    @property
    def knobs(self) -> Mapping[str, str]:
        """The knobs that the profile sets, as texts."""
        each_way = f"{self.round_trip_ns / (2 * 10**6):.9g}ms"
        return dict(zip(STANDS_FOR, (self.down, self.up, each_way, each_way), strict=True))

    @property
    def words(self) -> str:
        """The figures in words, with units."""
        return f"{self.down} down, {self.up} up, round trip {plain(self.round_trip_ns / 10**6, 6)} ms"


@cache
def profiles() -> Mapping[str, LinkProfile]:
    """Returns the profiles by name. A name begins with whose profile it is, because the same word means two links."""
    projects = tomllib.loads(_FILE.read_text())
    return MappingProxyType(
        {
            f"{project}-{name}": LinkProfile(
                down=f"{of['down']}kbit", up=f"{of['up']}kbit", round_trip_ns=of["rtt"] * 10**6
            )
            for project, links in projects.items()
            for name, of in links.items()
        }
    )


def profile_of(text: str, where: str = LINK) -> LinkProfile | None:
    """Returns the profile of this name, or of the figures in the text; None for `none`.

    where: the name of the knob, or of the key in a file, that has the text. Raises ScenarioError with similar names.
    """
    if text == NONE:
        return None
    if text in profiles():
        return profiles()[text]
    if "/" in text:
        return _of_figures(text, where)
    word = text.lower()
    inside = [name for name in profiles() if len(word) > 1 and word in name]
    near = inside or difflib.get_close_matches(word, profiles(), n=3)
    told = f"{', '.join(near)}; `priolab list` shows all profiles" if near else OPTION.allowed
    if not where.endswith(LINK):
        told = told.removesuffix(_OR_NONE)
    raise ScenarioError(where, text, told)


def _of_figures(text: str, where: str) -> LinkProfile:
    down, *up, round_trip = text.split("/")
    try:
        link = LinkProfile(down=down, up=up[0] if up else down, round_trip_ns=units.parse_time_ns(round_trip))
        link_from(link.knobs)
    except ValueError:
        raise ScenarioError(where, text, FIGURES) from None
    if len(up) > 1:
        raise ScenarioError(where, text, FIGURES)
    return link


def layered(below: Mapping[str, T], above: Mapping[str, T]) -> dict[str, T]:
    """Returns knobs with those of `above` in place of those of `below`. The texts may be single ones, or lists.

    If LINK is in `above`, rates and delays of `below` do not count, because nobody gave them for this profile.
    """
    replaced = () if above.get(LINK, NONE) in (NONE, (NONE,)) else STANDS_FOR
    return {name: text for name, text in below.items() if name not in replaced} | dict(above)


def with_profile(knobs: Mapping[str, str]) -> dict[str, str]:
    """Returns the knobs with those that LINK stands for; one that is given counts, and a TRACE has the rate.

    Raises ScenarioError.
    """
    profile = profile_of(knobs.get(LINK, NONE).strip())
    if profile is None:
        return dict(knobs)
    traced = {rate for trace, rate in _TRACES.items() if knobs.get(trace, NONE) != NONE}
    return {name: text for name, text in profile.knobs.items() if name not in traced} | dict(knobs)


OPTION = LinkOption(
    field="",
    default=NONE,
    parse=lambda text: text if profile_of(text) else None,  # two projects may publish the same figures
    allowed=f"{', '.join(profiles())}; {FIGURES}{_OR_NONE}",
    meaning="a link that people name: it sets RATE, RATE_UP, DELAY and DELAY_UP to the figures that sitespeed.io's"
    " throttle, WebPageTest (wpt) or Firefox's developer tools publish, with half of the round trip in each direction;"
    " any of the four that is given counts instead; `priolab list` shows the figures; RATE/RATE_UP/ROUND_TRIP is a link"
    " of your own in one word, and RATE/ROUND_TRIP one with the same rate in both directions",
)
"""The knob LINK. It sets no field itself: it stands for other knobs."""
