"""The table of fabrics, and the choice of one."""

from collections.abc import Sequence

from experiments.errors import ScenarioError, Unavailable
from experiments.scenario.scenario import Scenario
from experiments.testbed.containers.compose import Compose
from experiments.testbed.fabric import Fabric
from experiments.testbed.guest.virtual import Virtual
from experiments.testbed.namespaces.netns import Netns
from netem.shaper import Shaper

FABRICS: dict[str, Fabric] = {fabric.name: fabric for fabric in (Virtual(), Compose(), Netns())}
"""Fabrics by name, the preferred one first."""

AUTO = "auto"


def choose(name: str, scenarios: Sequence[Scenario], shaper: Shaper | None) -> tuple[Fabric, str]:
    """Returns the fabric of that name, and the reason for the choice. `auto` chooses the first that can be used.

    A fabric can be used if it can run all the scenarios. Raises ScenarioError for an unknown name. Raises Unavailable
    if the named fabric cannot be used. With `auto`, raises Unavailable with each fabric's reason if no fabric can be
    used.
    """
    if name in FABRICS:
        for scenario in scenarios:
            FABRICS[name].check_usable(scenario, shaper)
        return FABRICS[name], "as asked"
    if name != AUTO:
        raise ScenarioError("FABRIC", name, ", ".join([AUTO, *FABRICS]))
    reasons: list[str] = []
    for fabric in FABRICS.values():
        try:
            for scenario in scenarios:
                fabric.check_usable(scenario, shaper)
        except Unavailable as error:
            reasons.append(f"{fabric.name}: {error.reason}")
            continue
        return fabric, "; ".join([fabric.merit, *reasons])
    raise Unavailable("FABRIC=auto", "; ".join(reasons), "`priolab doctor` shows the remedies")
