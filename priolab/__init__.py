"""The priority lab, for programs and notebooks: `import priolab`.

    experiment = priolab.run(LOWAT=131072, SERVER="h2o")
    experiment.arms["lowat-131072"].verdict

docs/guide/python.md is the guide. What `__all__` names is public; all else may change. The packages beside this file
are the folders of the checkout, to which links lead.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from priolab.common.errors import InvalidRun, LabError, ScenarioError, StepFailed, Unavailable
    from priolab.common.formats.files import FolderError
    from priolab.lab import Arm, Experiment, Figure, Sweep, SweepArm, load_experiment, load_sweep, run, sweep
    from priolab.sandbox import ClientFailed, Place, Result, Sandbox

__all__ = [
    "Arm",
    "ClientFailed",
    "Experiment",
    "Figure",
    "FolderError",
    "InvalidRun",
    "LabError",
    "Place",
    "Result",
    "Sandbox",
    "ScenarioError",
    "StepFailed",
    "Sweep",
    "SweepArm",
    "Unavailable",
    "load_experiment",
    "load_sweep",
    "run",
    "sweep",
]

_HOMES = {
    "priolab.common.formats.files": {"FolderError"},
    "priolab.sandbox": {"ClientFailed", "Place", "Result", "Sandbox"},
    "priolab.common.errors": {"InvalidRun", "LabError", "ScenarioError", "StepFailed", "Unavailable"},
}
"""For each module what it has of the public names; `priolab.lab` has all others. Each is imported when it is used."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'priolab' has no attribute {name!r}")
    home = next((module for module, names in _HOMES.items() if name in names), "priolab.lab")
    found = globals()[name] = getattr(import_module(home), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
