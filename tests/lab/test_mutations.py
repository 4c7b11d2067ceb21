"""The first mutations of `make mutations`: every command reports the damage, and has no other effect."""

import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.usefixtures("guest")
def test_the_first_of_them() -> None:
    """The first 40 mutations are all reported; they run in a process without threads, because it forks."""
    command = [sys.executable, "-m", "tools.campaigns.mutations", "40", "--print"]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| an experiment |" in done.stdout
