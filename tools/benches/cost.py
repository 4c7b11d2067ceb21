"""Compares what the lab costs: `python -m tools.benches.cost [CHECKOUT]`, also a part of `make bench`.

Each line of the table is the ratio of the costs of two commands. The commands run alternately, so that the ratio
depends little on the machine and its load. CHECKOUT is another checkout of the lab with its own .venv, for example of
an earlier commit. If it is given, each command is also compared with the same command in that checkout.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from priolab.analysis.loads.metrics import page_loads
from priolab.analysis.records.runs import load_experiment, load_run
from priolab.common.errors import ScenarioError
from priolab.common.process.processes import die_with_parent
from priolab.experiments.execution.pace import used_s

_ROOT = Path(__file__).resolve().parents[2]
_ROUNDS = 3
_GUEST = "FABRIC=virtual"
_DEFAULT = ("run", _GUEST, "LOWAT=131072")
_MODEM = ("run", _GUEST, "SCENARIO=modem", "LOWAT=4096")
_SWEEP = ("sweep", _GUEST, "SCENARIO=modem", "LOWAT=4096,16384", "JS_DELAY=200ms", "REPEAT=4", "SAMPLE=100ms")
_FAST_LINK = {
    "DELAY": "10ms",
    "DELAY_UP": "10ms",
    "QUEUE": "1000",
    "WINDOW": "64M",
    "SNDBUF": "stock",
    "RELOADS": "0",
}
FAST_ARMS: dict[str, dict[str, str]] = {
    "100 Mbit/s with 24 MB": {"RATE": "100mbit", "SIZE": "12M"} | _FAST_LINK,
    "1 Gbit/s with 64 MB": {"RATE": "1gbit", "SIZE": "32M"} | _FAST_LINK,
}
"""The knobs of arms that move many bytes in a short time, by the words that describe them."""

_INSTRUMENTS_MOST, _PARENT_MOST = 1.25, 0.5


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The cost of a command, in seconds: wall time, and processor time of all its processes."""

    wall_s: float
    processor_s: float


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line of the table, which compares two costs: the ratio is one_s / other_s.

    limit: the largest ratio allowed; None for no limit.
    """

    name: str
    one_s: float
    other_s: float
    limit: float | None = None

    @property
    def cells(self) -> tuple[str, ...]:
        """The line as text."""
        ratio = self.one_s / self.other_s
        judged = "" if self.limit is None else f"{self.limit:.3g}, {'kept' if ratio <= self.limit else 'exceeded'}"
        return self.name, f"{self.one_s:.2f}", f"{self.other_s:.2f}", f"{ratio:.2f}", judged


def cost_of(command: Sequence[str], folder: Path) -> Cost:
    """Runs a command in a folder. Raises CalledProcessError if it fails."""
    # Without compiled files each command would compile the lab's modules again.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    silent = subprocess.DEVNULL
    used_before_s, began_s = used_s(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        command, cwd=folder, env=environment, check=True, stdout=silent, stderr=silent, preexec_fn=die_with_parent
    )
    wall_s = time.monotonic() - began_s
    return Cost(wall_s=wall_s, processor_s=used_s(resource.RUSAGE_CHILDREN) - used_before_s)


def alternately(commands: Mapping[str, Callable[[], Cost]], rounds: int = _ROUNDS) -> dict[str, Cost]:
    """Runs each command once per round; returns the median costs by name.

    An extra first round fills caches and is not counted.
    """
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, run in commands.items():
            cost = run()
            if number:
                costs[name].append(cost)
    return {
        name: Cost(
            wall_s=statistics.median(cost.wall_s for cost in found),
            processor_s=statistics.median(cost.processor_s for cost in found),
        )
        for name, found in costs.items()
    }


def comparable(checkout: str) -> Path:
    """Returns the path of another checkout. Ends the program with 2 if the checkout has no environment for tests."""
    if not (Path(checkout) / ".venv/bin/pytest").exists():
        print(ScenarioError("AGAINST", checkout, "a checkout of the lab after `make setup-test`"), file=sys.stderr)
        sys.exit(2)
    return Path(checkout).resolve()


def print_ratios(lines: Iterable[Line]) -> None:
    """Prints the table of the ratios."""
    table = Table("what is compared", "first, s", "second, s", "first / second", "limit of the ratio")
    for line in lines:
        table.add_row(*line.cells)
    Console(width=max(100, Console().width)).print(table)


def outside_the_arms_s(command_s: float, experiment: Path) -> float:
    """Returns the part of a command's wall time in which no arm of its experiment ran, if the arms ran side by side."""
    return command_s - max(run.record.wall_s for run in load_experiment(experiment).runs)


def _lab(root: Path, words: Sequence[str], results: Path) -> Callable[[], Cost]:
    return lambda: cost_of([str(root / ".venv/bin/priolab"), *words, f"RESULTS={results}"], root)


