"""Damages the lab's input files, and has every command that reads them read each: `make mutations`.

    python -m tools.campaigns.mutations [MUTATIONS] [SEED]

Hypothesis draws the damage (tests/support/damage.py). The tests try a few of each kind, the same every time; this tries
many, which follow from the seed. The table is written into RELIABILITY.md.
"""

import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from priolab.analysis.reports.markdown import Table, filled
from tests.support.damaged_input import MEMORY_BYTES, Tally, faults, kinds
from tools.campaigns.reliability import write

_MUTATIONS = 1000


def _tried(name: str, examples: int, number: int) -> Tally:
    with tempfile.TemporaryDirectory(prefix="priolab-mutations-") as folder:
        return faults(kinds()[name], Path(folder), examples=examples, number=number)


def main() -> int:
    """Returns the exit code, 0 if no command did what it must not do."""
    count, number = (*map(int, sys.argv[1:]), *(_MUTATIONS, 1)[len(sys.argv) - 1 :])
    each = -(-count // len(kinds()))
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        tried = pool.map(partial(_tried, examples=each, number=number), kinds())
        tallies = dict(zip(kinds(), tried, strict=True))
    head = ("damaged", "commands:", "refused in one line:", "slowest:")
    rows = tuple(
        (name, str(each.commands), str(each.refused), f"{each.slowest_s:.1f} s")
        for name, each in sorted(tallies.items())
    )
    inputs, commands = (sum(getattr(each, name) for each in tallies.values()) for name in ("inputs", "commands"))
    found = [f"{name}: {fault}" for name, each in tallies.items() for fault in each.faults]
    least = min(each.inputs for each in tallies.values())
    told = (
        f"{inputs} inputs by `make mutations`, {least} or more of each kind; the seed decides what is damaged, and how."
        f" {commands} commands read them, each with {MEMORY_BYTES // 2**20} MiB of memory at most; {len(found)} faults"
        " were found. Times are processor time."
    )
    table = f"{filled(told)}\n\n{Table(head=head, rows=rows).merged().markdown()}\n"
    write("mutations", table)
    print(table)
    print("\n".join(found), end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
