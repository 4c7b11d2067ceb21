"""Tests of the pauses of a probe, and of the deadline of a load that is a probe."""

import pytest

from priolab.client.flow_control_probe import MOST_STEPS
from priolab.client.plan import STEPS
from priolab.experiments.execution.conclusion import load_deadline_ns
from priolab.experiments.scenario.knobs import scenario_from

_NO_LINK = {"PLAN": "probe", "RELOADS": "0", "RATE": "unlimited", "DELAY": "0ms"}


def test_pauses() -> None:
    """Without a link the steps are STEPS. Page loads have none."""
    assert scenario_from(_NO_LINK).steps == STEPS
    assert scenario_from({}).steps is None


@pytest.mark.parametrize(
    ("words", "longer_ms"),
    [
        ({"DELAY": "300ms"}, 300),
        ({"DELAY": "300ms", "DELAY_UP": "100ms", "JITTER": "50ms"}, 450),
        ({"RATE": "64kbit"}, 8192 * 8 / 64),
        ({"VIA": "nginx", "VIA_DELAY": "40ms"}, 80),
        ({"VIA": "nginx", "VIA_DELAY": "0ms", "VIA_RATE": "64kbit"}, 2 * 400_000 * 8 / 64),
    ],
)
def test_a_pause_is_longer_than_what_is_on_its_way(words: dict[str, str], longer_ms: float) -> None:
    """The pause grows by the round trip and the time of a step; with a second front by the time of the whole page."""
    steps = scenario_from({**_NO_LINK, "SIZE": "400000", **words}).steps
    assert steps is not None
    assert steps.quiet_ns - STEPS.quiet_ns >= longer_ms * 10**6


def test_the_deadline_follows() -> None:
    """The deadline leaves time for all steps. Without a link it is that of a page load."""
    loads = {**_NO_LINK, "PLAN": "loads"}
    assert load_deadline_ns(scenario_from(_NO_LINK)) == load_deadline_ns(scenario_from(loads))
    slow = scenario_from({**_NO_LINK, "DELAY": "1s", "QUEUE": "2", "RATE": "1gbit"})
    assert slow.steps is not None
    assert load_deadline_ns(slow) > MOST_STEPS * slow.steps.quiet_ns


@pytest.mark.parametrize(
    ("knobs", "took_s"),
    [
        ("RATE=5mbit DELAY=50ms QUEUE=1000 CROSS=1 WINDOW=65535 JS_DELAY=0ms SIZE=1M", 157),
        ("RATE=1gbit DELAY=50ms DELAY_UP=75ms QUEUE=10 JITTER=10ms CC=reno WINDOW=256K JS_DELAY=100ms SIZE=20M", 127),
    ],
)
def test_slow_loads_that_make_progress(knobs: str, took_s: int) -> None:
    """The deadline leaves time for small windows, competing flows, and a queue that drops many packets.

    took_s: the link time of such a load in a guest.
    """
    assert load_deadline_ns(scenario_from(dict(each.split("=") for each in knobs.split()))) > 1.5 * took_s * 10**9
