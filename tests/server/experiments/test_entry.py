"""The command line's first moments."""

import signal
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module", ["argparse", "common.formats.reading", "experiments.scenario.knobs", "experiments.sweep.command"]
)
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_modules_are_imported(module: str, stop: signal.Signals) -> None:
    """One line and the signal's exit code, wherever in the imports it comes."""
    command = [sys.executable, "-X", "importtime", "-m", "experiments", "list"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.split("|")[-1].strip() == module:
                process.send_signal(stop)
                break
        said = [line for line in process.stderr if not line.startswith("import time:")]
    assert said == [f"priolab: interrupted by {stop.name}; nothing was kept\n"]
    assert process.returncode == 128 + stop
