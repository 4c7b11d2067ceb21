"""Reads the commands that make would run, without running them."""

import os
import re

from priolab.common.home import ROOT
from priolab.common.running import finished

SETUP = "experiments/setup/setup.sh"


def planned(*words: str) -> str:
    """Returns the commands that make would run, and its variables.

    A make that runs the tests hands its own variables on as variables of the environment.
    """
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    command = ["make", "--print-data-base", "--dry-run", *words]
    return finished(command, 20, folder=ROOT, environment=environment).checked().out


def set_up(*words: str) -> list[str]:
    """Returns what each call of setup.sh that make would run sets up."""
    calls = re.findall(rf"^{SETUP}(.*)$", planned(*words), re.MULTILINE)
    return [call.partition(" -- ")[0].strip() for call in calls]
