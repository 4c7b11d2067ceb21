"""The functions by which an experiment reports its progress."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The functions that `run_experiment` calls to report progress.

    `step(run, text)`: a run entered a step. `ended(run, status, reason)`: a run ended. `reused(folder)`: the results of
    an earlier experiment, in this folder, are used, so no arm is run. `note(text)`: tells why others are not used.
    `begun(run, folder)`: a run begins, perhaps with the start of its guest; its files grow in this folder.
    `carried_out(run)`: the run's process has ended, and its files are evaluated next.
    """

    step: Callable[[str, str], None]
    ended: Callable[[str, str, str | None], None]
    reused: Callable[[Path], None] = lambda _: None
    note: Callable[[str], None] = lambda _: None
    begun: Callable[[str, Path], None] = lambda *_: None
    carried_out: Callable[[str], None] = lambda _: None
