"""Runs the arms of a study in the guest, by the public face."""

from collections.abc import Sequence
from pathlib import Path

import priolab
from priolab.experiments.commands.console import Report
from priolab.experiments.execution.request import Arm


def run_in_guest(
    name: str, arms: Sequence[Arm], results: Path, report: Report, *, repeat: int = 1
) -> priolab.Experiment:
    """Runs arms, each `repeat` times. Returns the experiment, also if a run is not ok. Raises LabError.

    name: as the report says it. results: the folder for results.
    """
    report.say(f"{name}: {len(arms)} arms, {repeat} times each")
    knobs = {arm.name: arm.knobs for arm in arms}
    return priolab.run(knobs, FABRIC="virtual", REPEAT=repeat, RESULTS=results, progress=report)
