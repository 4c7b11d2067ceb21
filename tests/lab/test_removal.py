"""The lab without its extras."""

import subprocess
import sys

import pytest

from priolab.experiments.host.extras import extras
from priolab.experiments.host.home import ROOT


@pytest.mark.usefixtures("guest")
def test_the_core_stands_alone() -> None:
    """Without any extra, the linters, the core's tests and an experiment succeed, and no list names what is gone."""
    command = [sys.executable, "-m", "tools.removal", *extras()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "nothing is missed\n")
