"""Tests of what changed between versions, and of the explanations of verdicts."""

from dataclasses import replace

import pytest

from priolab.extras.matrix import text
from priolab.extras.matrix.cells import Cell, Pair
from priolab.extras.matrix.changes import What, changes, unchanged
from priolab.extras.matrix.notes import notes
from priolab.extras.matrix.tests.unit.made_up import AFTER, ALL, NEW, NOTHING, OLD, cell, crossing, matrix


def test_a_change_of_the_reading() -> None:
    """A change names both versions, the results in words, and the frames that show them. Dialects are put together."""
    cells = [replace(each, dialect=dialect) for dialect in ("plain", "chrome") for each in (OLD, NEW)]
    reading, own = changes(matrix(*cells))
    assert (reading.old.name, reading.new.name, reading.dialects) == ("nginx", "nginx@sid", ("plain", "chrome"))
    assert (reading.what, reading.was, reading.now) == (What.READING, "strict", "ignored 0:0 %")
    assert (reading.shown_was, reading.shown_now) == ("script 100 B", "image 100 B")
    assert (own.what, own.was, own.now) == (What.OWN_ORDER, "shared 50:50 %", "first come, first served 0:100 %")
    told = text.places(matrix(*cells))["changes"]
    assert "### nginx 1.0 to nginx@sid 2.0" in told
    assert "| nothing in the way | plain, chrome | strict | ignored 0:0 % | script 100 B | image 100 B |" in told


@pytest.mark.parametrize(
    ("now", "kinds"),
    [
        (cell(), []),
        (cell(98, 2), []),
        (cell(lowat=NOTHING), [(What.LINK, "LOWAT=16384: arrives", "LOWAT=16384: lost")]),
        (cell(native=ALL), [(What.LINK, "NATIVE=on: not available", "NATIVE=on: arrives")]),
        (cell(unasked=52), []),
        (cell(unasked=53, turned=50), [(What.OWN_ORDER, "shared 50:50 %", "shared 53:50 %")]),
    ],
)
def test_what_counts_as_a_change(now: Cell, kinds: list[tuple[What, str, str]]) -> None:
    """Another reading, share, outcome or order without priorities is a change; smaller differences are none."""
    both = matrix(OLD, replace(now, server="nginx@sid"))
    assert [(each.what, each.was, each.now) for each in changes(both)] == kinds
    assert [(old.name, new.name) for old, new in unchanged(both)] == ([] if kinds else [("nginx", "nginx@sid")])


def test_shares_of_a_followed_dialect() -> None:
    """If both versions share the window by weight, a share that differs by 0.03 is a change."""
    now = replace(cell(63, 40), server="nginx@sid")
    assert [each.was for each in changes(matrix(cell(60, 40), now))] == ["proportional 60:40 %"]
    assert changes(matrix(cell(60, 40), replace(cell(62, 40), server="nginx@sid"))) == []
    assert changes(matrix(cell(60, 60), replace(cell(63, 63), server="nginx@sid"))) == []


def test_different_servers_are_not_compared() -> None:
    """Only versions of the same server are compared, in the dialects that were measured in both."""
    assert changes(matrix(OLD, replace(NEW, server="h2o"))) == []
    assert changes(matrix(OLD, replace(cell(50, 50), server="nginx@sid", dialect="header"))) == []


def test_notes() -> None:
    """A note names the cells that it explains, and shows the frames of the first."""
    turned = replace(cell(lowat=Pair(asked=AFTER, swapped=crossing(4000, 8000))), dialect="plain+reprioritize")
    (note,) = notes(matrix(turned))
    assert (note.names, note.dialects) == ("nginx", "plain+reprioritize")
    assert note.frames.startswith(
        "Frames of nginx in plain+reprioritize: LOWAT=16384, script asked for first: image 100 B,"
    )
    assert "**nginx** in plain+reprioritize: " in text.places(matrix(turned))["notes"]
    assert not list(notes(matrix(cell())))
