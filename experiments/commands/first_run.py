"""The first `make experiment` on a machine: runs in real time and shows its picture, then builds the guest kernel.

Compiling the kernel takes several minutes, a run on real clocks one minute. So a new user sees a result first.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from priolab.common.errors import LabError, Unavailable
from priolab.experiments.commands.console import Report
from priolab.experiments.execution.cli_request import request_from
from priolab.experiments.execution.request import Request
from priolab.experiments.run.fabrics import AUTO
from priolab.testbed import guest_requirements, kernel

_REAL_TIME = "netns"
_VIRTUAL = "virtual"


@dataclass(frozen=True, kw_only=True)
class FirstRun:
    """An experiment to run now. builds_afterwards: True to build the kernel once the experiment's results are shown."""

    request: Request
    builds_afterwards: bool


def first_run(words: Mapping[str, str], report: Report, build: Callable[[], None]) -> FirstRun:
    """Turns NAME=VALUE arguments into a request, even if the guest kernel is not built yet. Raises LabError.

    build: builds the kernel; called here if the experiment needs a guest.
    """
    fabric = words.get("FABRIC") or AUTO
    if fabric not in (AUTO, _VIRTUAL) or not guest_requirements.builds_guests() or kernel.is_built():
        return FirstRun(request=request_from(words), builds_afterwards=False)
    if fabric == AUTO:
        try:
            request = request_from({**words, "FABRIC": _REAL_TIME})
        except Unavailable:
            pass
        else:
            report.say("the guest kernel is not built yet, so this first experiment runs in real time, about a minute")
            report.say(
                "afterwards the guest kernel is built; later experiments take seconds, unless FABRIC=netns is given"
            )
            run_settings = replace(
                request.run_settings,
                fabric_reason=f"{request.run_settings.fabric.merit}; virtual: the guest kernel is not built",
            )
            return FirstRun(request=replace(request, run_settings=run_settings), builds_afterwards=True)
    build()
    return FirstRun(request=request_from(words), builds_afterwards=False)


def build_afterwards(report: Report, build: Callable[[], None]) -> None:
    """Builds the kernel for later experiments. A failure is only reported, because the first experiment is complete."""
    report.say("building the guest kernel for later experiments; the results above are complete, Ctrl-C does no harm")
    try:
        build()
    except LabError as error:
        report.complain(f"{error}; later experiments run in real time until `make kernel` succeeds")
