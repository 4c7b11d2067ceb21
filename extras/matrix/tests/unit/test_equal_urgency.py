"""Tests of two responses of the same urgency: their order, in words and in sentences."""

import json
from collections.abc import Mapping

import pytest

from priolab.analysis.judgement.order import Sharing
from priolab.extras.matrix.equal_urgency import Case, Sequel, dumped, reading, sequels_from, table

KIB = 1024
NAMES = ("one", "other")


def sequel(*served: tuple[str, int]) -> Sequel:
    """Return a probe with these bytes, of the responses in NAMES."""
    return Sequel(names=NAMES, steps=10, important="one", served=served)


TURNS = sequel(("one", 80 * KIB))
BACK = sequel(("other", 80 * KIB))
SHARE = sequel(*[("one", 8 * KIB), ("other", 8 * KIB)] * 5)


@pytest.mark.parametrize(
    ("found", "order", "words"),
    [
        (TURNS, Sharing.REQUESTED_FIRST, "the first, then the second"),
        (BACK, Sharing.REQUESTED_LAST, "the second, then the first"),
        (sequel(("one", 96), ("other", 4)), Sharing.REQUESTED_FIRST, "the first, then the second"),
        (SHARE, Sharing.SHARED, "shared 50:50 %, 8 KiB at a time"),
        (
            sequel(("one", 16 * KIB), ("other", 8 * KIB), ("one", 16 * KIB)),
            Sharing.SHARED,
            "shared 80:20 %, 16 KiB at a time",
        ),
        (sequel(("other", 90 * KIB), ("one", 10 * KIB)), Sharing.UNEVEN, "shared unevenly 10:90 %, 50 KiB at a time"),
    ],
)
def test_orders(found: Sequel, order: Sharing, words: str) -> None:
    """The order follows from the share of the response that was requested first."""
    assert (found.order, found.words) == (order, words)


def cases(both: Sequel, neither: Sequel, first: Sequel, second: Sequel) -> Mapping[Case, Sequel]:
    """Return the probes of a server."""
    return dict(zip(Case, (both, neither, first, second), strict=True))


SOUND = cases(SHARE, TURNS, BACK, TURNS)
FOUND = {"good": SOUND, "blind": cases(TURNS, TURNS, TURNS, BACK), "odd": cases(SHARE, SHARE, SHARE, BACK)}


def test_sentences() -> None:
    """The sentences count the servers that do as RFC 9218 says, and say what the others do."""
    both, neither, mixed = (paragraph.replace("\n", " ") for paragraph in reading(FOUND))
    assert both == (
        "2 of 3 servers share the window between incremental responses. The others: `blind`: the first, then the"
        " second."
    )
    assert neither == (
        "2 of 3 servers send one response after the other, in the order of the requests. The others: `odd`: shared"
        " 50:50 %, 8 KiB at a time."
    )
    assert mixed == (
        "*An incremental response and another one*: the incremental one waits until the other is complete: `good`; the"
        " incremental one comes first: `blind`; shared (incremental, then not), the second, then the first (not, then"
        " incremental): `odd`."
    )


def test_nobody() -> None:
    """If no server does as RFC 9218 says, or all do, the sentences have no empty lists."""
    blind, *_ = reading({"blind": FOUND["blind"]})
    assert blind.startswith("0 of 1 servers share the window between incremental responses. The others: `blind`: ")
    sound, *_ = reading({"good": SOUND})
    assert sound == "1 of 1 servers share the window between incremental responses."


def test_the_table_and_the_frames() -> None:
    """The table has a row for each server that does as no other, and the frames can be read back."""
    assert len(table(FOUND).splitlines()) == 2 + len(FOUND)
    assert sequels_from(json.loads(dumped(FOUND))) == FOUND
