"""Compares the pictures of a run's places with the lab's requests. Pure."""

from collections.abc import Iterator, Sequence

from priolab.common.errors import InvalidRun
from priolab.testbed import Portrayed

_KIND = ", kind"
BEFORE, STANDING, AFTER = "before the loads", "when the connection stood", "after the loads"
_CLOCK_NS = 1000
"""tc(8) and the kernel round times to some 64 ns, and tc reads fractions of a microsecond from decimal digits."""
_ROUNDED = 1e-4
"""tc reads a probability from six decimal digits of a percentage."""


def differences(portrayed: Portrayed) -> Iterator[tuple[str, str | None, str | None]]:
    """Yields name, requested value and observed value of each setting that differs; None where there is none.

    What an object is comes before its other settings.
    """
    asked, seen = portrayed.asked, portrayed.seen
    for name in sorted(asked.keys() | seen.keys(), key=lambda each: (not each.endswith(_KIND), each)):
        if not _equal(name, asked.get(name), seen.get(name)):
            yield name, asked.get(name), seen.get(name)


def check_pictures(places: Sequence[Portrayed], when: str) -> None:
    """Checks that every setting of every place is as requested. when: BEFORE, STANDING or AFTER. Raises InvalidRun."""
    for portrayed in places:
        for name, asked, seen in differences(portrayed):
            raise InvalidRun(f"{portrayed.place} {when}, {name}", asked, seen)


def _equal(name: str, asked: str | None, seen: str | None) -> bool:
    if asked == seen:
        return True
    if asked is None or seen is None or not name.startswith("qdisc "):
        return False
    try:
        wanted, found = ([float(word) for word in text.split()] for text in (asked, seen))
    except ValueError:
        return False
    most = _CLOCK_NS if name.endswith(" in ns") else 0.0
    return len(wanted) == len(found) and all(
        abs(one - other) <= max(most, _ROUNDED * min(one, 1)) if most or one < 1 else one == other
        for one, other in zip(wanted, found, strict=True)
    )
