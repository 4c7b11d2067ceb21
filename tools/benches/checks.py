"""Measures what share of a run's processor time in the guest its checks take; a part of `make bench`."""

import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from priolab.analysis.loads.contradiction import Allowance
from priolab.analysis.loads.contradictions import contradictions
from priolab.analysis.records.runs import Run, load_evidence, load_experiment, load_layers
from priolab.common.home import ROOT
from tools.benches.cost import alternately, cost_of
from tools.benches.parts import FEW, MANY, cost_of_guest, run_s

_ROUNDS, _TIMES = 5, 20

# Makes the places and takes their pictures N times: before the loads, beside them, and after them.
_PICTURES = """
import subprocess, sys
for kind, where in (("proc", "/proc"), ("tmpfs", "/run"), ("tmpfs", "/var/tmp")):
    subprocess.run(["mount", "-t", kind, kind, where], check=True)
from priolab.experiments.run.checks.pictures import BEFORE, check_pictures
from priolab.experiments.hosts.namespaces.namespaces import Namespaces
from priolab.netem.shaper_kind import Shaper
with Namespaces(Shaper.NETEM, None) as places:
    for _ in range(int(sys.argv[1])):
        for read in (places.portrayed, places.portrayed_beside_loads, places.portrayed):
            check_pictures(read(), BEFORE)
"""


def main() -> None:
    """Prints the cost of the pictures of all places, and of the checks over the logs, beside that of a run."""
    with tempfile.TemporaryDirectory(prefix="priolab-bench-") as name:
        scratch = Path(name)
        results = scratch / "results"
        words = ["FABRIC=virtual", f"RESULTS={results}", "LOWAT=16384,131072", "JS_DELAY=200ms"]
        sweep = [str(ROOT / ".venv/bin/priolab"), "sweep", *words]
        commands = {f"{repeat} runs": partial(cost_of, [*sweep, f"REPEAT={repeat}"], ROOT) for repeat in (FEW, MANY)}
        for times in (0, _TIMES):
            portrait = [sys.executable, "-I", "-c", _PICTURES, str(times)]
            commands[f"{times} pictures"] = partial(cost_of_guest, portrait, 1, scratch)
        used_s = {name: cost.processor_s for name, cost in alternately(commands, _ROUNDS).items()}
        of_run_s = run_s(used_s[f"{FEW} runs"], used_s[f"{MANY} runs"])
        costs_s = {
            "pictures of the places": (used_s[f"{_TIMES} pictures"] - used_s["0 pictures"]) / _TIMES,
            "checks over the logs": _of_logs_s(load_experiment(next(results.iterdir())).runs[0]),
        }
        costs_s["both"] = sum(costs_s.values())
        for what, cost_s in costs_s.items():
            print(f"{what:<36} {cost_s * 1e3:>6.0f} ms {cost_s / of_run_s:>6.1%} of a run's {of_run_s:.2f} s")


def _of_logs_s(run: Run) -> float:
    """Returns the processor time in seconds that the checks over a run's logs take."""
    evidence, layers = load_evidence(run.path), load_layers(run.path)
    allowance = Allowance(rate=0.05, moment_ns=10**6, late_ns=10**6, is_exact=True)
    began_s = time.process_time()
    for _ in range(_ROUNDS):
        for found in contradictions(evidence, layers, run.record.scenario, allowance, is_stock=True):
            raise AssertionError(found)
    return (time.process_time() - began_s) / _ROUNDS


if __name__ == "__main__":
    main()
