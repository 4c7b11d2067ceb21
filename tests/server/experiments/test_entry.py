"""Tests of the command line while it starts."""

import signal
import subprocess
import sys

import pytest

from priolab.common.home import ROOT, in_checkout
from priolab.experiments.cli import main


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


def test_ctrl_c_before_the_lab_begins() -> None:
    """Ctrl-C while Python still looks for the lab's packages causes one line, too."""
    if not in_checkout():
        pytest.skip("the lab is not in the .venv of a clone")
    command = [sys.executable, "-X", "importtime", str(ROOT / ".venv/bin/priolab"), "list"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.split("|")[-1].strip() == "importlib.util":
                process.send_signal(signal.SIGINT)
                break
        said = [line for line in process.stderr if not line.startswith("import time:")]
    assert said == ["priolab: interrupted by SIGINT; nothing was kept\n"]
    assert process.returncode == 130


def test_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a command, the help says what the lab is, what comes first, and which commands there are."""
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "explains why HTTP/2 prioritization fails" in said
    assert "`priolab setup` prepares this machine" in said
    assert "run run an experiment" in said
