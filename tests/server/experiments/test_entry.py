"""Tests of the command line while it starts."""

import signal
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module",
    [
        "argparse",
        "priolab.common.formats.files",
        "priolab.experiments.scenario.knobs",
        "priolab.experiments.sweep.sweep_request",
    ],
)
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_modules_are_imported(module: str, stop: signal.Signals) -> None:
    """A signal during any import causes one line of output and the signal's exit code."""
    command = [sys.executable, "-X", "importtime", "-m", "priolab.experiments", "list"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.split("|")[-1].strip() == module:
                process.send_signal(stop)
                break
        said = [line for line in process.stderr if not line.startswith("import time:")]
    assert said == [f"priolab: interrupted by {stop.name}; nothing was kept\n"]
    assert process.returncode == 128 + stop
