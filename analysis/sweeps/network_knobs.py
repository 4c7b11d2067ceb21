"""The knobs that decide to which network of a sweep an arm belongs; networks.py has the rules."""

from collections.abc import Mapping

NONE, AUTO = "none", "auto"
LOWAT, TARGET_DELAY = "LOWAT", "TARGET_DELAY"
_OF_A_VALUE = (LOWAT, TARGET_DELAY)


def network_of(words: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Returns the knobs that an arm shares with its network's other arms, in order. words: all knobs of the arm."""
    return tuple((name, word) for name, word in words.items() if name not in _OF_A_VALUE)
