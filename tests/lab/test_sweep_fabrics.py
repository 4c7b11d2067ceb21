"""Tests that one sweep file runs in every fabric, and that the fabrics measure about the same goodput."""

from pathlib import Path

import pytest

from priolab.analysis.sweeps.folder import load_sweep
from priolab.analysis.sweeps.measures import Measure
from priolab.analysis.sweeps.networks import networks
from tests.support.lab import Lab
from tests.support.punctuality import must_be_punctual, was_late

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
    "fabric",
    [
        pytest.param("virtual", marks=pytest.mark.needs("fabric-virtual")),
        pytest.param("netns", marks=[pytest.mark.needs("fabric-netns"), pytest.mark.punctual]),
        pytest.param("compose", marks=[pytest.mark.needs("fabric-compose"), pytest.mark.punctual, pytest.mark.release]),
    ],
)
def test_a_sweep_runs_in_every_fabric(lab: Lab, tmp_path: Path, fabric: str) -> None:
    """The sweep has an arm and its twin, and their goodput is the same in every fabric.

    The image and the script have 600 kB and take 2.5 s at this rate, so goodput is most of the rate.
    """
    file = tmp_path / "small.toml"
    file.write_text(_GRID)
    # If the busy machine delayed a run's processes too long, the same command repeats this run.
    done = must_be_punctual(
        lambda: lab.command_here("sweep", str(file), f"FABRIC={fabric}"),
        lambda done: was_late(done.stdout + done.stderr),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    sweep = load_sweep((lab.results / "latest").resolve())
    assert sweep.record.fabric == fabric
    (network,) = networks(sweep)
    assert network.pair is not None
    goodputs = [half.estimate(Measure.GOODPUT).median for half in network.pair]
    assert goodputs == pytest.approx([1.9e6, 1.9e6], rel=_ALIKE)
