"""LOWAT=auto, and a sweep's recommended value, on a few networks in the guest."""

from pathlib import Path
from typing import Any

import pytest

from priolab.analysis.records.runs import load_experiment, load_run
from priolab.analysis.reports import following
from priolab.analysis.sweeps.folder import load_sweep
from priolab.analysis.sweeps.summary import summarize
from priolab.analysis.sweeps.validation import check
from priolab.experiments.scenario.knobs import KNOBS
from tests.support.lab import Done, Lab
from tests.support.shared_runs import Runs
from tests.support.variations import STEPS_TARGET, finely_sampled

pytestmark = pytest.mark.usefixtures("guest")

_NETWORKS = ("RATE=1mbit,10mbit", "DELAY=50ms", "RELOADS=1", "SIZE=400000")
_SWEEP = ("FABRIC=virtual", "LOWAT=none,16384,131072,auto", *_NETWORKS, "REPEAT=2", "SAMPLE=none")


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


def test_auto_follows_the_rate_and_a_fixed_value_does_not(run: Runs) -> None:
    """LOWAT=auto follows both rate steps; the fixed value that suits the slower rate does not suit the faster one."""
    target_ns = KNOBS["TARGET_DELAY"].parse(STEPS_TARGET)
    done = finely_sampled(run)
    assert [step.is_followed for step in _steps(done, "steps-auto", target_ns)] == [True, True]
    assert [step.is_followed for step in _steps(done, "steps-fixed", target_ns)] == [True, False]


def _steps(done: Done, arm: str, target_ns: int) -> list[following.Step]:
    assert done.folder is not None, done.err
    return following.steps(following.follow(load_run(done.folder / f"{arm}.1"), target_ns))
