"""Tests of the expected cost of a run."""

import pytest

from priolab.experiments.execution.cost import cost_s, link_s
from priolab.experiments.scenario.knobs import scenario_from

FAST = {"RATE": "10mbit", "DELAY": "50ms"}
TINY = {"SIZE": "20480", "RELOADS": "0"}


@pytest.mark.parametrize(
    ("knobs", "measured_s"),
    [
        ({}, 37.5),
        (FAST, 4.4),
        (TINY, 1.2),
    ],
)
def test_link_time_is_about_what_was_measured(knobs: dict[str, str], measured_s: float) -> None:
    """The estimated link time is right to a factor of two."""
    assert measured_s / 2 < link_s(scenario_from(knobs)) < measured_s * 2


@pytest.mark.parametrize(
    ("knobs", "sample_ms", "measured_s"),
    [
        (TINY, 100, 0.31),
        ({}, None, 0.54),
        ({}, 100, 0.59),
        ({}, 10, 0.94),
        (FAST, 100, 0.50),
        ({**FAST, "SIZE": "5000000"}, 100, 1.47),
        ({"RATE": "128kbit"}, 100, 0.84),
        ({"RATE": "128kbit"}, None, 0.55),
        ({"RATE": "16kbit"}, None, 1.45),
    ],
)
def test_processor_time_is_about_what_was_measured(
    knobs: dict[str, str], sample_ms: int | None, measured_s: float
) -> None:
    """The estimated processor time is right to a fifth: it depends on bytes, samples and link time."""
    assert cost_s(scenario_from(knobs), virtual_clock=True, sample=sample_ms and sample_ms * 10**6) == pytest.approx(
        measured_s, rel=0.2
    )


def test_what_makes_a_run_longer() -> None:
    """A slower link, a longer delay, losses, a late script, and more loads make the link time longer.
    With BBR, losses do not. On a real clock a run takes its link time and more.
    """
    usual = link_s(scenario_from({}))
    slower = ({"RATE": "64kbps"}, {"DELAY": "3s"}, {"LOSS": "5%"}, {"JS_DELAY": "30s"}, {"RELOADS": "3"})
    assert all(link_s(scenario_from(knobs)) > usual for knobs in slower)
    bbr = {"CC": "bbr"}
    assert link_s(scenario_from({**bbr, "LOSS": "5%"})) == link_s(scenario_from(bbr))
    modem = scenario_from({"RATE": "1kbit"})
    assert cost_s(modem, virtual_clock=False, sample=None) > link_s(modem)


@pytest.mark.parametrize(
    ("knobs", "measured_s"),
    [
        ({}, 14.0),
        ({"RELOADS": "0"}, 11.4),
        ({"RATE": "unlimited", "DELAY": "1ms"}, 9.8),
        ({"RATE": "128kbit"}, 44.5),
    ],
)
def test_a_browser_takes_its_time(knobs: dict[str, str], measured_s: float) -> None:
    """The estimate for a browser's guest is right to a fifth: it includes the start and the link time."""
    scenario = scenario_from({**knobs, "CLIENT": "chromium"})
    assert cost_s(scenario, virtual_clock=True, sample=10**8) == pytest.approx(measured_s, rel=0.2)
