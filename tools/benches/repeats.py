"""Carries out the default experiment's runs again and again: `python -m tools.benches.repeats [RUNS]`.

All runs have the same seed, so in the guest none may differ from the first of its arm, and none may fail. `make bench`
does 1,000 runs.
"""

import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from priolab.common.formats.files import read_json
from priolab.experiments.execution.cli_request import request_from
from priolab.experiments.execution.experiment import run_experiment
from priolab.experiments.execution.progress import Progress
from priolab.experiments.execution.request import Request
from priolab.experiments.results.journal_lines import JOURNALS, lines
from priolab.experiments.results.run_folder import RunFolder

_RUNS = 1000
_AT_ONCE = 40
"""The runs of an experiment. The folders of more runs would need much disk space."""


def main(runs: int = _RUNS) -> int:
    """Prints the numbers of runs that failed, and of runs that differed; returns 1 if there are any, else 0."""
    found: Counter[str] = Counter()
    first: dict[str, list[object]] = {}
    with tempfile.TemporaryDirectory(prefix="priolab-repeats-") as scratch:
        request = request_from({"FABRIC": "virtual", "LOWAT": "131072", "RESULTS": scratch})
        while sum(found.values()) < runs:
            for arm, folder in _repeated(request, min(_AT_ONCE, runs - sum(found.values()))):
                found[_judged(arm, folder, first)] += 1
            print(f"\r{sum(found.values())} of {runs} runs", end="", flush=True)
    print(
        f"\n{found.total():,} runs with the same seed: {found['failed']} failed, "
        f"{found['different']} differed from the first run of their arm"
    )
    return 1 if found["failed"] or found["different"] else 0


def _repeated(request: Request, runs: int) -> Iterator[tuple[str, RunFolder]]:
    """Carries out so many runs, taking turns among the arms. Yields the arm and the folder of each."""
    arms = [(arm, replace(arm, name=f"{arm.name}-{number}")) for number in range(runs) for arm in request.arms][:runs]
    silent = Progress(step=lambda *_: None, ended=lambda *_: None)
    folder = run_experiment(replace(request, arms=tuple(again for _, again in arms)), silent)
    for arm, again in arms:
        yield arm.name, RunFolder(folder / f"{again.name}.1")
    shutil.rmtree(folder)


def _judged(arm: str, folder: RunFolder, first: dict[str, list[object]]) -> str:
    """Returns "failed", or "same" or "different" by comparison with the first run of the arm.

    first: the events of the first run by arm; the function adds those of an arm's first run.
    """
    if read_json(folder.path / "run.json")["status"] != "ok":
        return "failed"
    events = [list(lines(folder.path / journal)) for journal in JOURNALS]
    return "same" if first.setdefault(arm, list(events)) == events else "different"


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
