"""Tests of the settings of guests."""

from experiments.scenario.knobs import scenario_from
from experiments.testbed.guest.virtual import memory_mib


def test_pages_of_usual_sizes_can_share_a_guest() -> None:
    """Guests for pages of up to 2 MiB, image and script together, have the same memory. Larger pages have more."""
    usual = {memory_mib(scenario_from({"SIZE": size})) for size in ("2048", "20000", "600000", "1000000")}
    assert len(usual) == 1
    assert max(usual) < memory_mib(scenario_from({"SIZE": "3M"})) < memory_mib(scenario_from({"SIZE": "30M"}))
