"""Makes docs/explore.html: `python -m priolab.extras.demo.recording [record]`. With `record`, records its arms anew."""

import sys

from priolab.common.documents import write_document
from priolab.common.home import ROOT
from priolab.common.process.scratch import scratch_folder
from priolab.experiments.commands.console import Report
from priolab.experiments.execution.cli_request import request_from
from priolab.extras.demo.choices import LOWATS
from priolab.extras.demo.finale import finale
from priolab.extras.demo.publish import recorded, written
from priolab.extras.demo.recorded import FILE, in_tree

EXPLORE = ROOT / "docs" / "explore.html"
_STEP = "recording the story and the slider"


def main() -> None:
    """Records the arms in a guest if asked to, and writes the page from the recordings of the tree."""
    if sys.argv[1:] == ["record"]:
        with scratch_folder("priolab-recording-") as results:
            run_settings = request_from({"FABRIC": "virtual", "RESULTS": str(results)}).run_settings
            made = recorded({"LOWAT": LOWATS}, run_settings, results, Report())
        write_document(FILE, made.packed, _STEP)
        print(FILE)
    write_document(EXPLORE, written(in_tree(), finale(None)).encode(), _STEP)
    print(EXPLORE)


if __name__ == "__main__":
    main()
