"""Measures times on this machine: `make bench [AGAINST=CHECKOUT]`, or `python -m tools.benches`.

Compare times only within one run of this program, because times depend on the machine and on its load.
"""

import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from priolab.analysis.figures import timeline
from priolab.analysis.loads.findings import findings
from priolab.analysis.records.runs import load_experiment
from priolab.experiments.execution import pace
from priolab.experiments.execution.cli_request import request_from
from priolab.experiments.execution.experiment import run_experiment
from priolab.experiments.execution.local import Local, bearable
from priolab.experiments.execution.progress import Progress
from priolab.experiments.setup import extras
from priolab.experiments.sweep.sweep import SweepProgress, run_sweep, sweep_from
from priolab.experiments.sweep.sweep_request import sweep_request_from
from priolab.netem.shaper_kind import Shaper
from tools.benches import checks, client, cost, ferry, guest, repeats, sandbox
from tools.benches.cost import FAST_ARMS, link_s

_ROUNDS = 3
_CASES: dict[str, dict[str, str]] = {
    "maps, two arms side by side": {},
    "maps, the treatment alone": {"CONTROL": "no"},
    "modem, two arms side by side": {"SCENARIO": "modem"},
    "h2o, two arms side by side": {"SCENARIO": "h2o"},
    "fast link, two arms side by side": {"SCENARIO": "fast-link"},
    **{name: {"CONTROL": "no"} | knobs for name, knobs in FAST_ARMS.items()},
}


def _timed(action: Callable[[], Path]) -> tuple[float, Path]:
    started = time.monotonic()
    result = action()
    return time.monotonic() - started, result


def _reading(folder: Path) -> tuple[int, float]:
    """Returns the number of lines in the first run's journals, and the seconds to read and evaluate them."""
    run = load_experiment(folder).runs[0]
    lines = sum(len(journal.read_bytes().splitlines()) for journal in run.path.glob("*/*.jsonl"))
    started = time.monotonic()
    layers = run.layers()
    assert layers is not None
    findings(run.evidence(), layers, run.scenario)
    return lines, time.monotonic() - started


def _shapers(results: str, silent: Progress) -> Table:
    """Compares netem with the ferry in a guest, where a shaper's own work takes no time."""
    table = Table("in the guest", "wall s", "kbit/s measured", "round trip ms", "script first byte ms")
    for shaper in Shaper:
        words = {"RESULTS": results, "CONTROL": "no", "FABRIC": "virtual", "SHAPER": shaper.value}
        request = request_from(words)
        wall_s, folder = _timed(lambda request=request: run_experiment(request, silent))  # type: ignore[misc]
        (run,) = load_experiment(folder).runs
        observed, load = run.record.observed, run.record.measured
        table.add_row(
            shaper,
            f"{wall_s:.1f}",
            f"{observed['rate_bit_s'] / 1000:.1f}",
            f"{observed['round_trip_ns'] / 10**6:.2f}",
            f"{load.first_byte_ms:.1f}",
        )
    return table


def _hundred_arms(results: str) -> Path:
    """Runs a sweep of a hundred arms of the scenario modem, with four page loads each."""
    wanted = sweep_from(sweep_request_from(["modem", "FABRIC=virtual", f"RESULTS={results}"]), yes=False)
    silent = SweepProgress(step=lambda _: None, opened=lambda _: None, ended=lambda *_: None, reused=lambda _: None)
    return run_sweep(wanted, Local(wanted.run_settings, bearable(wanted.scenarios, wanted.run_settings.fabric)), silent)


def _used_s() -> float:
    return pace.used_s(resource.RUSAGE_SELF) + pace.used_s(resource.RUSAGE_CHILDREN)


def main() -> None:
    """Runs all benchmarks. Prints each case's wall time (median and range of three), its link time, and their ratio."""
    for checkout in sys.argv[1:]:
        cost.comparable(checkout)  # ends now, not after minutes, if it cannot be compared with
    silent = Progress(step=lambda *_: None, ended=lambda *_: None)
    print(f"{'case':<36} {'wall s':>8} {'range':>13} {'link s':>8} {'speed-up':>9}")
    with tempfile.TemporaryDirectory(prefix="priolab-bench-") as results:
        folders: list[Path] = []
        for name, words in _CASES.items():
            request = request_from(words | {"RESULTS": results, "FABRIC": "virtual"})
            walls = []
            for _ in range(_ROUNDS):
                wall_s, folder = _timed(lambda request=request: run_experiment(request, silent))  # type: ignore[misc]
                walls.append(wall_s)
            folders.append(folder)
            wall_s, loaded_s = statistics.median(walls), link_s(folder)
            spread = f"{min(walls):.1f} - {max(walls):.1f}"
            print(f"{name:<36} {wall_s:>8.1f} {spread:>13} {loaded_s:>8.0f} {loaded_s / wall_s:>8.0f}x", flush=True)
        used_s = _used_s()
        wall_s, swept = _timed(lambda: _hundred_arms(results))
        idle = 1 - (_used_s() - used_s) / (wall_s * len(os.sched_getaffinity(0)))
        name, loaded_s = "modem, a sweep of a hundred arms", link_s(swept)
        print(f"{name:<36} {wall_s:>8.1f} {'':>13} {loaded_s:>8.0f} {loaded_s / wall_s:>8.0f}x")
        print(f"{'  share of processor time not used':<36} {idle:>8.0%}")
        figure_s, _ = _timed(lambda: timeline.save(load_experiment(folder))[0])
        print(f"{'drawing the picture':<36} {figure_s:>8.1f}")
        lines, reading_s = _reading(folders[0])
        print(f"{f'reading a run folder of {lines} lines':<36} {reading_s:>8.2f}")
        console = Console()
        console.print(_shapers(results, silent))
    cost.main(*sys.argv[1:])
    checks.main()
    repeats.main()
    guest.main()
    sandbox.main()
    for part in extras.parts("bench"):
        part.main()
    client.main()
    if os.geteuid() == 0:
        ferry.main()
    else:
        print("the ferry's own speed is not measured: only root can measure it")


if __name__ == "__main__":
    main()
