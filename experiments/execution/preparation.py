"""Prepares an experiment: finds the programs for its runs, and does work needed once, such as building images."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from priolab.experiments.execution.request import RunSettings
from priolab.experiments.run import capture
from priolab.experiments.scenario.scenario import FrontKey, Scenario
from priolab.experiments.setup.programs import browser_tools, check_levels
from priolab.experiments.setup.tools import Tools
from priolab.experiments.setup.user_program import inspected


def prepare(
    run_settings: RunSettings, scenarios: Sequence[Scenario], tell: Callable[[str], None]
) -> Mapping[FrontKey, Tools]:
    """Does the work needed once before all runs. Raises LabError.

    Returns the programs of the runs, by SERVER, PROGRAM and CONFIG.

    tell: called with a line about each step.
    """
    served: dict[FrontKey, list[Scenario]] = {}
    for scenario in scenarios:
        served.setdefault(scenario.front_key, []).append(scenario)
    for _, program, *_ in served:
        if program is not None:  # before images are built
            inspected(program, f"PROGRAM={program}")
    if run_settings.capture:
        capture.check(own_tcpdump=run_settings.fabric.own_programs)
    run_settings.fabric.prepare(scenarios, run_settings.shaper, tell)
    found = {}
    for key, asked in served.items():
        tools = run_settings.fabric.tools(asked[0], capture=run_settings.capture)
        for other in {scenario.client: scenario for scenario in asked}.values():
            programs, versions = browser_tools(other)
            said = {name: text or "unknown" for name, text in versions.items()}
            tools = replace(tools, programs={**tools.programs, **programs}, versions={**tools.versions, **said})
        check_levels(asked, tools.versions[key[0]])
        found[key] = tools
    return found
