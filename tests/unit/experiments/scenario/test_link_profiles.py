"""Links that people name, in experiments and sweeps."""

from priolab.experiments.execution.request import arms_for
from priolab.experiments.scenario.knobs import with_defaults
from priolab.experiments.sweep.grid import expand
from priolab.experiments.sweep.sweep_request import sweep_request_from


def test_an_experiment() -> None:
    """The arms have the profile's name and its values."""
    for arm in arms_for({"LINK": "wpt-4g"}, control=True):
        assert arm.knobs["LINK"] == "wpt-4g"
        assert arm.knobs["RATE"] == "9000kbit"
        assert (arm.scenario.rate_bit_s, arm.scenario.rate_up_bit_s) == (9_000_000, 9_000_000)
    assert with_defaults({})["LINK"] == "none"


def test_profiles_as_networks() -> None:
    """In a sweep each profile is a network, also over a scenario that has a rate."""
    points = expand(sweep_request_from(["SCENARIO=modem", "LINK=wpt-4g,sitespeed-4g", "LOWAT=none,4096"]).grid)
    delays = {point.arm.knobs["LINK"]: point.arm.scenario.delay_ns for point in points}
    assert delays == {"wpt-4g": 85_000_000, "sitespeed-4g": 42_500_000}
    assert {point.arm.scenario.rate_bit_s for point in points} == {9_000_000}
