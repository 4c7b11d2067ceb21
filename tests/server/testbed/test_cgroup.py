"""Tests of a run's cgroup that still exists, or still contains a process, when the run ends."""

import os
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from priolab.testbed.topology import cgroup
from priolab.testbed.topology.cgroup import own_group, removal
from tests.support.echo import serving

pytestmark = pytest.mark.usefixtures("bpf")


def test_a_cgroup_left_behind(tmp_path: Path) -> None:
    """The script that `removal` returns removes the cgroup by its name, and may run twice."""
    name, script = f"priolab-test-left-{os.getpid()}", tmp_path / "afterwards"
    with own_group(name) as path:
        script.write_text(removal(name, tmp_path))
        for _ in range(2):
            subprocess.run(["sh", script], check=True)
            assert not path.exists()


@pytest.mark.parametrize("failure", [None, ZeroDivisionError])
def test_a_cgroup_in_which_something_still_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: type[Exception] | None
) -> None:
    """A process that still runs in the cgroup is the reported failure only if there is no earlier failure."""
    monkeypatch.setattr(cgroup, "_BUSY_S", 0)
    name = f"priolab-test-busy-{os.getpid()}"
    script = tmp_path / "afterwards"
    script.write_text(removal(name, tmp_path))

    def use(servers: ExitStack) -> None:
        with own_group(name) as path:
            servers.enter_context(serving(tmp_path, path))
            if failure:
                raise failure

    try:
        with ExitStack() as servers, pytest.raises(failure or OSError, match=None if failure else "busy"):
            use(servers)
    finally:
        subprocess.run(["sh", script], check=True)