def _lines(other: Path | None, scratch: Path) -> list[Line]:
    lines = []
    for name, words in (("default experiment", _DEFAULT), ("modem experiment", _MODEM)):
        commands = {
            "auto": _lab(_ROOT, words, scratch),
            "none": _lab(_ROOT, (*words, "SAMPLE=none"), scratch),
        }
        if other is not None:
            commands["other"] = _lab(other, words, scratch)
        found = alternately(commands)
        auto_s = found["auto"].processor_s
        against_none = f"processor time, {name}: SAMPLE=auto against SAMPLE=none"
        lines.append(Line(name=against_none, one_s=auto_s, other_s=found["none"].processor_s, limit=_INSTRUMENTS_MOST))
        if other is not None:
            against = f"processor time, {name}: this checkout against the other"
            lines.append(Line(name=against, one_s=auto_s, other_s=found["other"].processor_s, limit=_PARENT_MOST))
    return lines


def _fast_lines(other: Path, scratch: Path) -> list[Line]:
    """Compares what an arm costs on a fast link: the difference between sweeps of four runs and of two, per run."""
    lines = []
    for name, knobs in FAST_ARMS.items():
        words = (
            "sweep",
            _GUEST,
            "LOWAT=none,131072",
            "JS_DELAY=200ms",
            *(f"{knob}={value}" for knob, value in knobs.items()),
        )
        commands = {
            f"{root} {times}": _lab(root, (*words, f"REPEAT={times}"), scratch)
            for root in (_ROOT, other)
            for times in (1, 2)
        }
        found = alternately(commands)
        one_s, other_s = (
            (found[f"{root} 2"].processor_s - found[f"{root} 1"].processor_s) / 2 for root in (_ROOT, other)
        )
        against = f"processor time, an arm at {name}: this checkout against the other"
        lines.append(Line(name=against, one_s=one_s, other_s=other_s, limit=_PARENT_MOST))
    return lines


def _start_line() -> Line:
    """Compares the time to start the command `priolab list` with the time to start Python."""
    python, priolab = str(_ROOT / ".venv/bin/python"), str(_ROOT / ".venv/bin/priolab")
    found = alternately(
        {
            "list": lambda: cost_of([priolab, "list"], _ROOT),
            "pass": lambda: cost_of([python, "-c", "pass"], _ROOT),
        },
        rounds=5 * _ROUNDS,
    )
    list_s, pass_s = found["list"].wall_s, found["pass"].wall_s
    return Line(
        name="wall time: `priolab list` against `python -c pass`", one_s=list_s, other_s=pass_s, limit=0.2 / 0.03
    )


def _experiment_line(scratch: Path) -> Line:
    """Compares the time that `make experiment` takes besides its arms with the time to start Python."""
    words = ["make", "experiment", "LOWAT=131072", _GUEST, f"RESULTS={scratch / 'made'}"]
    spent, passed = [], []
    for _ in range(_ROUNDS + 1):
        cost = cost_of(words, _ROOT)
        spent.append(outside_the_arms_s(cost.wall_s, scratch / "made" / "latest"))
        passed.append(cost_of([str(_ROOT / ".venv/bin/python"), "-c", "pass"], _ROOT).wall_s)
    name = "wall time: `make experiment` without its arms against `python -c pass`"
    outside_s, pass_s = statistics.median(spent[1:]), statistics.median(passed[1:])
    return Line(name=name, one_s=outside_s, other_s=pass_s, limit=1.2 / 0.03)


def _sweep_line(scratch: Path) -> tuple[str, float]:
    """Returns a line's name, and the link time of a sweep in seconds for each second of processor time."""
    cost = _lab(_ROOT, _SWEEP, scratch / "swept")()
    loaded_s = link_s(scratch / "swept" / "latest")
    return "modem sweep with SAMPLE=100ms: link seconds per processor second", loaded_s / cost.processor_s


def link_s(folder: Path) -> float:
    """Returns the link time of all loads of all runs, in seconds."""
    total_ns = 0
    for run in load_experiment(folder).runs:
        for load in page_loads(load_run(run.path).evidence()):
            total_ns += load.complete_ns - load.started_ns
    return total_ns / 10**9


def main(checkout: str | None = None) -> None:
    """Prints the table of the ratios.

    checkout: the folder of another checkout to compare with; None for no comparison.
    """
    other = None if checkout is None else comparable(checkout)
    with tempfile.TemporaryDirectory(prefix="priolab-bench-") as folder:
        scratch = Path(folder)
        fast = [] if other is None else _fast_lines(other, scratch / "fast")
        print_ratios([*_lines(other, scratch), *fast, _start_line(), _experiment_line(scratch)])
        name, speed = _sweep_line(scratch)
    print(f"{name}: {speed:.0f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
