"""Tests of the knob SAMPLE."""

import pytest

from priolab.netem.link_options import link_from
from priolab.netem.sampling import AUTO, Intervals, Sample, intervals, parse_sample

_MS = 10**6


@pytest.mark.parametrize(
    ("text", "sample"), [("auto", AUTO), ("none", None), ("1ms", _MS), ("100ms", 100 * _MS), ("0.012s", 12 * _MS)]
)
def test_values(text: str, sample: Sample) -> None:
    """SAMPLE is `auto`, `none`, or a time from 1 ms to 100 ms."""
    assert parse_sample(text) == sample


@pytest.mark.parametrize("text", ["", "10", "0ms", "999us", "101ms", "AUTO", "never"])
def test_other_values_are_refused(text: str) -> None:
    """A time without unit or outside of the range, or another word, raises ValueError."""
    with pytest.raises(ValueError):  # noqa: PT011
        parse_sample(text)


@pytest.mark.parametrize(
    ("words", "measured_ms"),
    [
        ({}, 11.828125),  # 1514 bytes at 128 kB/s
        ({"RATE": "256kbit"}, 47.3125),
        ({"RATE": "9600bit"}, 100),
        ({"RATE": "10mbit"}, 10),
        ({"RATE": "unlimited"}, 10),
        ({"RATE": "128kbit", "RATE_STEPS": "1024kbit@2s+64kbit@4s"}, 11.828125),
    ],
)
def test_auto_samples_once_per_packet(words: dict[str, str], measured_ms: float) -> None:
    """The interval of `auto` is a packet's time at the link's highest rate, 10 to 100 ms; before the load ten times."""
    found = intervals(AUTO, link_from(words))
    assert found == Intervals(measured_ns=round(measured_ms * _MS), before_ns=10 * round(measured_ms * _MS))


def test_an_interval_holds_for_all_loads() -> None:
    """A given interval is the same before and during the measured load; `none` has no interval."""
    assert intervals(20 * _MS, link_from({})) == Intervals(measured_ns=20 * _MS, before_ns=20 * _MS)
    assert intervals(None, link_from({})) is None
