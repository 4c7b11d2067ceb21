"""Helpers of the notebooks: functions that make or reuse runs, read their figures, and show text and pictures.

The arguments of `run` and `sweep` are the words of a `priolab` command. If the folder `results` has a finished
experiment with the same arms, programs, kernel and code, this experiment is returned and nothing is run. The folder is
in the checkout or, for an installed lab, in the current folder. The environment variable PRIOLAB_RESULTS names another
folder.

What the helpers show is the same each time, and has no paths and no times of this machine, because notebooks are stored
with their outputs. `views` has the pictures and tables.
"""

import atexit
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import PIL.Image
import vl_convert
from IPython.display import Image, Markdown, display

from priolab.analysis.figures import picture
from priolab.analysis.figures.sheet import Declaration
from priolab.analysis.loads.layer import Layer
from priolab.analysis.loads.ledger_builder import ledger
from priolab.analysis.loads.metrics import page_loads
from priolab.analysis.records.runs import Experiment, Run, load_experiment
from priolab.analysis.reports.summary import typical
from priolab.analysis.sweeps.folder import Sweep, load_sweep
from priolab.common import command_server
from priolab.common.formats.run import LedgerRecord
from priolab.common.home import ROOT
from priolab.extras.reproduction.figures import Figures

_ROOT = ROOT if (ROOT / "Makefile").is_file() else Path.cwd()
_RESULTS = Path(os.environ.get("PRIOLAB_RESULTS") or _ROOT / "results")
_WIDTH_PX = 900
_PNG_SCALE = 0.8
_COLOURS = 96


def run(*words: str) -> Experiment:
    """Returns the experiment that `priolab run WORDS` makes or reuses. Raises RuntimeError if the command fails."""
    line = _Line("run", words)
    made = load_experiment(_folder("run", words, line))
    line.end([one.status for one in made.runs])
    return made


def sweep(*words: str) -> Sweep:
    """Returns the sweep that `priolab sweep WORDS` makes or reuses. Raises RuntimeError if the command fails."""
    line = _Line("sweep", words)
    made = load_sweep(_folder("sweep", words, line))
    line.end([status for arm in made.arms for status in (*["ok"] * len(arm.good), *["not ok"] * len(arm.troubles))])
    return made


def arms(experiment: Experiment) -> dict[str, Run]:
    """Returns each arm's run with the median first byte, by the arm's name. Arms without an ok run are left out."""
    chosen = {name: typical(runs) for name, runs in experiment.arms().items()}
    return {name: run for name, run in chosen.items() if run is not None}


def figures(experiment: Experiment) -> dict[str, Figures]:
    """Returns the figures of each arm's measured load, by the arm's name."""
    return {name: Figures.of(one) for name, one in arms(experiment).items()}


def wait_s(experiment: Experiment, arm: str, layer: str) -> float:
    """Returns how long the script's first byte waited in a layer: pending, committed, unsent, queue, propagation."""
    return _ledger(experiment, arm).parts_ms[Layer[layer.upper()]] / 1000


def longest_wait(experiment: Experiment, arm: str, *, load: int | None = None) -> str:
    """Returns the layer in which the script's first byte waited longest. load: its number, or None for the measured."""
    account = _ledger(experiment, arm) if load is None else _ledger_of_load(arms(experiment)[arm], load)
    return Layer(account.largest).name.lower()


def explained(experiment: Experiment, arm: str) -> float:
    """Returns the part of the wait that the ledger explains, from 0 to 1."""
    return _ledger(experiment, arm).explained


def unsent_kib(experiment: Experiment, arm: str) -> float:
    """Returns how much of the image was unsent in the kernel when the script became available."""
    return _ledger(experiment, arm).other_bytes_at_available.unsent / 1024


def most_unsent_bytes(experiment: Experiment, arm: str) -> int:
    """Returns the most bytes that were unsent in the front's kernel at any time."""
    most = arms(experiment)[arm].observed.notsent_most_bytes
    assert most is not None, "the front's socket was sampled"
    return most


def check(statement: str, *, holds: bool) -> None:
    """Shows a statement that holds. Raises AssertionError if it does not: the notebook never says what is not so."""
    if not holds:
        raise AssertionError(f"this run shows otherwise: {statement}")
    say(f"✓ {statement}")


