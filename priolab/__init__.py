"""The priority lab, for programs and notebooks: `import priolab`.

    experiment = priolab.run(LOWAT=131072, SERVER="h2o")
    experiment.arms["lowat-131072"].verdict

docs/guide/python.md is the guide. What `__all__` names is public; all else may change. The packages beside this file
are the folders of the checkout, to which links lead.
"""

from typing import TYPE_CHECKING

from priolab.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from priolab.analysis.loads.layer import Layer
    from priolab.analysis.loads.ledger import Ledger
    from priolab.analysis.loads.ledger_builder import NoLedger
    from priolab.analysis.loads.metrics import PageLoad, ResourceTimes
    from priolab.analysis.loads.verdict import Judgement
    from priolab.analysis.sweeps.measures import Measure
    from priolab.common.errors import InvalidRun, LabError, ScenarioError, StepFailed, Unavailable
    from priolab.common.formats.events import Arrival, Event
    from priolab.common.formats.files import FolderError
    from priolab.common.formats.run import Verdict
    from priolab.common.formats.samples import QueueSample, SocketSample
    from priolab.lab import Arm, Experiment, Figure, Sweep, SweepArm, load_experiment, load_sweep, run, sweep
    from priolab.runs import Run
    from priolab.testbed import ClientFailed, Host, Result, Sandbox, keep_guests

__all__ = [
    "Arm",
    "Arrival",
    "ClientFailed",
    "Event",
    "Experiment",
    "Figure",
    "FolderError",
    "Host",
    "InvalidRun",
    "Judgement",
    "LabError",
    "Layer",
    "Ledger",
    "Measure",
    "NoLedger",
    "PageLoad",
    "QueueSample",
    "ResourceTimes",
    "Result",
    "Run",
    "Sandbox",
    "ScenarioError",
    "SocketSample",
    "StepFailed",
    "Sweep",
    "SweepArm",
    "Unavailable",
    "Verdict",
    "keep_guests",
    "load_experiment",
    "load_sweep",
    "run",
    "sweep",
]

if not TYPE_CHECKING:  # type checkers would take any name for one that is there
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "priolab.analysis.loads.layer": ["Layer"],
            "priolab.analysis.loads.ledger": ["Ledger"],
            "priolab.analysis.loads.ledger_builder": ["NoLedger"],
            "priolab.analysis.loads.metrics": ["PageLoad", "ResourceTimes"],
            "priolab.analysis.loads.verdict": ["Judgement"],
            "priolab.analysis.sweeps.measures": ["Measure"],
            "priolab.common.errors": ["InvalidRun", "LabError", "ScenarioError", "StepFailed", "Unavailable"],
            "priolab.common.formats.events": ["Arrival", "Event"],
            "priolab.common.formats.files": ["FolderError"],
            "priolab.common.formats.run": ["Verdict"],
            "priolab.common.formats.samples": ["QueueSample", "SocketSample"],
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
            "priolab.runs": ["Run"],
            "priolab.testbed": ["ClientFailed", "Host", "Result", "Sandbox", "keep_guests"],
        },
    )
