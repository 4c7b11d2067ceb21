"""Records the arms that are shipped with the demo: `python -m priolab.experiments.studies.recording`."""

import tempfile
from pathlib import Path

from priolab.experiments.commands.console import Report
from priolab.experiments.demo.recorded import FILE, record
from priolab.experiments.execution.invocation import request_from


def main() -> None:
    """Runs the arms in a guest, and writes the file."""
    with tempfile.TemporaryDirectory(prefix="priolab-recording-") as results:
        record(request_from({"FABRIC": "virtual", "RESULTS": results}).manner, Path(results), Report())
    print(FILE)


if __name__ == "__main__":
    main()
