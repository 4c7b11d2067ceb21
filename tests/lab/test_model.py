"""The predictor, compared with all shared experiments in the guest."""

import pytest

from analysis.reports.predictions import Row, median_error, rows
from tests.lab.conftest import Runs
from tests.lab.variations import variations

pytestmark = pytest.mark.usefixtures("guest")

_MEDIAN_AT_MOST = 0.05
_ERROR_AT_MOST = 0.25
_AT_LEAST = (("LOWAT=131072",), ("LOWAT=16384", "CONTROL=no"))


def test_predictions_hold(run: Runs) -> None:
    """The median error is at most 5 %, and no error exceeds 25 %; docs/model.md has the figures."""
    for words in _AT_LEAST:
        run(*words)
    variations(run)
    found: list[Row] = [row for done in run.done if done.summary for row in rows(done.summary)]
    assert len(found) >= 5
    assert median_error(found) <= _MEDIAN_AT_MOST
    assert {row.arm: row.error for row in found if abs(row.error) > _ERROR_AT_MOST} == {}
