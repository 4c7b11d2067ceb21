"""Compares what `SAMPLE=auto` and `SAMPLE=10ms` show of the same runs, on six scenarios; a part of `make scaling`.

The ledger needs samples to divide the script's wait among the layers. The part of the wait that the samples cannot
explain is an entry of its own. The film's animation moves at each sample that differs from the previous sample.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from priolab.analysis.records.runs import load_experiment
from priolab.analysis.reports.film import film_of
from priolab.common.errors import StepFailed
from priolab.experiments.execution.cli_request import request_from
from priolab.experiments.execution.experiment import run_experiment
from priolab.experiments.execution.progress import Progress

SCENARIOS = ("maps", "modem", "bbr", "h2o", "news", "tokens")
_WAYS = ("10ms", "auto")


@dataclass(frozen=True, kw_only=True)
class Shown:
    """The result of a run's samples.

    unexplained: the fraction of the ledger's wait that no layer explains. moves: the number of samples in the film.
    largest_bytes: the most bytes that the front's kernel sent from a sample of the film to the next.
    """

    unexplained: float
    moves: int
    largest_bytes: int


def table(scratch: Path) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Returns the heads of the columns and the rows of the comparison. scratch: a folder for results."""
    heads = ("unexplained part of the wait", "samples in the film", "most bytes sent between two samples")
    rows = []
    for name, shown in compared(scratch):
        columns = (
            [f"{each.unexplained:.2%}" for each in shown],
            [f"{each.moves:,}" for each in shown],
            [f"{each.largest_bytes:,}" for each in shown],
        )
        rows.append((name, ["; ".join(dict.fromkeys(column)) for column in columns]))
    return [f"{head}: {'; '.join(_WAYS)}" for head in heads], rows


def compared(scratch: Path) -> Iterator[tuple[str, list[Shown]]]:
    """Yields (scenario and arm, what the samples show for each value of SAMPLE). scratch: a folder for results."""
    silent = Progress(step=lambda *_: None, ended=lambda *_: None)
    for scenario in SCENARIOS:
        words = {"SCENARIO": scenario, "FABRIC": "virtual", "RESULTS": str(scratch / "sampling")}
        of_ways = [_shown(run_experiment(request_from(words | {"SAMPLE": way}), silent)) for way in _WAYS]
        for arm in of_ways[0]:
            yield f"{scenario}, {arm}", [found[arm] for found in of_ways]


def _shown(folder: Path) -> dict[str, Shown]:
    shown = {}
    for run in load_experiment(folder).runs:
        ledger, looks = run.record.ledger, film_of(run).looks
        if ledger is None:
            raise StepFailed(run.path.name, "the run has no ledger")
        shown[run.arm] = Shown(
            unexplained=1 - ledger.explained,
            moves=len(looks.t_ms),
            largest_bytes=max(later - earlier for earlier, later in pairwise(looks.sent)),
        )
    return shown
