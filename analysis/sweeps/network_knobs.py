"""The knobs that decide to which network of a sweep an arm belongs; networks.py has the rules."""

from collections.abc import Mapping

NONE, AUTO = "none", "auto"
LOWAT, VIA_LOWAT, TARGET_DELAY, JS_DELAY = "LOWAT", "VIA_LOWAT", "TARGET_DELAY", "JS_DELAY"
RECOMMENDED = (LOWAT, VIA_LOWAT)
"""The knobs for which a value is recommended: TCP_NOTSENT_LOWAT of the front, and of the second front."""


def network_of(words: Mapping[str, str], *knobs: str) -> tuple[tuple[str, str], ...]:
    """Returns the knobs, with values, that an arm shares with the other arms of its network. words: all its knobs.

    knobs: those whose values are compared in the network; LOWAT alone if none is given.
    """
    own = {*(knobs or (LOWAT,)), JS_DELAY}
    own |= {TARGET_DELAY} if LOWAT in own else set()
    return tuple((name, word) for name, word in words.items() if name not in own)
