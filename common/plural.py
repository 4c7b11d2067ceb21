"""Formats numbers with nouns."""


def counted(number: int, noun: str) -> str:
    """Returns a number with its noun: `1 arm`, `2,000 arms`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
