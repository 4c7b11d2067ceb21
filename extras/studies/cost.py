"""Measures the gain of LOWAT and its price: `make cost` fills docs/measured/cost.md, and writes cost.json and .svg.

The study has two parts:
1. The grid in the guest (cost_grid.py). cost.json has all of its numbers.
2. The front's processor time on this machine's clocks (processor.py), which depends on the machine and on its load.
"""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from priolab import Figure, Unavailable, keep_guests
from priolab.common.exit_codes import exit_code
from priolab.common.process.scratch import scratch_folder
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.study import Findings, Study
from priolab.extras.studies import cost_document, cost_grid, cost_picture, processor
from priolab.extras.studies.cost_grid import Price
from priolab.extras.studies.processor import Spending

NAME = "cost"
_FORMAT = 1
_DIGITS = 3


def add_to(parser: ArgumentParser) -> None:
    """Adds the options of `priolab cost` to its parser."""
    parser.add_argument(
        "file", type=Path, nargs="?", help=f"the document to write; the default is {NAME}.md, in the current folder"
    )
    parser.add_argument("--json", action="store_true", help="only print the prices in the guest, as JSON")
    parser.set_defaults(do=_do)


def document(found: Sequence[Price]) -> dict[str, Any]:
    """Returns the prices as docs/reference/results.md describes them."""
    rows = [
        {
            "server": each.server,
            "rate": each.network.rate,
            "round_trip_ms": each.network.round_trip_ms,
            "lowat": each.lowat,
            "first_byte_ms": round(each.first_byte_ms, _DIGITS),
            "goodput_bit_s": round(each.goodput_bit_s),
            "wakeups_per_mb": round(each.wakeups_per_mb, _DIGITS),
            "memory_bytes": each.memory_bytes,
        }
        for each in found
    ]
    return {"format": _FORMAT, "prices": rows}


def _do(options: Namespace, report: Report) -> int:
    with keep_guests():
        if not options.json:
            file = options.file or Path(f"{NAME}.md")
            return exit_code(ok=Study(name=NAME, step="the cost", measure=_measure).write(file, report))
        with scratch_folder("priolab-cost-") as results:
            report.document(document(cost_grid.measure(results, Report(aside=True))))
    return 0


def _measure(results: Path, report: Report) -> Findings:
    found = cost_grid.measure(results, report)
    svg = Figure(cost_picture.draw(found)).svg
    return Findings(
        places=cost_document.places(found) | cost_document.processor_places(spending(results, report)),
        beside={
            f"{NAME}.json": (json.dumps(document(found), indent=2) + "\n").encode(),
            f"{NAME}.svg": svg.encode(),
        },
    )


def spending(results: Path, report: Report) -> Spending | str:
    """Returns the measured processor time, or the reason why it cannot be measured here. Raises LabError.

    results: a folder in which the servers get theirs.
    """
    folder = results / "processor"
    folder.mkdir()
    try:
        return processor.measure(cost_grid.SERVERS, folder, report)
    except Unavailable as lack:
        return lack.reason
