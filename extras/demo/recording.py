"""Records the arms that are shipped with the demo: `python -m priolab.extras.demo.recording`."""

import tempfile
from pathlib import Path

from priolab.experiments.commands.console import Report
from priolab.experiments.execution.invocation import request_from
from priolab.extras.demo.recorded import FILE, record


def main() -> None:
    """Runs the arms in a guest, and writes the file."""
    with tempfile.TemporaryDirectory(prefix="priolab-recording-") as results:
        record(request_from({"FABRIC": "virtual", "RESULTS": results}).manner, Path(results), Report())
    print(FILE)


if __name__ == "__main__":
    main()
