"""A sweep's folder as values, finished or not. Raises FolderError, naming the file, for anything that is none.

A run that is not there, or not good, is no error: it is named (`Trouble`), so that whoever makes something of the sweep
can say what is missing from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis import shape
from analysis.journals import FolderError
from analysis.load import Run, load_document, load_run

SWEEP_FORMATS = (1,)


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """A run that counts for nothing. status: failed, invalid, unsupported, or missing."""

    run: str
    status: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class SweepArm:
    """One scenario of the grid, its knobs in words, and its runs. twin_of: it repeats that arm with other seeds."""

    name: str
    knobs: Mapping[str, str]
    twin_of: str | None
    good: tuple[Run, ...]
    troubles: tuple[Trouble, ...]

    @property
    def asked(self) -> int:
        """How many repetitions there should be."""
        return len(self.good) + len(self.troubles)


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """sweep.json, and the runs beside it."""

    path: Path
    document: Mapping[str, Any]
    arms: tuple[SweepArm, ...]

    @property
    def is_finished(self) -> bool:
        """Whether nothing will be added any more."""
        return (self.path / "experiment.json").exists()


def load_sweep(path: Path) -> Sweep:
    """The sweep in a folder, under its final name or under that of an unfinished one. Raises FolderError."""
    file = path / "sweep.json"
    document = load_document(file, shape.SWEEP, formats=SWEEP_FORMATS)
    knobs = {arm["arm"]: arm["knobs"] for arm in document["arms"]}
    for arm in document["arms"]:
        if arm["twin_of"] is not None and knobs.get(arm["twin_of"]) != arm["knobs"]:
            raise FolderError(
                f"{file}: {arm['arm']} is the twin of {arm['twin_of']}, which is no arm of the same knobs"
            )
    return Sweep(path=path, document=document, arms=tuple(_arm(path, arm, document) for arm in document["arms"]))


def _arm(path: Path, arm: Mapping[str, Any], document: Mapping[str, Any]) -> SweepArm:
    good: list[Run] = []
    troubles: list[Trouble] = []
    for number in range(1, document["repeat"] + 1):
        name = f"{arm['arm']}.{number}"
        if not (path / name).is_dir():
            troubles.append(Trouble(run=name, status="missing", reason=_why_missing(path, name)))
            continue
        run = load_run(path / name)
        if run.arm != arm["arm"]:
            raise FolderError(f"{path / name / 'run.json'}: a run of {run.arm}, not of {arm['arm']}")
        if run.status == "ok":
            good.append(run)
        else:
            troubles.append(Trouble(run=name, status=run.status, reason=str(run.document["reason"])))
    return SweepArm(
        name=arm["arm"],
        knobs=arm["knobs"],
        twin_of=arm["twin_of"],
        good=tuple(good),
        troubles=tuple(troubles),
    )


def _why_missing(path: Path, name: str) -> str:
    return "it has begun and not ended" if (path / f"{name}.partial").exists() else "it has not been run"
