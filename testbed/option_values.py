"""The values of knobs and options that people give as texts. Whatever is not allowed raises ScenarioError."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from priolab.common.errors import ScenarioError
from priolab.common.formats.files import printable
from priolab.netem import units
from priolab.netem.link_options import LinkOption
from priolab.netem.parsers import whole

TRACES = ("TRACE", "TRACE_UP")
"""The knobs whose errors say what is wrong with a file."""

_LARGEST_SEED = 2**32 - 1
SEED_WORD = LinkOption(
    field="seed",
    default="1",
    parse=whole(0, _LARGEST_SEED),
    allowed=f"0 to {_LARGEST_SEED}",
    meaning="seed of the first repetition; each further repetition adds 1. In the guest, runs with the same scenario,"
    " seed and programs have the same events, to the nanosecond",
)
"""The knob of the seed of all random numbers."""


class _Parsed(Protocol):
    @property
    def parse(self) -> Callable[[str], Any]: ...

    @property
    def allowed(self) -> str: ...


def overridden(words: Sequence[str]) -> Iterator[str]:
    """Yields a sentence for each word NAME=VALUE that a later one overrides with another value."""
    pairs = [word.partition("=")[::2] for word in words if "=" in word]
    counts = dict(pairs)
    for name, value in dict.fromkeys(pairs):
        if counts[name] != value:
            yield f"{name}={value} has no effect, because {name}={counts[name]} comes after it"


def value_of(name: str, text: str, word: _Parsed) -> Any:
    """Returns the value of a knob's text. Raises ScenarioError."""
    try:
        return word.parse(text.strip())
    except ValueError as error:
        given = f"{printable(text.strip())} ({error})" if name in TRACES else text.strip()
        raise ScenarioError(name, given, word.allowed) from None


def parsed_time_ns(where: str, text: str, least: str, most: str) -> int:
    """Parses a time; returns it in ns. Raises ScenarioError if the time is less than `least` or more than `most`.

    where: the name of the option that has the time, for the error. least, most: times with units.
    """
    try:
        time_ns = units.parse_time_ns(text)
        if units.parse_time_ns(least) <= time_ns <= units.parse_time_ns(most):
            return time_ns
    except ValueError:
        pass
    raise ScenarioError(where, text, f"a time with a unit, from {least} to {most}")
