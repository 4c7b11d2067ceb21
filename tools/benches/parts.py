"""Measures where the processor time of a run in the guest goes; a part of `make scaling`.

The time of a part is the difference between the times of two commands, or of two numbers of runs, that differ in this
part alone. The commands run alternately, so that the differences depend little on the machine's load. The times of the
parts are not exact, and need not add up to a run's time.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from priolab.common.errors import StepFailed
from priolab.common.home import ROOT
from priolab.common.process.search_path import find
from priolab.experiments.setup.origin_process import ONE_THREAD, PAGE
from priolab.testbed import kernel
from tools.benches.cost import Cost, alternately, cost_of
from tools.benches.guest import guest_command

_ROUNDS = 3
FEW, MANY = 2, 8
_ARMS = 2
_STARTS = 20
_VARIANTS: Mapping[str, tuple[str, ...]] = {
    "empty": ("SIZE=2048", "RELOADS=0", "SAMPLE=none"),
    "loads": ("SAMPLE=none",),
    "sampled": ("SAMPLE=auto",),
}

# The guest's first process: starts a program N times, and switches the guest off (<linux/reboot.h>). As in a run, the
# program and its libraries stay open, so that the guest keeps what it has read of them.
_INIT = """
import ctypes, subprocess, sys
from priolab.testbed.guest.guest_init import keep_open
keep_open([sys.argv[2]])
for _ in range(int(sys.argv[1])):
    subprocess.run(sys.argv[2:], check=True)
print("done", flush=True)
ctypes.CDLL(None).reboot(0x4321FEDC)
"""


def parts(scenario: str, scratch: Path) -> Mapping[str, float]:
    """Returns the processor seconds of each part of a run, by the part's name. scratch: a folder for results."""
    lab = str(ROOT / ".venv/bin/priolab")
    words = (f"SCENARIO={scenario}", "FABRIC=virtual", f"RESULTS={scratch / 'parts'}")
    imports = f'import "node:http"; import "{PAGE}"'
    node = [find("node") or "node", *ONE_THREAD, "--input-type=module", "-e", imports]
    commands: dict[str, Callable[[], Cost]] = {
        "drawn": partial(cost_of, [lab, "run", *words], ROOT),
        "unseen": partial(cost_of, [lab, "run", *words, "--print-folder"], ROOT),
        **{f"{times} starts": partial(cost_of_guest, node, times, scratch) for times in (0, _STARTS)},
    }
    for name, variant in _VARIANTS.items():
        for repeat in (FEW, MANY):
            grid = ("LOWAT=16384,131072", "JS_DELAY=200ms", f"REPEAT={repeat}", *variant)
            commands[f"{name} {repeat}"] = partial(cost_of, [lab, "sweep", *words, *grid], ROOT)
    used_s = {name: cost.processor_s for name, cost in alternately(commands, _ROUNDS).items()}
    seconds = {name: run_s(used_s[f"{name} {FEW}"], used_s[f"{name} {MANY}"]) for name in _VARIANTS}
    node_s = (used_s[f"{_STARTS} starts"] - used_s["0 starts"]) / _STARTS
    return {
        "a run without a page: places, servers, calibration, client, evaluation": seconds["empty"],
        "- of this, the start of Node with the origin's modules": node_s,
        "the page loads": seconds["loads"] - seconds["empty"],
        "the samples of `SAMPLE=auto`": seconds["sampled"] - seconds["loads"],
        "the command and a guest, once for many runs": used_s["unseen"] / _ARMS - seconds["sampled"],
        "the pictures of `priolab run`, once for all arms": used_s["drawn"] - used_s["unseen"],
    }


def run_s(few_s: float, many_s: float) -> float:
    """Returns the cost of a run: the difference between a sweep of many runs and one of few, per run.

    few_s, many_s: the costs of the two sweeps, which start the same number of guests.
    """
    return (many_s - few_s) / (MANY - FEW) / _ARMS


def cost_of_guest(program: list[str], times: int, scratch: Path) -> Cost:
    """Returns the cost of a guest that runs the program so many times, one after the other.

    As in a sweep, the guest keeps to one processor: system calls take five times as long if it changes processors.
    """
    init = scratch / f"init-{times}"
    words = shlex.join([sys.executable, "-I", "-c", _INIT, str(times), *program])
    init.write_text(f"#!/bin/sh\nexport PATH={shlex.quote(os.environ['PATH'])}\nexec {words}\n")
    init.chmod(0o755)
    try:
        command = guest_command([str(kernel.path()), *kernel.words()], init, "mem=512M")
        return cost_of(["taskset", "--cpu-list", str(min(os.sched_getaffinity(0))), *command], scratch)
    except subprocess.CalledProcessError as error:
        raise StepFailed(shlex.join(program[:1]), f"the guest ended with exit code {error.returncode}") from error
