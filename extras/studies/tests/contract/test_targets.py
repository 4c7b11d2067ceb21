"""The needs of the extra's targets of the machine."""

from collections.abc import Iterable

import pytest

from priolab.experiments.execution.request import Arm
from priolab.experiments.scenario.knobs import with_defaults
from priolab.extras.studies import cost_grid, link, myths, sabotage, service, transition, two_hops
from tests.support.make_targets import set_up

_OF_COST = [Arm(name=name, knobs=with_defaults({"SERVER": name})) for name in cost_grid.SERVERS]


@pytest.mark.parametrize(
    ("target", "arms"),
    [
        ("cost", _OF_COST),
        ("link", link.arms()),
        ("myths", list(myths.arms())),
        ("sabotage", sabotage.arms().values()),
        ("service", service.arms()),
        ("transition", [*transition.signal_cases().values(), *transition.cases().values()]),
        ("two-hops", [arm for name in two_hops.CASES for arm in two_hops.arms(name)]),
    ],
)
def test_they_install_the_servers_that_they_measure(target: str, arms: Iterable[Arm]) -> None:
    """A study's target installs the servers and browsers of its arms, and no others."""
    scenarios = [arm.scenario for arm in arms]
    servers = {each.server for each in scenarios} | {each.via.server for each in scenarios if each.via}
    browsers = {str(each.client) for each in scenarios if each.client.is_browser}
    calls = set_up(target)
    named = {name for call in calls for word in call.split() if "=" in word for name in word.split("=")[1].split(",")}
    assert named | {"nginx"} == servers | {"nginx"}
    assert {word for call in calls for word in call.split() if "=" not in word} - {"cost"} == browsers


def test_what_needs_more() -> None:
    """`make cost` also installs the program that loads the servers."""
    assert set_up("cost") == ["cost SERVER=nginx,h2o,caddy"]
