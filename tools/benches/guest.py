"""Compares guests of two kernels at the same work: system calls, pipe round trips, page faults, forks.

    python -m tools.benches.guest

One kernel is the guest kernel that the lab uses; the other is Linux 6.1, which programs enter by ptrace(2) only. The
bench also measures, without a guest, the least time that this host needs to enter a guest kernel by seccomp(2) and to
return from it.
"""

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from priolab.common.errors import StepFailed
from priolab.common.process.processes import die_with_parent
from priolab.common.running import finished
from priolab.experiments.commands.console import Report
from priolab.experiments.commands.guest_kernel import built_kernel
from priolab.testbed import Version, kernel, kernel_source

_PROGRAM = Path(__file__).with_name("micro.c")
_STOP = Path(__file__).with_name("stop.c")
_SYSTEM_CALLS = 200_000
_US = 10**6
_WORK = {
    "system-calls": "200,000 system calls",
    "round-trips": "30,000 pipe round trips",
    "faults": "200,000 page faults",
    "forks": "500 forks",
}
_NOTHING = "nothing"
_ROUNDS = 5
_BESIDE: Version = (6, 1)


def main() -> None:
    """Prints each kernel's seconds and their ratio, without the guest's start: the medians of several rounds."""
    report = Report()
    kernels = dict((_kernel(None, report), _kernel(_BESIDE, report)))
    table = Table("in the guest", *kernels, "ratio", "range of ratios")
    with tempfile.TemporaryDirectory(prefix="priolab-bench-") as folder:
        program = Path(folder) / "micro"
        subprocess.run(["gcc", "-O1", "-static", "-o", program, _PROGRAM], check=True)
        used_us = 0.0
        for work, name in _WORK.items():
            rounds = [[_work_s(words, program, work) for words in kernels.values()] for _ in range(_ROUNDS)]
            medians = [statistics.median(each) for each in zip(*rounds, strict=True)]
            if work == "system-calls":
                used_us = medians[0] / _SYSTEM_CALLS * _US
            ratios = [beside / used for used, beside in rounds]
            table.add_row(
                name,
                *(f"{median:.2f} s" for median in medians),
                f"{statistics.median(ratios):.1f}",
                f"{min(ratios):.1f} - {max(ratios):.1f}",
            )
        least_us = _stop_us(Path(folder) / "stop")
    console = Console()
    console.print(table)
    console.print(f"a system call in the guest takes {used_us:.1f} µs; the host's part is at least {least_us:.1f} µs")


def _stop_us(program: Path) -> float:
    """Returns the µs in which this host enters a guest kernel by seccomp(2) and returns: the median of some rounds."""
    subprocess.run(["gcc", "-O1", "-o", program, _STOP], check=True)
    rounds = [subprocess.run([program], capture_output=True, text=True, check=True).stdout for _ in range(_ROUNDS)]
    return statistics.median(map(float, rounds))


def _kernel(version: Version | None, report: Report) -> tuple[str, list[str]]:
    """Returns a kernel's name and the beginning of its command line; builds the kernel if it is missing."""
    with kernel_source.wanted(version):
        record = built_kernel(report)
        return f"Linux {record.version}, {kernel.entry()}", [str(kernel.path()), *kernel.words()]


def _work_s(kernel_words: list[str], program: Path, work: str) -> float:
    """Returns the wall seconds of the work: the time of a guest that does the work, less the time of an idle guest."""
    return _guest_s(kernel_words, program, work) - _guest_s(kernel_words, program, _NOTHING)


def _guest_s(kernel_words: list[str], program: Path, work: str) -> float:
    """Returns the wall seconds of a guest from start to end. Like the lab's guests, it is kept on one processor."""
    cpu = min(os.sched_getaffinity(0))
    started = time.monotonic()
    command = ["taskset", "--cpu-list", str(cpu), *guest_command(kernel_words, program, "mem=256M", f"WHAT={work}")]
    done = finished(command, 600, begin=die_with_parent)
    if "done" not in done.out:
        raise StepFailed(f"the guest's {work}", done.out + done.errors)
    return time.monotonic() - started


def guest_command(kernel_words: Sequence[str], init: Path, *words: str) -> list[str]:
    """Returns the command that starts a guest whose first process is `init`, a file in a folder for the guest's files.

    kernel_words: the kernel's path and the words that it always gets. words: further words, such as mem=256M.
    """
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else str(init.parent)  # noqa: S108
    console = ["con=null", "con0=null,fd:1", "quiet", "time-travel=inf-cpu"]
    root = ["root=none", "rootfstype=hostfs", "rootflags=/", "ro", f"init={init}", f"uml_dir={init.parent}"]
    return ["env", f"TMPDIR={memory}", *kernel_words, *console, *words, *root]


if __name__ == "__main__":
    main()
