"""Damages experiments for `priolab reproduce` (tools/campaigns/mutations.py)."""

from collections.abc import Callable, Mapping
from pathlib import Path

from priolab.experiments.execution.experiment import run_experiment
from priolab.experiments.execution.invocation import request_from
from priolab.experiments.execution.progress import Progress
from priolab.extras.reproduction.reproduce import FAST, GROWING, SLOW
from tools.campaigns.damage import Kind


def _reproduction(folder: Path) -> None:
    """Records the three experiments of `priolab reproduce`."""
    for knobs in (FAST, SLOW, GROWING):
        words = {**knobs, "FABRIC": "virtual", "RESULTS": str(folder)}
        made = run_experiment(request_from(words), Progress(step=lambda *_: None, ended=lambda *_: None))
        made.rename(folder / f"given-{len(list(folder.glob('given-*')))}")
    (folder / "latest").unlink()


_COMMAND = ("reproduce", "FABRIC=virtual", "RESULTS=here", "--out", "page")
PROGRAMS: Mapping[str, Callable[[], int]] = {}
KINDS = {"a folder for reproduce": Kind(make=_reproduction, commands=(_COMMAND,), share=3, is_quick=False)}
