"""Carries out runs in the guest, one after the other. guest_start.py has come before.

The root is the host's file system, read-only; the folder of the run at work is mounted, writable, on /mnt.

Rules:
1. Every run, first or last, finds the same guest: the same time of day, the same phase of the kernel's ticks, random
   numbers that follow from its seed, a process of its own that is the first of a PID namespace, an empty /run, and its
   folder under the same name. Everything it started ends with that process.
2. Programs run in the order in which they were woken (SCHED_FIFO). The usual scheduler measures used time by a clock
   that stands still, and checks at every entry into the kernel, page faults included: then the layout of code in memory
   would decide the order. A browser is an exception: its threads wait for each other by spinning.
3. Lines "@ begins NAME" and "@ ended NAME" frame the output of a run.
"""

import ctypes
import gc
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from experiments.results.order import BEGINS, ENDED, Order
from experiments.results.run_folder import PARTIAL, RunFolder
from experiments.run.guest_start import begin_anew, check, libc, mount
from experiments.run.process import carry_out
from experiments.scenario.scenario import ClientKind
from experiments.testbed.guest.rehearsal import keep_open, rehearse
from experiments.testbed.namespaces.namespaces import known_beforehand

_CLONE_NEWNS, _CLONE_NEWPID = 0x0002_0000, 0x2000_0000  # <linux/sched.h>
_PR_SET_TIMERSLACK = 29  # <linux/prctl.h>
_TIMER_ABSTIME = 1
_CONGESTION_CONTROLS = "reno cubic bbr"
_PRIORITY = 1  # of SCHED_FIFO
_LIST = 9  # a descriptor
_FOLDER = Path("/mnt")
# A tick is 10 ms, and the kernel rounds a timer to up to 4,096 of them, the longer it is the more.
_ALIGNMENT_NS = 1024 * 10**9
# From here on, the times of eighty runs have equally many digits. One more digit makes lines longer and a buffer full
# sooner, and a program then reads the clock at another moment.
_FIRST_NS = 16 * _ALIGNMENT_NS


def _wait_for_alignment() -> None:
    """Sleeps, which takes no time, until the clock has the phase with which every run begins."""
    due_ns = max(_FIRST_NS, (time.monotonic_ns() // _ALIGNMENT_NS + 1) * _ALIGNMENT_NS)
    until = (ctypes.c_long * 2)(due_ns // 10**9, 0)  # struct timespec
    libc.prctl(_PR_SET_TIMERSLACK, 1)
    # time.sleep would read the clock itself before it sleeps; each reading takes 256 ns here.
    check(libc.clock_nanosleep(time.CLOCK_MONOTONIC, _TIMER_ABSTIME, until, None), "waiting for the clock")
    libc.prctl(_PR_SET_TIMERSLACK, 0)  # the usual one


def _take_turns() -> None:
    """Applies rule 2 to this process and its descendants, however long one of them computes."""
    Path("/proc/sys/kernel/sched_rt_runtime_us").write_text("-1")
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))


def _prepare(orders: Sequence[Order]) -> None:
    """Warms caches, so that every run starts from the same state. Raises ChildProcessError."""
    keep_open({program for order in orders for program in order.programs.values()})
    known_beforehand(orders[0].programs["node"])
    if not _in_a_child(rehearse):
        raise ChildProcessError("the rehearsal did not come to its end, so runs would not be what they are alone")


def _in_a_child(do: Callable[[], None]) -> bool:
    """Runs it in a process and a mount namespace of its own, with an empty /run. True if it succeeded."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            check(libc.unshare(_CLONE_NEWNS), "a new mount namespace")
            mount("proc", "/proc")
            mount("tmpfs", "/run")
            do()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def _carry_out(path: Path, order: Order) -> None:
    """Carries out a run in a process of its own."""
    name = path.name.removesuffix(PARTIAL)
    print(f"@ {BEGINS}{name}", flush=True)
    home = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    _wait_for_alignment()
    seeded = begin_anew(order.seed)
    check(libc.unshare(_CLONE_NEWPID), "a new PID namespace")

    def run() -> None:
        if order.scenario.client is ClientKind.CHROMIUM:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        mount("hostfs", str(_FOLDER), str(path))
        carry_out(RunFolder(_FOLDER), seeded=seeded, known_as=path)

    _in_a_child(run)
    check(libc.setns(home, _CLONE_NEWPID), "leaving the PID namespace")
    os.close(home)
    print(f"@ {ENDED}{name}", flush=True)


def carry_out_runs() -> None:
    """Carries out the runs whose folders are listed in descriptor 9. Raises OSError and ChildProcessError."""
    _take_turns()
    with os.fdopen(_LIST) as file:
        paths = [Path(line) for line in file.read().splitlines()]
    # Namespaces made later may only choose what the first one allows.
    Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").write_text(_CONGESTION_CONTROLS)
    orders = [Order.read(RunFolder(path)) for path in paths]
    _prepare(orders)
    gc.freeze()
    for path, order in zip(paths, orders, strict=True):
        _carry_out(path, order)
