"""The knobs that decide to which network of a sweep an arm belongs; networks.py has the rules."""

from collections.abc import Mapping

NONE, AUTO = "none", "auto"
LOWAT, TARGET_DELAY = "LOWAT", "TARGET_DELAY"
_OF_A_VALUE = (LOWAT, TARGET_DELAY)


def network_of(words: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Returns the knobs, with values, that an arm shares with the other arms of its network. words: all its knobs."""
    return tuple((name, word) for name, word in words.items() if name not in _OF_A_VALUE)
