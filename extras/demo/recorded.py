"""The arms that the page shows before this machine has run them: recorded before, and shipped with the demo.

They are the arms of the story's step about LOWAT, with which the page begins. `make recorded` records them anew; it is
needed when the documents for the page have other fields (arm_view.py).
"""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

from priolab.experiments.commands.console import Report
from priolab.experiments.execution.request import Manner
from priolab.experiments.results.run_folder import write_document
from priolab.experiments.scenario.knobs import with_defaults
from priolab.extras.demo.arm_view import document
from priolab.extras.demo.story import StoryStep, steps
from priolab.extras.demo.story_arms import arm_of_knobs, run_missing

FILE = Path(__file__).with_name("recorded.json.gz")


def recorded_step() -> StoryStep:
    """Returns the step whose arms are shipped: no limit, and the default limit, on the default link."""
    return next(step for step in steps() if step.compare == "LOWAT" and not step.knobs)


@cache
def recorded() -> list[dict[str, Any]]:
    """Returns the documents of the shipped arms, each as arm_view.py made it."""
    arms: list[dict[str, Any]] = json.loads(gzip.decompress(FILE.read_bytes()))
    return [{**arm, "knobs": with_defaults(arm["knobs"])} for arm in arms]  # some knobs may have come later


def record(manner: Manner, results: Path, report: Report) -> None:
    """Runs the arms, and writes their documents. Raises LabError."""
    arms = [arm_of_knobs(knobs) for knobs in recorded_step().arms]
    found = run_missing(arms, manner, results, report)
    documents = [document(found[arm.name]) for arm in arms]
    content = gzip.compress(json.dumps(documents, separators=(",", ":")).encode(), mtime=0)
    write_document(FILE, content, "recording the story's step")
