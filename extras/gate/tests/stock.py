"""Carries out the steps of action.yml as on a stock runner, and measures them: `make stock-runner`.

The first runner builds the guest kernel; its set-up finds Debian's archive by itself, or by MIRROR. The others have the
kernel that the first has built. The table is written into RELIABILITY.md.
"""

import os
import sys
import tempfile
from pathlib import Path

from priolab.analysis.reports.markdown import Table
from priolab.common.cache_folder import cache_folder
from priolab.common.debian.suite_packages import VARIABLE
from priolab.extras.gate.tests.action import KEPT, StockRunner
from priolab.extras.gate.tests.front.scheduler import Fault
from tests.support.stock_runner import Refused
from tools.campaigns.reliability import write
from tools.suites import runner

_STEPS = ("Set the lab up", "Run the gate")
_HEAD = ("guest kernel", "user namespaces are refused", "step", "exit code:", "time:", "processor time:")


def main() -> int:
    """Return the exit code, 0 if every step succeeded."""
    tree = runner.make(cache_folder().parent).root
    rows: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory(prefix="priolab-runner-") as folder:
        first = _measure(tree, Path(folder, "first"), Refused.WITHOUT_RIGHTS, None, rows)
        (record,) = first.path(KEPT).glob("linux-*.json")
        for refused in Refused:
            _measure(tree, Path(folder, refused.name), refused, record.with_suffix(""), rows)
    load = f"a load of {os.getloadavg()[2]:.1f} over the last quarter of an hour"
    told = f"By `make stock-runner`, with two processors, Linux {os.uname().release.partition('-')[0]}, and {load}."
    write("stock runner", f"{told}\n\n{Table(head=_HEAD, rows=tuple(rows)).markdown()}\n")
    return 0 if all(row[3] == "0" for row in rows) else 1


def _measure(
    tree: Path, folder: Path, refused: Refused, kernel: Path | None, rows: list[tuple[str, ...]]
) -> StockRunner:
    """Carry out the steps in a new folder, and add a row for each. kernel: the guest kernel in the cache."""
    folder.mkdir()
    stock = StockRunner(tree=tree, folder=folder, inputs={"server": "./front"})
    stock.check_out()
    stock.put_front(Fault.NONE)
    if kernel is not None:
        stock.put_kernel(kernel)
    given = {VARIABLE: os.environ[VARIABLE]} if VARIABLE in os.environ else {}
    for step in _STEPS:
        done = stock.step(step, refused, **given)
        times = (f"{done.wall_s:.0f} s", f"{done.processor_s:.0f} s")
        rows.append(("built" if kernel is None else "in the cache", refused, step, str(done.code), *times))
        print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
        if done.code:
            print(done.out + done.err, file=sys.stderr)
    return stock


if __name__ == "__main__":
    sys.exit(main())
