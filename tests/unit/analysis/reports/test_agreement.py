"""When figures of different fabrics agree."""

from dataclasses import asdict
from typing import Any

import pytest

from analysis.reports.agreement import compare, markdown
from tests.unit.builders import scenario

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
    """Script first and last byte and image last byte, each with its value by way."""
    rows = compare({"virtual": summary(2900.0), "netns": summary(2950.0)})
    assert [row.figure for row in rows] == ["script first byte", "script last byte", "image last byte"]
    assert rows[0].by_way == {"virtual": 2900.0, "netns": 2950.0}
    assert rows[0].difference_ms == 50.0


@pytest.mark.parametrize(
    ("one", "other", "agrees"),
    [(2900.0, 3028.0, True), (2900.0, 3028.1, False), (6000.0, 6185.0, True), (6000.0, 6186.0, False)],
)
def test_a_record_or_three_percent_whichever_is_larger(one: float, other: float, *, agrees: bool) -> None:
    """At 128 kB/s a record is 128 ms, and three percent are more than that from 4.27 s on."""
    assert compare({"virtual": summary(one), "netns": summary(other)})[0].agrees is agrees


def test_without_a_rate_only_the_fraction_counts() -> None:
    """A link without a rate has no time for a record."""
    summaries = {"virtual": summary(100.0, rate_bit_s=None), "netns": summary(104.0, rate_bit_s=None)}
    row = compare(summaries)[0]
    assert row.allowed_ms == pytest.approx(3.12)
    assert not row.agrees


def test_a_missing_figure_is_no_agreement() -> None:
    """A way that failed has no figure, and an arm that is missing in one way neither."""
    assert not compare({"virtual": summary(2900.0), "netns": summary(None)})[0].agrees
    assert not compare({"virtual": summary(2900.0), "netns": {"arms": []}})[0].agrees


def test_an_arm_of_which_a_repetition_failed_has_no_figure() -> None:
    """The median of the rest is not what was asked for."""
    row = compare({"virtual": summary(2900.0), "netns": summary(2900.0, status="failed")})[0]
    assert row.by_way == {"virtual": 2900.0, "netns": None}
    assert not row.agrees


def test_the_table() -> None:
    """Whole milliseconds, a word on each row, a dash for what is missing."""
    lines = markdown(compare({"virtual, netem": summary(2900.4), "netns, ferry": summary(None)})).splitlines()
    assert lines[0] == "| arm | figure | virtual, netem | netns, ferry | largest difference | allowed | |"
    assert lines[2] == "| cubic, control | script first byte | 2900 | - | - | 128 | **differ** |"
    assert lines[3] == "| cubic, control | script last byte | 9000 | 9000 | 0 | 270 | agree |"
