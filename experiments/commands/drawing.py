"""Draws an experiment's picture in another process, which starts while the arms still run.

`python -m priolab.experiments.commands.drawing` loads the program that draws, reads the path of a results folder from
its standard input, and draws. The process ends with the lab, because its standard input ends then.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from signal import SIG_IGN, SIGINT, signal
from typing import TYPE_CHECKING, Self

from priolab.common.errors import RAISE_LIMIT
from priolab.common.limits import too_low_for_drawing

if TYPE_CHECKING:
    from priolab.analysis.records.runs import Experiment

_NOTHING = {"mark": "point", "data": {"values": []}}
_PATIENCE_S = 10.0
_NICE = 10
"""The niceness of the process (nice(2)): arms that still run get the processors first."""


def no_figures() -> str | None:
    """Returns the reason why no figure can be drawn, and the remedy; None if figures can be drawn.

    The library that draws is an extra, which a gate in CI does without.
    """
    if not find_spec("vl_convert"):
        from priolab.experiments.setup.python_packages import installing

        return f"no figure is drawn: vl-convert-python is not installed; run {installing('figures')}"
    lack = too_low_for_drawing()
    return lack and f"no figure is drawn: {lack}; {RAISE_LIMIT}"


class Drawing:
    """A process that has loaded the drawing program, and waits for the path of a results folder.

    A context manager: its end ends the process.
    """

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "priolab.experiments.commands.drawing"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._begun = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._begun:
            with suppress(subprocess.TimeoutExpired):  # a killed process could leave half of a file
                self._process.wait(_PATIENCE_S)
        self._process.kill()
        self._process.communicate()

    def begin(self, folder: Path) -> None:
        """Has the process draw the timeline of a results folder, unless the timeline is drawn already."""
        if not _missing(folder):
            return
        self._begun = True
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # the process has ended, as `finished` will find
            self._process.stdin.write(f"{folder}\n")
            self._process.stdin.flush()

    def finished(self) -> bool:
        """Waits until the picture is drawn; returns False if the process failed, or was given no folder."""
        return self._begun and self._process.wait() == 0


@contextmanager
def drawing(*, wanted: bool) -> Iterator[Drawing | None]:
    """Starts a drawing process, which ends with the context. Yields None instead if `wanted` is False."""
    if not wanted:
        yield None
        return
    with Drawing() as process:
        yield process


def timeline(experiment: "Experiment", process: Drawing | None) -> list[Path]:
    """Returns the files of the experiment's timeline; draws the timeline if a file is missing. Raises OSError.

    process: the process that was asked to draw. If it is None or has failed, the calling process draws.
    """
    if not _missing(experiment.path) or (process is not None and process.finished()):
        return [path for path in _files(experiment.path) if path.exists()]
    from priolab.analysis.figures import timeline as figure  # takes a while to import, so only here

    return figure.save(experiment)


def _files(folder: Path) -> list[Path]:
    return [folder / f"timeline.{kind}" for kind in ("svg", "png", "html")]


def _missing(folder: Path) -> bool:
    return not all(path.exists() for path in _files(folder))


def main() -> int:
    """Draws the timeline of the results folder whose path comes from standard input; returns the exit code."""
    os.nice(_NICE)
    signal(SIGINT, SIG_IGN)  # Ctrl-C is for the lab, which ends this process
    from priolab.analysis.figures import picture
    from priolab.analysis.figures import timeline as figure
    from priolab.analysis.records.runs import load_experiment

    picture.drawn(_NOTHING)  # starts the JavaScript engine
    if folder := sys.stdin.readline().rstrip("\n"):
        figure.save(load_experiment(Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
