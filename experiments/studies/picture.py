"""Make the pictures of the documentation anew: `python -m experiments.studies.picture`, or `make picture`."""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from analysis.figures import timeline
from analysis.load import load_experiment
from experiments.experiment import Progress, run_experiment
from experiments.invocation import request_from

_DOCS = Path(__file__).resolve().parents[2] / "docs"

_PICTURES: Mapping[str, tuple[Mapping[str, str], tuple[str, ...]]] = {
    "timeline": ({}, (".svg", ".png")),
    "http3": ({"SERVER": "caddy,caddy-h3", "LOWAT": "16384"}, (".svg",)),
}
"""By the name of the file: the words of the experiment, and the kinds of file that are kept; four arms as .png are a
megabyte, and so is any .html, most of it Vega."""


def main() -> None:
    """Run each experiment and keep its timeline in docs/."""
    silent = Progress(step=lambda *_: None, ended=lambda *_: None)
    for name, (words, kept) in _PICTURES.items():
        with tempfile.TemporaryDirectory(prefix="priolab-picture-") as results:
            folder = run_experiment(request_from({**words, "RESULTS": results}), silent)
            for path in timeline.save(load_experiment(folder)):
                if path.suffix in kept:
                    print(shutil.copy(path, _DOCS / f"{name}{path.suffix}"))


if __name__ == "__main__":
    main()
