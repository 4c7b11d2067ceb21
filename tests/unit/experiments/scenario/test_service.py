"""Tests of SERVICE: its text, what it cannot be combined with, and who refuses it."""

import pytest

from priolab.common.errors import ScenarioError, Unavailable
from priolab.experiments.hosts.containers.compose import Compose
from priolab.experiments.hosts.namespaces.netns import Netns
from priolab.experiments.hosts.virtual import Virtual
from priolab.experiments.scenario.knobs import scenario_from
from priolab.experiments.scenario.service import Service
from priolab.testbed.guest import kernel


@pytest.mark.parametrize(
    ("text", "service", "recorded"),
    [
        ("20us+1us/KB", Service(wake_ns=20_000, kb_ns=1000), "20us+1us/KB"),
        ("250ns/KB+0.02ms", Service(wake_ns=20_000, kb_ns=250), "20us+0.25us/KB"),
        ("10ms", Service(wake_ns=10**7, kb_ns=0), "10000us"),
        ("1ms/KB", Service(wake_ns=0, kb_ns=10**6), "1000us/KB"),
    ],
)
def test_its_text(text: str, service: Service, recorded: str) -> None:
    """The time for each wake-up, the time for each KB, or both, in any order; the record has both in microseconds."""
    scenario = scenario_from({"SERVICE": text})
    assert scenario.service_time == service
    assert scenario.service == recorded
    assert Service.parse(recorded) == service
    assert list(scenario.unusual) == [f"SERVICE={recorded}"]


def test_none_by_default() -> None:
    """Without SERVICE there is no service time, in the record neither."""
    scenario = scenario_from({})
    assert scenario.service is None
    assert scenario.service_time is None


@pytest.mark.parametrize("text", ["", "20", "0us", "20us+30us", "1us/KB+1us/KB", "11ms", "2ms/KB", "1us/MB", "1us+"])
def test_bad_texts(text: str) -> None:
    """What has no unit, says the same twice, is nothing or too much, is refused with what is allowed."""
    with pytest.raises(ScenarioError, match=r"SERVICE.*a time up to 10ms for each wake-up, a time up to 1ms/KB"):
        scenario_from({"SERVICE": text})


@pytest.mark.parametrize(
    ("knobs", "allowed"),
    [
        ({"SERVER": "caddy-h3"}, "none with SERVER=caddy-h3, which does not use TCP"),
        ({"PLAN": "probe", "RELOADS": "0", "PAGE": "pair"}, "none with PLAN=probe"),
    ],
)
def test_what_it_cannot_be_combined_with(knobs: dict[str, str], allowed: str) -> None:
    """Its bytes are TCP's, and in a probe the front has to answer before the next step."""
    with pytest.raises(ScenarioError, match=allowed):
        scenario_from({"SERVICE": "20us", **knobs})


def test_only_a_guest_with_the_kernel_for_it_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """On real clocks, and in guests with an older kernel, SERVICE is refused with the remedy."""
    scenario = scenario_from({"SERVICE": "20us"})
    for fabric in (Netns(), Compose()):
        with pytest.raises(Unavailable, match=rf"SERVICE=20us with FABRIC={fabric.name} .* use FABRIC=virtual"):
            fabric.check_usable(scenario, None)
    monkeypatch.setattr(kernel, "is_built", lambda: True)
    monkeypatch.setattr(kernel, "can_serve", lambda: False)
    with pytest.raises(Unavailable, match=r"^SERVICE=20us with .*virtual .* before Linux 7\.2 .* use KERNEL=7\.2"):
        Virtual().check_usable(scenario, None)
