"""Tests of the agreement of figures (times of script and image) that were measured in different ways.

A way is a fabric with a shaper, such as `virtual, netem`.
"""

from dataclasses import asdict
from typing import Any

import pytest

from priolab.extras.studies.comparison import compare, markdown
from tests.support.builders import scenario

RATE_BIT_S = 1_024_000  # a TLS record takes 128 ms


def summary(
    first_ms: float | None, last_ms: float = 9000.0, *, rate_bit_s: int | None = RATE_BIT_S, status: str = "ok"
) -> dict[str, Any]:
    arm = {
        "name": "cubic, control",
        "status": status,
        "scenario": asdict(scenario(rate_bit_s=rate_bit_s)),
        "script": {"first_byte_ms": first_ms, "last_byte_ms": last_ms},
        "image": {"first_byte_ms": 700.0, "last_byte_ms": 6000.0},
    }
    return {"arms": [arm]}


def test_a_row_for_each_figure() -> None:
    """There is a row for each of three figures, with the figure's value in each way."""
    rows = compare({"virtual": summary(2900.0), "netns": summary(2950.0)})
    assert [row.figure for row in rows] == ["script first byte", "script last byte", "image last byte"]
    assert rows[0].by_way == {"virtual": 2900.0, "netns": 2950.0}
    assert rows[0].difference_ms == 50.0


@pytest.mark.parametrize(
    ("one", "other", "agrees"),
    [(2900.0, 3028.0, True), (2900.0, 3028.1, False), (6000.0, 6185.0, True), (6000.0, 6186.0, False)],
)
def test_a_record_or_three_percent_whichever_is_larger(one: float, other: float, *, agrees: bool) -> None:
    """Figures agree if they differ by at most a TLS record's time, 128 ms at 128 kB/s, or by at most 3 %.

    The larger limit counts: for figures above 4.27 s, the 3 %.
    """
    assert compare({"virtual": summary(one), "netns": summary(other)})[0].agrees is agrees


def test_without_a_rate_only_the_fraction_counts() -> None:
    """On a link without a rate a record takes no time, so figures agree if they differ by at most 3 %."""
    summaries = {"virtual": summary(100.0, rate_bit_s=None), "netns": summary(104.0, rate_bit_s=None)}
    row = compare(summaries)[0]
    assert row.allowed_ms == pytest.approx(3.12)
    assert not row.agrees


def test_a_missing_figure_is_no_agreement() -> None:
    """Figures do not agree if the arm's runs failed in one way, or if one way does not have the arm."""
    assert not compare({"virtual": summary(2900.0), "netns": summary(None)})[0].agrees
    assert not compare({"virtual": summary(2900.0), "netns": {"arms": []}})[0].agrees


def test_an_arm_of_which_a_repetition_failed_has_no_figure() -> None:
    """An arm has no figure if a repetition failed, because the median of the other runs is not comparable."""
    row = compare({"virtual": summary(2900.0), "netns": summary(2900.0, status="failed")})[0]
    assert row.by_way == {"virtual": 2900.0, "netns": None}
    assert not row.agrees


def test_the_table() -> None:
    """The table has whole milliseconds, `differ` in a row without agreement, and a dash for a missing figure."""
    lines = markdown(compare({"virtual, netem": summary(2900.4), "netns, ferry": summary(None)})).splitlines()
    assert lines[0] == "| arm | figure | virtual, netem; netns, ferry | largest difference, of allowed |"
    assert lines[2] == "| cubic, control | script first byte | 2900; - | - of 128: **differ** |"
    assert lines[3] == "| cubic, control | script last byte | 9000 | 0 of 270 |"
