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

_PICTURES: Mapping[str, Mapping[str, str]] = {
    "timeline": {},
    "http3": {"SERVER": "caddy,caddy-h3", "LOWAT": "16384"},
}
"""By the name of the file: the words of the experiment."""


def main() -> None:
    """Run each experiment and keep its timeline in docs/."""
    silent = Progress(step=lambda *_: None, ended=lambda *_: None)
    for name, words in _PICTURES.items():
        with tempfile.TemporaryDirectory(prefix="priolab-picture-") as results:
            folder = run_experiment(request_from({**words, "RESULTS": results}), silent)
            for path in timeline.save(load_experiment(folder)):
                if path.suffix != ".html":  # a megabyte, and most of it Vega
                    print(shutil.copy(path, _DOCS / f"{name}{path.suffix}"))


if __name__ == "__main__":
    main()
