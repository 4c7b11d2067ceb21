"""The record of an experiment: experiment.json."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from priolab.common.formats import RUN_FORMAT


@dataclass(frozen=True, kw_only=True)
class ExperimentRecord:
    """An experiment or a finished sweep. experiment: the name of its folder. runs: the names of the run folders.

    started_at: date and time. fingerprint: everything that decides the results.
    Raises ValueError if there are no runs, or if a run's name is a path.
    """

    format: int = RUN_FORMAT
    experiment: str
    name: str
    fabric: str
    started_at: str
    git_revision: str | None
    fingerprint: Mapping[str, Any]
    runs: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.runs:
            raise ValueError("runs: the list is empty")
        for name in self.runs:
            if Path(name).name != name:
                raise ValueError(f"runs: {name!r} is not the name of a folder")
