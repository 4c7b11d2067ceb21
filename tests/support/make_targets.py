"""Reads the commands that make would run, without running them."""

import os
import re
import subprocess

from priolab.experiments.host.home import ROOT

SETUP = "experiments/host/setup.sh"


def planned(*words: str) -> str:
    """Returns the commands that make would run, and its variables."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        ["make", "--print-data-base", "--dry-run", *words],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    return done.stdout


def set_up(*words: str) -> list[str]:
    """Returns the arguments of each call of setup.sh that make would run."""
    return [line.strip() for line in re.findall(rf"^{SETUP}(.*)$", planned(*words), re.MULTILINE)]
