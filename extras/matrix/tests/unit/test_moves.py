"""Tests of what moved since an older edition of the matrix, and of the editions."""

from dataclasses import replace

import msgspec
import pytest

from priolab.extras.matrix import page, text
from priolab.extras.matrix.cells import Cell
from priolab.extras.matrix.edition import Edition, dumped_edition, edition, same_but_for_the_date
from priolab.extras.matrix.matrix import Front, Matrix
from priolab.extras.matrix.moves import Move, moves
from priolab.extras.matrix.tests.unit.made_up import ALL, NOTHING, OLD, cell, matrix

WAS = replace(matrix(OLD), date="2026-10-01")


def since(now: Matrix, was: Matrix = WAS) -> tuple[tuple[str, ...], tuple[Move, ...]]:
    """Return what moved from one matrix to another: sentences and results."""
    moved = moves(edition(was), edition(now))
    assert moved.since == was.date
    return moved.sentences, moved.cells


def test_nothing_moved() -> None:
    """Two matrices that differ in their date alone have equal editions, and nothing moved."""
    assert since(matrix(OLD)) == (("Nothing moved: the same rows, versions, verdicts and shares.",), ())
    assert same_but_for_the_date(edition(WAS), edition(matrix(OLD)))


@pytest.mark.parametrize(
    ("now", "told"),
    [
        (cell(50, 50, control=None, lowat=None), [("plain", "strict 100:0 %; arrives with LOWAT", "ignored 50:50 %")]),
        (cell(90, 10), [("plain", "strict 100:0 %; arrives with LOWAT", "proportional 90:10 %; arrives with LOWAT")]),
        (
            cell(lowat=NOTHING),
            [
                (
                    "plain",
                    "strict 100:0 %; arrives with LOWAT; LOWAT=16384: arrives",
                    "strict 100:0 %; lost in the front; LOWAT=16384: lost",
                )
            ],
        ),
        (
            cell(native=ALL),
            [
                (
                    "plain",
                    "strict 100:0 %; arrives with LOWAT; NATIVE=on: not measured",
                    "strict 100:0 %; arrives with LOWAT; NATIVE=on: arrives",
                )
            ],
        ),
        (cell(98, 2), []),
        (cell(unasked=52), []),
        (cell(unasked=53), [("without priorities", "shared 50:50 %", "shared 53:50 %")]),
    ],
)
def test_what_counts_as_a_move(now: Cell, told: list[tuple[str, str, str]]) -> None:
    """Another reading, layer, outcome, share or order without priorities is a move; smaller differences are none."""
    _, cells = since(matrix(now))
    assert [(*each.dialects, each.was, each.now) for each in cells] == told


def test_shares_of_an_ignored_dialect() -> None:
    """Shares of a dialect that is not followed show the server's own order, which has an entry of its own."""
    was, now = (replace(matrix(cell(at, at, at, 50)), date="2026-10-01") for at in (50, 70))
    assert since(now, was)[1] == (
        Move(name="nginx", dialects=("without priorities",), was="shared 50:50 %", now="shared 70:50 %"),
    )


def test_dialects_that_moved_alike() -> None:
    """Dialects of a row with the same move are one entry."""
    both = [
        matrix(*(replace(each, dialect=dialect) for dialect in ("plain", "chrome")))
        for each in (OLD, cell(lowat=NOTHING))
    ]
    (move,) = since(both[1], both[0])[1]
    assert (move.name, move.dialects) == ("nginx", ("plain", "chrome"))


def test_rows_and_versions() -> None:
    """Rows and dialects that came or went are named, and rows whose version or library is another."""
    now = matrix(OLD, replace(OLD, server="nginx@sid"), replace(OLD, dialect="header"))
    assert since(now)[0] == ("New: nginx in header; nginx@sid (1.0).", "No verdict and no share moved.")
    assert since(WAS, now)[0] == ("Gone: nginx in header; nginx@sid (1.0).", "No verdict and no share moved.")
    newer = {"nginx": Front(name="nginx", said="nginx 1.1", built_with="Go 2.0")}
    assert since(replace(matrix(OLD), fronts=newer))[0] == (
        "Other versions: nginx: 1.0 to 1.1, Go 2.0.",
        "No verdict and no share moved.",
    )


def test_the_documents_have_the_moves() -> None:
    """matrix.md and the page have the section only with an older edition, and the text of it is escaped."""
    now = matrix(cell(lowat=NOTHING), replace(OLD, server="h2o <b>"))
    past = edition(WAS)
    made = text.document(now, past, "mine.html")
    assert "## What moved since 2026-10-01\n\n[mine/2026-10-01.json](mine/2026-10-01.json) has" in made
    assert "| server | dialects | on 2026-10-01 | now |" in made
    assert "[strict; lost in the front](mine.html#nginx-plain)" in made
    shown = page.html(now, past)
    assert "<h2>What moved since 2026-10-01</h2>" in shown
    assert "New: h2o &lt;b&gt; (1.0)." in shown
    assert "What moved" not in text.document(now) + page.html(now)


def test_the_text_of_an_edition() -> None:
    """An edition can be read back, and has no frames."""
    kept = edition(matrix(OLD, replace(OLD, dialect="header"), replace(OLD, server="nginx@sid")))
    told = dumped_edition(kept)
    assert msgspec.json.decode(told, type=Edition) == kept
    assert "frames" not in told
    assert [line.strip()[:9] for line in told.splitlines()].count('"header":') == 1
