"""Tests of the lab without the library that draws figures, which is an extra."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from priolab.experiments.setup.python_packages import installing

_WITHOUT = "import sys; sys.modules['vl_convert'] = None; from priolab.experiments.cli import main; sys.exit(main())"
_GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "format-3"


def _priolab(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", _WITHOUT, *words], capture_output=True, text=True, check=False)


@pytest.mark.usefixtures("guest")
def test_an_experiment(tmp_path: Path) -> None:
    """The table is printed, the exit code is 0, and a note says how figures are drawn."""
    done = _priolab("run", "LOWAT=16384", "CONTROL=no", "RELOADS=0", "SIZE=20480", f"RESULTS={tmp_path}")
    assert done.returncode == 0, done.stderr
    assert "note: no figure is drawn: vl-convert-python is not installed;" in done.stdout
    assert f"run {installing('figures')}" in done.stdout
    assert "picture:" not in done.stdout
    assert not list(tmp_path.rglob("timeline.*"))


def test_figures_alone() -> None:
    """A command that only draws fails with the same line; results are shown."""
    done = _priolab("figures", str(_GOLDEN))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("priolab: no figure is drawn: vl-convert-python is not installed;")
    assert done.stderr.count("\n") == 1
    assert _priolab("show", str(_GOLDEN)).returncode == 0


def test_the_knee(tmp_path: Path) -> None:
    """`priolab knee` shows its tables, and the note."""
    shutil.copytree(_GOLDEN.parent.parent / "golden-sweep", tmp_path / "sweep")
    done = _priolab("knee", str(tmp_path / "sweep"))
    assert "note: no figure is drawn" in done.stdout, done.stderr
