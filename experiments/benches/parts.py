"""Measures where the processor time of a run in the guest goes; a part of `make scaling`.

Each figure is a difference between two commands, or between two numbers of runs, that differ in this part alone. So the
parts are not exact, and need not add up to a run's time.
"""

import os
import resource
import shlex
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from experiments.errors import StepFailed
from experiments.host.home import ROOT
from experiments.host.origin_process import ONE_THREAD
from experiments.host.processes import find
from experiments.sweep.pace import used_s
from experiments.testbed.guest import kernel

_ROUNDS = 3
_FEW, _MANY = 3, 9
_ARMS = 2
_STARTS = 20
_EMPTY = ("SIZE=2048", "RELOADS=0")
_WITHOUT, _WITH = "SAMPLE=none", "SAMPLE=auto"

# Guest's first process: starts a program N times, and switches the guest off (<linux/reboot.h>).
_INIT = """
import ctypes, subprocess, sys
for _ in range(int(sys.argv[1])):
    subprocess.run(sys.argv[2:], check=True)
print("done", flush=True)
ctypes.CDLL(None).reboot(0x4321FEDC)
"""


def parts(scenario: str, scratch: Path) -> Mapping[str, float]:
    """Returns the processor seconds of each part of a run, by the part's name. scratch: a folder for results."""
    lab = str(ROOT / ".venv/bin/priolab")

    def sweep_s(repeat: int, *words: str) -> float:
        grid = (f"SCENARIO={scenario}", "LOWAT=16384,131072", f"REPEAT={repeat}", "FABRIC=virtual")
        return _median_s([lab, "sweep", *grid, *words, f"RESULTS={scratch / 'parts'}"])

    def run_s(*words: str) -> float:
        command = [lab, "run", f"SCENARIO={scenario}", "FABRIC=virtual", f"RESULTS={scratch / 'parts'}", *words]
        return _median_s(command)

    def slope_s(*words: str) -> float:
        return (sweep_s(_MANY, *words) - sweep_s(_FEW, *words)) / (_MANY - _FEW) / _ARMS

    empty_s, loads_s, sampled_s = slope_s(*_EMPTY, _WITHOUT), slope_s(_WITHOUT), slope_s(_WITH)
    unseen_s = run_s("--print-folder")
    return {
        "a run without a page: places, servers, calibration, client, evaluation": empty_s,
        "- of this, Node's start": _started_s([find("node") or "node", *ONE_THREAD, "-e", "0"], scratch),
        "the page loads": loads_s - empty_s,
        "the samples of `SAMPLE=auto`": sampled_s - loads_s,
        "the command and a guest, once for many runs": unseen_s / 2 - sampled_s,
        "the pictures of `priolab run`, once for all arms": run_s() - unseen_s,
    }


def _median_s(command: list[str], environment: Mapping[str, str] | None = None) -> float:
    return statistics.median(_used_s(lambda: _silent(command, environment)) for _ in range(_ROUNDS))


def _used_s(act: Callable[[], None]) -> float:
    """Returns the processor time of the processes that `act` starts and waits for."""
    before_s = used_s(resource.RUSAGE_CHILDREN)
    act()
    return used_s(resource.RUSAGE_CHILDREN) - before_s


def _silent(command: list[str], environment: Mapping[str, str] | None) -> None:
    """Runs a command. Raises StepFailed with the end of its output."""
    # Without compiled files each command would compile the lab's modules again.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, env=kept | dict(environment or {}), capture_output=True, text=True, check=False)
    if done.returncode and "done" not in done.stdout:
        raise StepFailed(shlex.join(command[:2]), (done.stdout + done.stderr)[-500:])


def _started_s(program: list[str], scratch: Path) -> float:
    """Returns the processor seconds to start a program in a guest, and to wait for its end."""

    def guest_s(times: int) -> float:
        init = scratch / f"init-{times}"
        words = shlex.join([sys.executable, "-I", "-c", _INIT, str(times), *program])
        init.write_text(f"#!/bin/sh\nexport PATH={shlex.quote(os.environ['PATH'])}\nexec {words}\n")
        init.chmod(0o755)
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else str(scratch)  # noqa: S108
        guest = ["mem=512M", "con=null", "con0=null,fd:1", "quiet", "time-travel=inf-cpu", *kernel.words()]
        root = ["root=none", "rootfstype=hostfs", "rootflags=/", "ro", f"init={init}", f"uml_dir={scratch}"]
        return _median_s([str(kernel.path()), *guest, *root], {"TMPDIR": memory})

    return (guest_s(_STARTS) - guest_s(0)) / _STARTS
