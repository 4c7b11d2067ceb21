"""Makes the pictures of the documentation anew: `python -m tools.picture`, or `make picture`."""

import shutil
import tempfile
from collections.abc import Mapping

from priolab.analysis.figures import picture
from priolab.analysis.figures.all_figures import FIGURES
from priolab.analysis.records.runs import load_experiment
from priolab.common.home import ROOT
from priolab.experiments.execution.cli_request import request_from
from priolab.experiments.execution.experiment import run_experiment
from priolab.experiments.execution.progress import Progress

_DOCS = ROOT / "docs"

_PICTURES: Mapping[str, tuple[Mapping[str, str], str, tuple[str, ...]]] = {
    "timeline": ({}, "timeline", (".svg", ".png")),
    "guide/http3": ({"SERVER": "caddy,caddy-h3", "LOWAT": "16384"}, "timeline", (".svg",)),
    "guide/chromium": ({"CLIENT": "h2,chromium", "LOWAT": "16384"}, "clients", (".svg",)),
}
"""The pictures by file, in docs/: the experiment's knobs, the figure, and the suffixes of the files to keep. Files of a
megabyte are left out: every .html file, and the .png file of a picture with four arms."""


def main() -> None:
    """Runs the experiment of each picture, and copies a figure of the results to docs/."""
    silent = Progress(step=lambda *_: None, ended=lambda *_: None)
    for name, (words, figure, kept) in _PICTURES.items():
        with tempfile.TemporaryDirectory(prefix="priolab-picture-") as results:
            folder = run_experiment(request_from({**words, "RESULTS": results}), silent)
            declaration = FIGURES[figure](load_experiment(folder))
            for path in picture.save(declaration, folder, figure) if declaration is not None else ():
                if path.suffix in kept:
                    print(shutil.copy(path, _DOCS / f"{name}{path.suffix}"))


if __name__ == "__main__":
    main()
