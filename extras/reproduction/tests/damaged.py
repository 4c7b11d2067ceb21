"""Experiments for `priolab reproduce`, to be damaged (tests/support/damaged_input.py)."""

from pathlib import Path

from priolab.experiments.execution.cli_request import request_from
from priolab.experiments.execution.experiment import run_experiment
from priolab.experiments.execution.progress import Progress
from priolab.extras.reproduction.reproduce import FAST, GROWING, SLOW
from tests.support.damaged_input import Kind


def _reproduction(folder: Path) -> None:
    """Records the three experiments of `priolab reproduce`."""
    for knobs in (FAST, SLOW, GROWING):
        words = {**knobs, "FABRIC": "virtual", "RESULTS": str(folder)}
        made = run_experiment(request_from(words), Progress(step=lambda *_: None, ended=lambda *_: None))
        made.rename(folder / f"given-{len(list(folder.glob('given-*')))}")
    (folder / "latest").unlink()


_COMMAND = ("reproduce", "FABRIC=virtual", "RESULTS=here", "--out", "here/page")
KINDS = {"a folder for reproduce": Kind(make=_reproduction, commands=(_COMMAND,), guest=True, slow=True)}
