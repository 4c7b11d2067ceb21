"""The tuner with many connections on real clocks, made small."""

from dataclasses import replace
from pathlib import Path

import pytest

from priolab.common.home import ROOT
from priolab.experiments.commands.console import Report
from priolab.extras.tuner import crowd_program, program
from priolab.extras.tuner.scale import CROWD
from priolab.extras.tuner.scale_trials import TUNER, UNSET, Programs, measure


@pytest.mark.punctual
@pytest.mark.needs("go", "nginx", "cgroup", "root")
@pytest.mark.usefixtures("netns")
def test_a_small_crowd(tmp_path: Path) -> None:
    """The tuner tunes every connection, and its clients get the urgent file sooner than with LOWAT unset."""
    client = ROOT / "build" / "crowd"
    if not client.exists():
        assert crowd_program.main() == 0
    programs = Programs(crowd=client, tuner=program.built())
    groups = [replace(group, count=20 if group.name == "slow" else 2) for group in CROWD]
    found = measure(groups, 100.0, [UNSET, TUNER], programs, tmp_path, Report(aside=True))
    (unset,), (tuned,) = found[UNSET], found[TUNER]
    assert tuned.tuner is not None
    assert tuned.tuner.tuned == len(tuned.pages) == 24
    assert tuned.tuner.decisions >= 24
    assert tuned.first_byte_s("slow") < unset.first_byte_s("slow")
    assert tuned.cpu_s > 0
