"""The lab without its extras."""

import subprocess
import sys

import pytest

from priolab.common.home import ROOT
from priolab.experiments.setup.extras import extras


@pytest.mark.usefixtures("guest")
def test_the_core_stands_alone() -> None:
    """Without any extra, the contracts of imports and the contract tests are kept, and an experiment succeeds.

    No list names what is gone. `make removals` runs all linters and unit tests, too.
    """
    command = [sys.executable, "-m", "tools.removal", "--brief", *extras()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "nothing is missed\n"), done.stdout[-3000:]
