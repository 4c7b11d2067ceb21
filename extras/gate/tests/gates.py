"""Runs the gate on a sound front many times, and on each planted fault some times: `make gates`.

    python -m priolab.extras.gate.tests.gates [RUNS]

Every gate of the sound front must pass, and every planted fault must be reported under its name. Each run has a seed of
its own. The table is written into RELIABILITY.md.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from priolab.analysis.reports.markdown import Table
from priolab.extras.gate.tests.front.gates import ALL, NAMES, gates
from priolab.extras.gate.tests.front.scheduler import Fault
from tools.campaigns.reliability import write

_RUNS = 1000
_BATCH = 20
_RUNS_OF_A_GATE = sum(1 for check in ALL for _ in check.trials())
_OF_A_FAULT = 500
"""For so many gates of the sound front, each fault has one gate."""


def main() -> int:
    """Return the exit code, 0 if every gate said what it must."""
    parser = argparse.ArgumentParser(prog="make gates", description=__doc__)
    parser.add_argument("runs", nargs="?", type=int, default=_RUNS)
    runs = parser.parse_args().runs
    began_s, right, made = time.monotonic(), Counter[Fault](), Counter[Fault]()
    for first in range(1, runs + 1, _BATCH):
        faults = [Fault.NONE]
        repeat = min(_BATCH, runs + 1 - first)
        _batch(faults, repeat, first, right, made)
        if first % _OF_A_FAULT == 1:
            _batch(list(NAMES), 1, first, right, made)
        print(
            f"\r{made[Fault.NONE]} of {runs}, {made.total() - right.total()} wrong", end="", file=sys.stderr, flush=True
        )
        _write(right, made, time.monotonic() - began_s)
    print(file=sys.stderr)
    return 0 if right == made else 1


def _batch(faults: list[Fault], repeat: int, seed: int, right: Counter[Fault], made: Counter[Fault]) -> None:
    with tempfile.TemporaryDirectory(prefix="priolab-gates-") as folder:
        for fault, result in gates(faults, Path(folder), repeat=repeat, seed=seed):
            expected = [NAMES[fault]] if fault in NAMES else []
            is_right = result.faults == expected and result.passed is not bool(expected)
            made[fault] += 1
            right[fault] += is_right
            if not is_right:
                said = "; ".join(finding.text for finding in result.findings if finding.passed is not True)
                print(f"\n{fault}, seed {seed}: {said}", file=sys.stderr, flush=True)


def _write(right: Counter[Fault], made: Counter[Fault], took_s: float) -> None:
    each = f"of {_RUNS_OF_A_GATE} runs in the guest each"
    told = f"{made.total()} gates by `make gates`, {each}, in {took_s / 60:.0f} minutes."
    rows = tuple((fault if fault in NAMES else "sound", str(count), str(right[fault])) for fault, count in made.items())
    table = Table(head=("each of", "gates:", "judged rightly:"), rows=rows).merged()
    write("gates", f"{told}\n\n{table.markdown()}\n")


if __name__ == "__main__":
    sys.exit(main())
