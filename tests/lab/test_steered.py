"""The promises for LOWAT=auto, and for a sweep's recommended value, on a few networks in the guest."""

import subprocess
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

# Ten times slower for three and a half seconds; what 54 kB is right for is the slower rate.
_STEPS = ("RATE=20mbit", "RATE_STEPS=2mbit@1s+20mbit@4500ms", "DELAY=50ms", "QUEUE=1000", "SIZE=3M", "RELOADS=0")
_TARGET = "500ms"


def _sweep(lab: Lab) -> Path:
    """The folder, by the command's own word."""
    command = lab.sweep_command(*_SWEEP, "REUSE=yes", "--print-folder")
    done = subprocess.run(command, env=lab.environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


@pytest.fixture(scope="module")
def swept(run: Runs) -> dict[str, Any]:
    """The summary of a sweep of two networks; asked for again, it is taken and not made."""
    folder = _sweep(run.lab)
    assert _sweep(run.lab) == folder
    return summarize(load_sweep(folder))


def test_auto_is_near_the_best_fixed_value(swept: dict[str, Any]) -> None:
    """Within 15 % or a record of the best fixed one, and within 1 % of the goodput of unset, on both networks."""
    judged = [network["auto"][0] for network in swept["networks"]]
    assert [(each["near"], each["keeps_goodput"]) for each in judged] == [(True, True)] * 2
    assert swept["auto"]["judged"] == 2


def test_what_is_recommended_keeps_its_promise(swept: dict[str, Any], run: Runs) -> None:
    """Put back, with a seed that the sweep had not, it brings first byte and goodput within the interval."""
    network = swept["networks"][0]
    assert network["knee"]["recommended"] == "16384"
    done = run(*network["knee"]["put_back"], "CONTROL=no", "SEED=50")
    assert done.folder is not None, done.err
    kept = check(network, load_experiment(done.folder).runs)
    assert all(each.holds for each in kept), [each.words for each in kept]


@pytest.mark.parametrize("tuner", ["bpf", "userland"])
def test_auto_follows_the_rate_and_a_fixed_value_does_not(run: Runs, tuner: str) -> None:
    """Both steps within two round trips; the value that is right for the slower rate never is for the faster."""
    done = run(*_STEPS, f"TARGET_DELAY={_TARGET}", "LOWAT=53248,auto", f"TUNER={tuner}", "CONTROL=no")
    assert done.folder is not None, done.err
    target_ns = KNOBS["TARGET_DELAY"].parse(_TARGET)
    found = {each.arm: following.steps(following.follow(each, target_ns)) for each in load_experiment(done.folder).runs}
    assert [step.is_followed for step in found["lowat-auto"]] == [True, True]
    assert [step.is_followed for step in found["lowat-53248"]] == [True, False]
