"""A page load from a server under test, with its verdict, ledger and frames: what the pytest plugin gives tests."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import priolab
from priolab.analysis.records.runs import load_experiment
from priolab.common.errors import StepFailed
from priolab.common.formats.run import RunRecord
from priolab.experiments.commands.trial import Trial
from priolab.extras.gate.runs import seen_in

_STEP = "loading"


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A page load that was measured.

    verdict: kept, inverted, nothing-to-prioritize or undecided. reason: why, in words. ledger: where the first byte of
    the focal resource waited, in words; None without a ledger. frames: requests and DATA of the last load, in words.
    record: the content of the run's run.json. folder: the run's folder.
    """

    verdict: str
    reason: str
    ledger: str | None
    frames: tuple[str, ...]
    record: RunRecord
    folder: Path

    def __str__(self) -> str:
        """The verdict, the ledger and the frames, for the message of an assertion."""
        lines = [f"{self.verdict}: {self.reason}", f"ledger: {self.ledger or 'none'}", *self.frames]
        return "\n".join([*lines, f"all frames: {self.folder}/client/events.jsonl"])

    @property
    def kept(self) -> bool:
        """True if the bytes came in the order that the client asked for."""
        return self.verdict == "kept"


def loaded(
    server: Mapping[str, str], link: Mapping[str, str], results: Path, trial: Trial, more: Mapping[str, str]
) -> Loaded:
    """Loads a page from a server, in the guest unless a knob says otherwise. Raises LabError, FolderError.

    server, link, more: knobs. results: the folder for the results.
    """
    knobs = {"FABRIC": "virtual", "SAMPLE": "10ms", **trial.knobs, **link, **server, **more, "CONTROL": "no"}
    experiment = priolab.run(progress=lambda _: None, **{**knobs, "RESULTS": str(results)})
    (run,) = load_experiment(experiment.path).runs
    if run.status != "ok":
        ended = "failed" if run.status == "failed" else f"is {run.status}"
        raise StepFailed(_STEP, f"the run {ended}: {run.record.reason} ({run.path})")
    seen = seen_in(run, trial, str(run.path))
    return Loaded(
        verdict=str(run.record.verdict),
        reason=str(run.record.verdict_reason),
        ledger=seen.ledger,
        frames=tuple(seen.frames(trial.loads)),
        record=run.record,
        folder=run.path,
    )
