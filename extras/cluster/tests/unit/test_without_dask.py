"""A cluster without Dask."""

import argparse
import sys
from pathlib import Path

import pytest

from priolab.common.errors import Unavailable
from priolab.experiments.commands.console import Report
from priolab.experiments.sweep import command
from tests.support.sweeping import CopyingFabric


def test_a_cluster_without_dask(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The error names the missing package and the command that installs it, before anything starts."""
    for module in ("cluster", "worker_pool"):
        monkeypatch.delitem(sys.modules, f"priolab.extras.cluster.{module}", raising=False)
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.setattr("priolab.experiments.sweep.sweep.choose", lambda *_: (CopyingFabric(), "for a test"))
    words = ["LOWAT=none,4096", "SIZE=20480", "RELOADS=0", f"RESULTS={tmp_path}"]
    options = argparse.Namespace(words=words, yes=False, scheduler="tcp://127.0.0.1:8786", from_make=False, kept=None)
    options.print_folder = False
    with pytest.raises(
        Unavailable, match=r"distributed is not installed; run `/.*/bin/python -m pip install "
    ) as caught:
        command.sweep(options, Report())
    assert f"`{sys.prefix}/bin/python -m pip install " in str(caught.value)
    assert str(caught.value).endswith(" 'distributed>=2026.8'`")
    assert list(tmp_path.iterdir()) == []
