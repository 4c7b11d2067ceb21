"""A sweep on a cluster of two workers on loopback, in the guest."""

import json
import subprocess
from pathlib import Path

import pytest

from priolab.experiments.results.journal_lines import JOURNALS, lines
from priolab.extras.cluster.tests.server.cluster import Dask
from tests.support.endings import nothing_is_left
from tests.support.lab import Lab

pytestmark = pytest.mark.usefixtures("guest")

_WORDS = ("FABRIC=virtual", "SAMPLE=100ms", "LOWAT=none,16384", "SIZE=20480", "RELOADS=0", "JS_DELAY=200ms")


def test_a_sweep_on_a_cluster(lab: Lab, tmp_path: Path) -> None:
    """Every run is ok and has the journals of a run on one machine; head and workers leave nothing."""
    own = {"TMPDIR": str(lab.temporary)}
    with Dask(tmp_path / "dask") as dask:
        dask.start_workers(own, own)
        command = [*lab.sweep_command(*_WORDS), "--scheduler", dask.address]
        done = subprocess.run(command, env=lab.environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "runs side by side: 2" in done.stdout
    assert "3 of 3 arms, 3 of 3 runs" in done.stdout
    nothing_is_left(lab)
    folder = (lab.results / "latest").resolve()
    runs = json.loads((folder / "experiment.json").read_text())["runs"]
    documents = [json.loads((folder / name / "run.json").read_text()) for name in runs]
    assert [document["status"] for document in documents] == ["ok"] * 3
    assert (folder / runs[0] / "asked" / "front.key").stat().st_mode & 0o077 == 0
    alone = lab.run_here(*_WORDS[:2], "LOWAT=16384", "CONTROL=no", *_WORDS[3:])
    assert alone.folder is not None
    for journal in JOURNALS:
        here, there = (list(lines(each / "lowat-16384.1" / journal)) for each in (alone.folder, folder))
        assert here == there, journal
