"""`import priolab`: its public names, and what an import of it costs."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import priolab
from priolab.analysis.records.runs import load_experiment
from priolab.common.home import ROOT
from priolab.lab import Experiment
from tests.support.private_modules import private_modules


def test_each_public_name_is_there() -> None:
    """Every name of __all__ can be imported, has a docstring, and stands in dir(); others are no attributes."""
    for name in priolab.__all__:
        assert getattr(priolab, name).__doc__, name
        assert name in dir(priolab)
    unknown = "sweeps"
    with pytest.raises(AttributeError, match="module 'priolab' has no attribute 'sweeps'"):
        getattr(priolab, unknown)


def test_an_import_imports_nothing_else() -> None:
    """An import takes a few milliseconds, because each name is looked up when it is used."""
    asked = "import sys, priolab; print(sorted(name for name in sys.modules if name.startswith('priolab')))"
    done = subprocess.run([sys.executable, "-c", asked], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "['priolab', 'priolab.common', 'priolab.common.lazy_names']\n"


def test_frames_of_polars(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polars gets the columns by name, each with all of its values."""
    made: list[dict[str, Any]] = []
    monkeypatch.setitem(sys.modules, "polars", SimpleNamespace(DataFrame=made.append))
    experiment = Experiment(load_experiment(ROOT / "tests" / "golden" / "format-3"))
    experiment.frame("ledger", "polars")
    rows = experiment.rows("ledger")
    assert made == [{name: [row[name] for row in rows] for name in rows[0]}]


def test_what_is_beside_the_face_is_found(tmp_path: Path) -> None:
    """Modules and attributes that are not public are found in modules and notebooks, with the files that use them."""
    cells = [{"cell_type": "code", "source": ["import priolab\n", "priolab.lab.Experiment"]}]
    (tmp_path / "lesson.ipynb").write_text(json.dumps({"cells": cells}))
    for name, code in {
        "face": "import priolab\nfrom priolab import Run\npriolab.run()",
        "own": "from priolab.extras.own.views import show",
        "deep": "from priolab.analysis.loads import ledger",
        "whole": "import priolab.testbed",
        "room": "from priolab import analysis, Run",
    }.items():
        (tmp_path / f"{name}.py").write_text(code)
    assert private_modules(tmp_path, "priolab.extras.own") == {
        "priolab.analysis": {"room.py"},
        "priolab.analysis.loads": {"deep.py"},
        "priolab.lab": {"lesson.ipynb"},
        "priolab.testbed": {"whole.py"},
    }
