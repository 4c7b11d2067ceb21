"""Helpers of the notebooks: functions that make or reuse runs, and functions that show tables and figures.

The arguments of `run` and `sweep` are the words of a `priolab` command. If the folder `results` has a finished
experiment with the same arms, programs, kernel and code, this experiment is returned and nothing is run. The folder is
in the checkout or, for an installed lab, in the current folder. The environment variable PRIOLAB_RESULTS names another
folder.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from IPython.display import SVG, Markdown, display

from analysis.figures import picture
from analysis.figures.sheet import Declaration
from analysis.records.runs import Experiment, Run, load_experiment
from analysis.reports.summary import typical
from analysis.sweeps.folder import Sweep, load_sweep

_HERE = Path(__file__).resolve().parents[2]
_ROOT = _HERE if (_HERE / "Makefile").is_file() else Path.cwd()
_RESULTS = Path(os.environ.get("PRIOLAB_RESULTS") or _ROOT / "results")
_TOLD = re.compile(r"\S+: (ok|failed|invalid|unsupported)|^taken from ")


def run(*words: str) -> Experiment:
    """Returns the experiment that `priolab run WORDS` makes or reuses. Raises RuntimeError if the command fails."""
    return load_experiment(_folder("run", words))


def sweep(*words: str) -> Sweep:
    """Returns the sweep that `priolab sweep WORDS` makes or reuses. Raises RuntimeError if the command fails."""
    return load_sweep(_folder("sweep", words))


def _folder(command_name: str, words: Sequence[str]) -> Path:
    words = (*words, "REUSE=yes", f"RESULTS={_RESULTS}")
    command = [sys.executable, "-P", "-m", "experiments", command_name, *words, "--print-folder"]
    with subprocess.Popen(
        command, cwd=_ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        last = ""
        for line in process.stderr:
            last = line.strip() or last
            if _TOLD.search(last):
                print(last, flush=True)
        folder = process.stdout.read().strip()
    if process.returncode != 0:
        raise RuntimeError(last)
    return Path(folder)


def arms(experiment: Experiment) -> dict[str, Run]:
    """Returns each arm's run with the median first byte, by the arm's name. Arms without an ok run are left out."""
    chosen = {name: typical(runs) for name, runs in experiment.arms().items()}
    return {name: run for name, run in chosen.items() if run is not None}


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Shows a table."""
    lines = [" | ".join(head), " | ".join(["---"] + ["--:"] * (len(head) - 1))]
    lines += [" | ".join(str(cell) for cell in row) for row in rows]
    display(Markdown("\n".join(f"| {line} |" for line in lines)))  # type: ignore[no-untyped-call]


def say(text: str) -> None:
    """Shows a text in Markdown."""
    display(Markdown(text))  # type: ignore[no-untyped-call]


def show(figure: Declaration | None) -> None:
    """Shows a figure, which is declared in Vega-Lite. The notebook contains the figure as SVG, so it needs no network.

    figure: None if there is nothing to draw.
    """
    if figure is not None:
        display(SVG(picture.drawn(figure)))  # type: ignore[no-untyped-call]
