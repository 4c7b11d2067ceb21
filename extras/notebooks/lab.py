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
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import cache
from io import BytesIO
from pathlib import Path

import PIL.Image
import vl_convert
from IPython.display import Image, Markdown, display

import priolab
from priolab.extras.reproduction.figures import Figures

_CHECKOUT = Path(__file__).resolve().parents[2]
_ROOT = _CHECKOUT if (_CHECKOUT / "Makefile").is_file() else Path.cwd()
_RESULTS = Path(os.environ.get("PRIOLAB_RESULTS") or _ROOT / "results")
_WIDTH_PX = 900
_PNG_SCALE = 0.8
_COLOURS = 96


def run(*words: str) -> priolab.Experiment:
    """Returns the experiment that `priolab run WORDS` makes or reuses. Raises LabError."""
    line = _Line("run", words)
    made = priolab.run(**_knobs(words), progress=line.tell)
    line.end([one.status for one in made.runs])
    return made


def sweep(*words: str) -> priolab.Sweep:
    """Returns the sweep that `priolab sweep WORDS` makes or reuses. Raises LabError."""
    line = _Line("sweep", words)
    made = priolab.sweep(**_knobs(words), progress=line.tell)
    line.end([status for arm in made.arms.values() for status in _statuses(arm)])
    return made


def arms(experiment: priolab.Experiment) -> dict[str, priolab.Run]:
    """Returns each arm's run with the median first byte, by the arm's name. Arms without an ok run are left out."""
    chosen = {name: arm.median_run for name, arm in experiment.arms.items()}
    return {name: one for name, one in chosen.items() if one is not None}


def figures(experiment: priolab.Experiment) -> dict[str, Figures]:
    """Returns the figures of each arm's measured load, by the arm's name."""
    return {name: Figures.of(one) for name, one in arms(experiment).items()}


def wait_s(experiment: priolab.Experiment, arm: str, layer: str) -> float:
    """Returns how long the script's first byte waited in a layer: pending, committed, unsent, queue, propagation."""
    return _ledger(experiment, arm).parts[priolab.Layer[layer.upper()]] / 10**9


def longest_wait(experiment: priolab.Experiment, arm: str, *, load: int | None = None) -> str:
    """Returns the layer in which the script's first byte waited longest. load: its number, or None for the measured."""
    return _ledger(experiment, arm, load).largest.name.lower()


def explained(experiment: priolab.Experiment, arm: str) -> float:
    """Returns the part of the wait that the ledger explains, from 0 to 1."""
    return _ledger(experiment, arm).explained


def unsent_kib(experiment: priolab.Experiment, arm: str) -> float:
    """Returns how much of the image was unsent in the kernel when the script became available."""
    return _ledger(experiment, arm).at_available.unsent_bytes / 1024


def most_unsent_bytes(experiment: priolab.Experiment, arm: str) -> int:
    """Returns the most bytes that were unsent in the front's kernel at any time."""
    return max(sample.notsent_bytes for sample in arms(experiment)[arm].sockets)


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


def show(figure: priolab.Figure) -> None:
    """Shows a figure as wide as the notebook.

    The notebook contains the figure as PNG: viewers show no SVG of a notebook that they do not trust.
    """
    drawn = vl_convert.svg_to_png(figure.svg, scale=_PNG_SCALE)
    display(Image(_smaller(drawn), width=_WIDTH_PX))  # type: ignore[no-untyped-call]


def _smaller(png: bytes) -> bytes:
    """Returns the PNG with a palette of colours, which has a tenth of the size."""
    made = BytesIO()
    PIL.Image.open(BytesIO(png)).convert("RGB").quantize(_COLOURS).save(made, "png", optimize=True)
    return made.getvalue()


def _ledger(experiment: priolab.Experiment, arm: str, number: int | None = None) -> priolab.Ledger:
    one = arms(experiment)[arm]
    return one.ledger(next(load for load in reversed(one.loads) if number in (None, load.number)))


def _statuses(arm: priolab.SweepArm) -> list[str]:
    return ["ok"] * arm.ok + ["not ok"] * (arm.asked - arm.ok)


def _knobs(words: Sequence[str]) -> dict[str, str | Path | bool]:
    _keep_guests()
    return {**dict(word.split("=", 1) for word in words), "REUSE": True, "RESULTS": _RESULTS}


@cache
def _keep_guests() -> None:
    """Has guests kept until this process ends, so that a further command need not start any."""
    kept = ExitStack()
    kept.enter_context(priolab.keep_guests())
    atexit.register(kept.close)


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
