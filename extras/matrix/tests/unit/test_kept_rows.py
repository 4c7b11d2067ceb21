"""Tests of a part that is measured again: the other rows of the matrix stay."""

from dataclasses import replace

import pytest

from priolab.analysis.judgement.order import Reading
from priolab.extras.matrix.document import document, matrix_from
from priolab.extras.matrix.kept_rows import together
from priolab.extras.matrix.matrix import Front, Matrix
from priolab.extras.matrix.tests.unit.made_up import OLD, cell, matrix
from priolab.extras.matrix.words import measured_words

_EARLIER = replace(
    matrix(OLD, replace(OLD, dialect="header"), replace(OLD, server="caddy"), replace(OLD, server="h2o")),
    date="2026-10-01",
    absent={"envoy": "not installed"},
)
ALL = matrix_from(document(_EARLIER))


def part(said: str = "nginx <1.0>", dialect: str = "header") -> Matrix:
    """Return a matrix with one cell of nginx, measured later."""
    made = matrix(replace(cell(50, 50, control=None, lowat=None), dialect=dialect))
    front = Front(name="nginx", said=said, date="2026-11-24")
    return replace(made, date="2026-11-24", fronts={"nginx": front}, absent={})


def test_other_rows_stay() -> None:
    """A part replaces its own cells; other rows, and other dialects of the same program, stay in their order."""
    made = together(ALL, part())
    assert list(made.cells) == [("nginx", "plain"), ("nginx", "header"), ("caddy", "plain"), ("h2o", "plain")]
    assert made.cells["nginx", "header"].reading is Reading.IGNORED
    assert made.cells["nginx", "plain"] == ALL.cells["nginx", "plain"]
    assert (made.date, made.absent) == ("2026-11-24", {"envoy": "not installed"})


@pytest.mark.parametrize(("said", "dialects"), [("nginx <1.0>", ["plain", "header"]), ("nginx <1.1>", ["header"])])
def test_another_program(said: str, dialects: list[str]) -> None:
    """If the program is another, cells of its earlier version do not stay."""
    assert [each.dialect for each in together(ALL, part(said)).row("nginx")] == dialects


def test_new_rows() -> None:
    """A new version stands beside the other versions of its server, and a new dialect comes last."""
    newer = matrix(replace(OLD, server="nginx@sid", dialect="update"), replace(OLD, server="envoy"))
    made = together(ALL, replace(newer, absent={"traefik": "not installed"}))
    assert list(made.fronts) == ["nginx", "nginx@sid", "caddy", "h2o", "envoy"]
    assert made.dialects == ["plain", "header", "update"]
    assert made.absent == {"traefik": "not installed"}


def test_each_row_has_its_day() -> None:
    """The document says on which day each row was measured, if it was not the newest day."""
    made = document(together(ALL, part()))
    assert [made["servers"][name]["date"] for name in ("nginx", "h2o")] == ["2026-11-24", "2026-10-01"]
    assert measured_words(matrix_from(made)) == "Measured on 2026-11-24; caddy, h2o on 2026-10-01."
    assert measured_words(part()) == "Measured on 2026-11-24."
