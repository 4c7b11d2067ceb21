"""Tasks of a guest, which it reads from the folder of a run."""

from pathlib import Path

import pytest

from priolab.experiments.run.guest_task import read_task


def test_of_a_run_that_is_gone(tmp_path: Path) -> None:
    """Another guest may have carried out a run, and its folder has another name then."""
    with pytest.raises(FileNotFoundError):
        read_task(tmp_path / "gone")
