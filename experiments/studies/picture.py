"""Make the README's picture anew: `python -m experiments.studies.picture`, or `make picture`."""

import shutil
import tempfile
from pathlib import Path

from analysis.figures import timeline
from analysis.load import load_experiment
from experiments.experiment import Progress, run_experiment
from experiments.invocation import request_from

_DOCS = Path(__file__).resolve().parent.parent / "docs"


def main() -> None:
    """Run the default experiment and keep its timeline in docs/."""
    silent = Progress(step=lambda *_: None, ended=lambda *_: None)
    with tempfile.TemporaryDirectory(prefix="priolab-picture-") as results:
        folder = run_experiment(request_from({"RESULTS": results}), silent)
        for path in timeline.save(load_experiment(folder)):
            if path.suffix != ".html":  # a megabyte, and most of it Vega
                print(shutil.copy(path, _DOCS / path.name))


if __name__ == "__main__":
    main()
