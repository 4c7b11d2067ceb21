"""LOWAT=auto, and a sweep's recommended value, on a few networks in the guest."""

from pathlib import Path
from typing import Any

import pytest

from analysis.records.runs import load_experiment
from analysis.reports import following
from analysis.sweeps.folder import load_sweep
from analysis.sweeps.promise import check
from analysis.sweeps.summary import summarize
from experiments.scenario.knobs import KNOBS
from tests.conftest import Lab
from tests.lab.conftest import Runs

pytestmark = pytest.mark.usefixtures("guest", "bpf_compiler")

_NETWORKS = ("RATE=1mbit,10mbit", "DELAY=50ms", "RELOADS=1")
_SWEEP = ("FABRIC=virtual", "LOWAT=none,16384,131072,auto", *_NETWORKS, "REPEAT=2", "SAMPLE=none")

# The rate is a tenth for 3.5 s. LOWAT=53248 is right for the slower rate.
_STEPS = ("RATE=20mbit", "RATE_STEPS=2mbit@1s+20mbit@4500ms", "DELAY=50ms", "QUEUE=1000", "SIZE=3M", "RELOADS=0")
_TARGET = "500ms"


def _sweep(lab: Lab) -> Path:
    """Runs the sweep, or reuses it; returns the folder that the command prints."""
    done = lab.command_here("sweep", *_SWEEP, "REUSE=yes", "--print-folder")
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


@pytest.fixture(scope="module")
def swept(run: Runs) -> dict[str, Any]:
    """Returns the summary of a sweep of two networks. A second call of the command reuses the sweep."""
    folder = _sweep(run.lab)
    assert _sweep(run.lab) == folder
    return summarize(load_sweep(folder))


def test_auto_is_near_the_best_fixed_value(swept: dict[str, Any]) -> None:
    """On both networks LOWAT=auto is near the best fixed value, and keeps the goodput of LOWAT unset."""
    judged = [network["auto"][0] for network in swept["networks"]]
    assert [(each["near"], each["keeps_goodput"]) for each in judged] == [(True, True)] * 2
    assert swept["auto"]["judged"] == 2


def test_what_is_recommended_keeps_its_promise(swept: dict[str, Any], run: Runs) -> None:
    """With another seed the recommended value gives first byte and goodput within the sweep's interval."""
    network = swept["networks"][0]
    assert network["knee"]["recommended"] == "16384"
    done = run(*network["knee"]["put_back"], "CONTROL=no", "SEED=50", "SAMPLE=none")
    assert done.folder is not None, done.err
    kept = check(network, load_experiment(done.folder).runs)
    assert all(each.holds for each in kept), [each.words for each in kept]


@pytest.mark.parametrize("tuner", ["bpf", "userland"])
def test_auto_follows_the_rate_and_a_fixed_value_does_not(run: Runs, tuner: str) -> None:
    """LOWAT=auto follows both rate steps; the fixed value that suits the slower rate does not suit the faster one."""
    done = run(*_STEPS, f"TARGET_DELAY={_TARGET}", "LOWAT=53248,auto", f"TUNER={tuner}", "CONTROL=no")
    assert done.folder is not None, done.err
    target_ns = KNOBS["TARGET_DELAY"].parse(_TARGET)
    found = {each.arm: following.steps(following.follow(each, target_ns)) for each in load_experiment(done.folder).runs}
    assert [step.is_followed for step in found["lowat-auto"]] == [True, True]
    assert [step.is_followed for step in found["lowat-53248"]] == [True, False]
