"""Draws all figures of an experiment."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from priolab.analysis.figures import clients, filmstrip, ladder, ledger_area, ledger_bar, picture, timeline
from priolab.analysis.figures.sheet import Declaration
from priolab.analysis.records.runs import Experiment

FIGURES: Mapping[str, Callable[[Experiment], Declaration | None]] = MappingProxyType(
    {
        "timeline": timeline.draw,
        "filmstrip": filmstrip.draw,
        "ledger-bar": ledger_bar.draw,
        "ledger-area": ledger_area.draw,
        "ladder": ladder.draw,
        "clients": clients.draw,
    }
)
"""The functions that draw the figures, by file name."""


def save(experiment: Experiment) -> list[Path]:
    """Writes every figure that has data into the experiment's folder, as SVG, PNG and HTML. Returns the paths.

    Raises FolderError, and OSError if the folder cannot be written.
    """
    paths: list[Path] = []
    for name, draw in FIGURES.items():
        declaration = draw(experiment)
        if declaration is not None:
            paths += picture.save(declaration, experiment.path, name)
    return paths
