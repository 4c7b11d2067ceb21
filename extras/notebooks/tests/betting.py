"""Puts bets in a lesson that a test executes."""

from collections.abc import Mapping
from typing import Any

from priolab.extras.notebooks import bets


def put(came: Mapping[str, tuple[str, bool]]) -> None:
    """Puts all open bets.

    came: by prediction, what will come as text, and True for a bet near it or False for one far from it.
    """
    for bet in bets._open.values():
        text, is_near = came[bet.prediction]
        off = [_off(bet._words(option), text) for option in bet.options]
        bet.put(bet.options[off.index((min if is_near else max)(off))])


def _off(option: Any, text: str) -> float:
    """Returns how far an amount is from another; of texts that are no amounts, 0 if they are the same, otherwise 1."""
    try:
        return abs(float(option.split()[0]) - float(text.split()[0]))
    except ValueError:
        return float(option != text)
