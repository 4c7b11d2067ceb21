"""Parsers for the texts of settings: whole numbers, sizes, and words that stand for nothing."""

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from priolab.netem import units


def whole(least: int, most: int) -> Callable[[str], int]:
    """Returns a parser for a whole number from `least` to `most`. The parser raises ValueError."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"\d{1,12}", text, re.ASCII) or not least <= int(text) <= most:
            raise ValueError("out of range")
        return int(text)

    return parse


def one_or(word: str, parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """Returns a parser that turns the word into None, and any other text into the result of `parse`."""
    return lambda text: None if text == word else parse(text)


def size(least: int, most: int) -> Callable[[str], int]:
    """Returns a parser for a number of bytes, with or without a unit. The parser raises ValueError."""

    def parse(text: str) -> int:
        size_bytes = int(text) if text.isascii() and text.isdigit() else units.parse_size_bytes(text)
        if not least <= size_bytes <= most:
            raise ValueError("out of range")
        return size_bytes

    return parse


def words_of(kind: type[StrEnum]) -> str:
    """Returns the values of an enumeration as a list in words."""
    return ", ".join(kind)