def say(text: str) -> None:
    """Shows a text in Markdown."""
    display(Markdown(text))  # type: ignore[no-untyped-call]


def table(head: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: bool = True) -> None:
    """Shows a table. numbers: align all columns but the first to the right."""
    side = "--:" if numbers else ":--"
    lines = [" | ".join(head), " | ".join([":--"] + [side] * (len(head) - 1))]
    lines += [" | ".join(str(cell) for cell in row) for row in rows]
    say("\n".join(f"| {line} |" for line in lines))


def show(figure: Declaration | None) -> None:
    """Shows a figure, which is declared in Vega-Lite, as wide as the notebook.

    The notebook contains the figure as PNG: viewers show no SVG of a notebook that they do not trust.
    figure: None if there is nothing to draw.
    """
    if figure is not None:
        drawn = vl_convert.svg_to_png(picture.drawn(figure), scale=_PNG_SCALE)
        display(Image(_smaller(drawn), width=_WIDTH_PX))  # type: ignore[no-untyped-call]


def _smaller(png: bytes) -> bytes:
    """Returns the PNG with a palette of colours, which has a tenth of the size."""
    made = BytesIO()
    PIL.Image.open(BytesIO(png)).convert("RGB").quantize(_COLOURS).save(made, "png", optimize=True)
    return made.getvalue()


def _ledger(experiment: Experiment, arm: str) -> LedgerRecord:
    account = arms(experiment)[arm].record.ledger
    assert account is not None, "the run is ok"
    return account


def _ledger_of_load(one: Run, number: int) -> LedgerRecord:
    evidence = one.evidence()
    (load,) = (each for each in page_loads(evidence) if each.number == number)
    return ledger(load, evidence, one.layers(), one.scenario).as_record()


class _Line:
    """A line of the notebook that shows a command's progress, and at last its outcome."""

    def __init__(self, command_name: str, words: Sequence[str]) -> None:
        self._name = f"`priolab {' '.join((command_name, *words))}`"
        self._shown = display(Markdown(self._name), display_id=True)  # type: ignore[no-untyped-call]

    def tell(self, progress: str) -> None:
        self._shown.update(Markdown(f"{self._name}: {progress}"))  # type: ignore[no-untyped-call]

    def end(self, statuses: Sequence[str]) -> None:
        counted = ", ".join(f"{number} {status}" for status, number in Counter(map(str, statuses)).items())
        self.tell(f"{len(statuses)} run{'' if len(statuses) == 1 else 's'}, {counted}")


class _Commands:
    """The process that carries out this kernel's commands in turn; it ends with the kernel."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._environment: dict[str, str] = {}

    def ask(self, words: Sequence[str]) -> subprocess.Popen[str]:
        """Has the process carry out a command. The process is a new one if there is none in this environment."""
        asked = command_server.request(words)
        if self._process is not None and self._environment == os.environ:
            assert self._process.stdin is not None
            with suppress(BrokenPipeError):  # the process has ended
                self._process.stdin.write(f"{asked}\n")
                self._process.stdin.flush()
                return self._process
        self.end()
        self._environment = dict(os.environ)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", command_server.PROCESS, asked],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        return self._process

    def end(self) -> None:
        """Ends the process, if there is one."""
        if self._process is not None:
            self._process.terminate()
            self._process.communicate()
            self._process = None


_commands = _Commands()
atexit.register(_commands.end)


def _folder(command_name: str, words: Sequence[str], line: _Line) -> Path:
    process = _commands.ask((command_name, *words, "REUSE=yes", f"RESULTS={_RESULTS}", "--print-folder"))
    assert process.stdout is not None
    last, answer = "", None
    try:
        for said in process.stdout:
            if answer := command_server.answer_of(said):
                break
            last = said.strip() or last
            line.tell(last)
    finally:
        if answer is None or answer.code >= command_server.STOPPED:
            _commands.end()
    if answer is None or answer.code:
        raise RuntimeError(last or f"priolab {command_name} ended without an answer")
    return Path(answer.out.strip())
