"""The tuner's bed on real clocks, for a short time."""

from pathlib import Path
from statistics import quantiles

import pytest

from priolab.common.formats.decisions import Decision
from priolab.common.formats.reading import read_journal
from priolab.extras.tuner.bed import ARMS, CROWD, measure


@pytest.mark.punctual
@pytest.mark.needs("cgroup", "root")
@pytest.mark.usefixtures("netns", "bpf")
@pytest.mark.parametrize("arm", ARMS)
def test_the_target_is_kept(tmp_path: Path, arm: str) -> None:
    """99 % of the expected waits are below twice the target, and decisions about all clients are recorded."""
    samples = measure(ARMS[arm], tmp_path, 10.0)
    assert quantiles([one.expected_s for one in samples], n=100)[-1] < 2 * ARMS[arm].target_us / 10**6
    decisions = read_journal(tmp_path / "decisions.jsonl", Decision)
    assert len({decision.peer_port for decision in decisions}) == CROWD.count
