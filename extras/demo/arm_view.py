"""The document about a run for the page: the arm as in `priolab show --json`, and the film of the measured load."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from priolab.analysis.loads.ledger import sentence
from priolab.analysis.loads.requested_order import AskedOrder
from priolab.analysis.records.runs import Run, load_experiment
from priolab.analysis.reports.film import NoFilm, film_of
from priolab.analysis.reports.summary import summarize
from priolab.common.formats.page import called
from priolab.common.formats.reading import FolderError

_KEPT = 64
"""The most documents in memory; each document has a few hundred KB."""


@dataclass(frozen=True, kw_only=True)
class FinishedArm:
    """An arm of a finished experiment. folder: the experiment's folder. arm: the arm's name in the experiment."""

    folder: Path
    arm: str


def _names(run: Run) -> dict[str, Any]:
    """Returns the names of important and other resources, and which of the two groups the client asks for first."""
    page = run.scenario.whole_page
    names = {
        stream: called(resources, f"{len(resources)} {stream}")
        for stream, resources in (("important", page.important), ("others", page.others))
    }
    favoured = None
    if run.status == "ok":
        evidence, measured = run.evidence(), run.record.measured
        order = AskedOrder.of(evidence.events, measured.load, evidence.groups)
        first = order.favoured(measured.focal, (each.name for each in page.others))
        favoured = ("important" if page[first[0]].important else "others") if first else None
    return {"names": names, "favoured": favoured}


@lru_cache(_KEPT)
def document(shown: FinishedArm) -> dict[str, Any]:
    """Returns the document for the page. The folder is read once, because finished folders stay as they are.

    Raises FolderError.
    """
    experiment = load_experiment(shown.folder)
    summary = summarize(experiment)
    arm = next((arm for arm in summary["arms"] if arm["name"] == shown.arm), None)
    run = next((run for run in experiment.runs if run.arm == shown.arm), None)
    if arm is None or run is None:
        raise FolderError(f"{shown.folder}: no arm {shown.arm}")
    film, reason = None, None
    try:
        if run.status == "ok":
            film = film_of(run).as_document()
        else:
            reason = f"the run is {run.status}: {run.record.reason}"
    except NoFilm as error:
        reason = str(error)
    return {
        "experiment": summary["experiment"],
        "fabric": summary["fabric"],
        "run": run.record.run,
        "knobs": dict(run.record.knobs),
        **_names(run),
        "arm": arm,
        "wait": f"T{sentence(run.record.ledger).removeprefix('t')}." if run.record.ledger else None,
        "film": film,
        "film_reason": reason,
    }
