"""Prepares an experiment: finds the programs for its runs, and does work needed once, such as building images."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from experiments.execution.request import Manner
from experiments.host import tuner_program
from experiments.host.programs import check_levels
from experiments.host.tools import Tools
from experiments.run import capture
from experiments.scenario.scenario import ClientKind, Scenario


def prepare(manner: Manner, scenarios: Sequence[Scenario], tell: Callable[[str], None]) -> Mapping[str, Tools]:
    """Does the work needed once before all runs. Raises LabError.

    Returns, for each server's name, the programs that its runs use.

    tell: called with a line about each step.
    """
    if manner.capture:
        capture.check(own_tcpdump=manner.fabric.own_programs)
    manner.fabric.prepare(scenarios, tell)
    tuner = tuner_program.prepare(scenarios, manner.tuner)
    served: dict[str, list[Scenario]] = {}
    for scenario in scenarios:
        served.setdefault(scenario.server, []).append(scenario)
    found = {}
    for server, asked in served.items():
        most = next((scenario for scenario in asked if scenario.client is ClientKind.CHROMIUM), asked[0])
        tools = manner.fabric.tools(most, capture=manner.capture)
        check_levels(asked, tools.versions[server])
        found[server] = replace(tools, tuner=tuner)
    return found
