"""The record of an experiment: experiment.json."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.formats import RUN_FORMAT


@dataclass(frozen=True, kw_only=True)
class ExperimentRecord:
    """An experiment, a finished sweep included. experiment: the folder's name. runs: names of the folders in it.

    started_at: date and time. fingerprint: everything that decides the results.
    Raises ValueError for runs elsewhere, and for none.
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
            raise ValueError("runs: there is none")
        for name in self.runs:
            if Path(name).name != name:
                raise ValueError(f"runs: {name!r} is no name of a folder in it")
