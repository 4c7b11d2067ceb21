"""What the client asks for: SPDY priorities, and the HTTP/2 weights Chrome made of them."""

from enum import StrEnum

PAGE, IMAGE, SCRIPT = "page", "image", "script"


class Priorities(StrEnum):
    """Who is asked to come first.

    `swap` is the control that proves a server reads priorities at all: the image is asked to come first.
    `none` sends no priority: no order is asked, so no order can be kept.
    """

    SPDY = "spdy"
    SWAP = "swap"
    NONE = "none"


# SPDY/3 counts from 0, the most urgent, to 7. The page is a document; 2 and 3 are the pair of the Maps case.
_SPDY_LEVELS: dict[Priorities, dict[str, int]] = {
    Priorities.SPDY: {PAGE: 0, SCRIPT: 2, IMAGE: 3},
    Priorities.SWAP: {PAGE: 0, SCRIPT: 3, IMAGE: 2},
    Priorities.NONE: {},
}


def http2_weight(spdy_level: int) -> int:
    """The RFC 7540 weight (1 to 256) Chrome sent for a SPDY/3 priority (0 to 7).

    Chrome spread the levels evenly: 256, 220, 183, 147, 110, 74, 37, 1
    (net/third_party/spdy, Spdy3PriorityToHttp2Weight). Raises ValueError outside 0 to 7.
    """
    if not 0 <= spdy_level <= 7:
        raise ValueError(f"SPDY priority {spdy_level}; allowed: 0 to 7")
    return int(255.9 / 7 * (7 - spdy_level)) + 1


def weight_of(resource: str, priorities: Priorities) -> int | None:
    """The weight sent with a resource's request, None if none is sent."""
    level = _SPDY_LEVELS[priorities].get(resource)
    return None if level is None else http2_weight(level)
