"""One file, every fabric: a sweep of it comes to the same in a guest, in namespaces and in containers."""

import subprocess
from pathlib import Path

import pytest

from analysis.sweeps.folder import load_sweep
from analysis.sweeps.measures import Measure
from analysis.sweeps.networks import networks
from tests.conftest import Lab
from tests.punctuality import until_punctual, was_late

_GRID = """
[grid]
LOWAT = ["none", 16384]
RATE = ["2mbit"]
DELAY = ["20ms"]
SIZE = [300000]
RELOADS = [0]

[run]
SAMPLE = "none"
"""
_ALIKE = 0.1


@pytest.mark.parametrize(
    ("fabric", "needed"),
    [
        ("virtual", "guest"),
        pytest.param("netns", "netns", marks=pytest.mark.punctual),
        pytest.param("compose", "compose", marks=pytest.mark.punctual),
    ],
)
def test_a_sweep_runs_in_every_fabric(
    lab: Lab, tmp_path: Path, request: pytest.FixtureRequest, fabric: str, needed: str
) -> None:
    """The same arms, each with its twin; what is measured is what the link makes of it, and so the same everywhere.

    The image and the script are 600 kB and take 2.5 s at that rate, and goodput is most of the rate.
    """
    request.getfixturevalue(needed)
    file = tmp_path / "small.toml"
    file.write_text(_GRID)
    command = lab.sweep_command(str(file), f"FABRIC={fabric}")

    def go() -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, env=lab.environment, capture_output=True, text=True, timeout=240, check=False)

    # Where the machine was late for a run, the same command makes that one again.
    done = until_punctual(go, lambda done: was_late(done.stdout + done.stderr))
    assert done.returncode == 0, done.stdout + done.stderr
    sweep = load_sweep((lab.results / "latest").resolve())
    assert sweep.record.fabric == fabric
    (network,) = networks(sweep)
    assert network.pair is not None
    goodputs = [half.estimate(Measure.GOODPUT).median for half in network.pair]
    assert goodputs == pytest.approx([1.9e6, 1.9e6], rel=_ALIKE)
