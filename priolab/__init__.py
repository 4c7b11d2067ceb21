"""The priority lab, for programs and notebooks: `import priolab`.

    experiment = priolab.run(LOWAT=131072, SERVER="h2o")
    experiment.arms["lowat-131072"].verdict

docs/guide/python.md is the guide. What `__all__` names is public; all else may change. The packages beside this file
are the folders of the checkout, to which links lead.
"""

from typing import TYPE_CHECKING

from priolab.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from priolab.common.errors import InvalidRun, LabError, ScenarioError, StepFailed, Unavailable
    from priolab.common.formats.files import FolderError
    from priolab.lab import Arm, Experiment, Figure, Sweep, SweepArm, load_experiment, load_sweep, run, sweep
    from priolab.testbed import ClientFailed, Host, Result, Sandbox

__all__ = [
    "Arm",
    "ClientFailed",
    "Experiment",
    "Figure",
    "FolderError",
    "Host",
    "InvalidRun",
    "LabError",
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

if not TYPE_CHECKING:  # type checkers would take any name for one that is there
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "priolab.common.errors": ["InvalidRun", "LabError", "ScenarioError", "StepFailed", "Unavailable"],
            "priolab.common.formats.files": ["FolderError"],
            "priolab.lab": [
                "Arm",
                "Experiment",
                "Figure",
                "Sweep",
                "SweepArm",
                "load_experiment",
                "load_sweep",
                "run",
                "sweep",
            ],
            "priolab.testbed": ["ClientFailed", "Host", "Result", "Sandbox"],
        },
    )
