"""Who is asked to come first, and the levels in which SPDY said it."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

PAGE, IMAGE, SCRIPT = "page", "image", "script"

NO_ORDER_LEVEL = 3
"""SPDY's level of all where no order is asked, since a request over SPDY has one in any case: the image's."""


class First(StrEnum):
    """Which of the two the client requests first, whatever is said of their priorities."""

    IMAGE = IMAGE
    SCRIPT = SCRIPT


class Priorities(StrEnum):
    """Who is asked to come first.

    `swap` is the control that proves a server reads priorities at all: the image is asked to come first.
    `none` sends no priority: no order is asked, so no order can be kept.
    """

    SPDY = "spdy"
    SWAP = "swap"
    NONE = "none"

    @property
    def favoured(self) -> str | None:
        """The resource that is to come first, None if no order is asked."""
        return {Priorities.SPDY: SCRIPT, Priorities.SWAP: IMAGE, Priorities.NONE: None}[self]

    @property
    def levels(self) -> Mapping[str, int]:
        """SPDY/3's level of each resource, 0 the most urgent of 0 to 7; empty if no order is asked.

        The page is a document; 2 and 3 are the pair of the Maps case.
        """
        if self is Priorities.NONE:
            return MappingProxyType({})
        other = IMAGE if self.favoured == SCRIPT else SCRIPT
        return MappingProxyType({PAGE: 0, str(self.favoured): 2, other: 3})

    @property
    def opposite(self) -> "Priorities":
        """What asks for the contrary."""
        return {Priorities.SPDY: Priorities.SWAP, Priorities.SWAP: Priorities.SPDY}.get(self, self)


def http2_weight(spdy_level: int) -> int:
    """The RFC 7540 weight (1 to 256) Chrome sent for a SPDY/3 priority (0 to 7).

    Chrome spread the levels evenly: 256, 220, 183, 147, 110, 74, 37, 1
    (net/third_party/spdy, Spdy3PriorityToHttp2Weight). Raises ValueError outside 0 to 7.
    """
    if not 0 <= spdy_level <= 7:
        raise ValueError(f"SPDY priority {spdy_level}; allowed: 0 to 7")
    return int(255.9 / 7 * (7 - spdy_level)) + 1
