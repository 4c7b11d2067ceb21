"""Carries out tasks (guest_task.py) in the guest, one after the other. guest_start.py calls it.

The guest's root is the host's file system, read-only. The folder of the current task is mounted on /mnt, writable.

Rules:
1. Every task finds the guest in the same state: the same time of day, the same phase of the kernel's ticks, random
   numbers that follow from the task's seed, empty folders to write to (/run, /dev/shm), and the task's folder under the
   same path. Every task is the first process of a PID namespace, so all processes that it started end with it.
2. Programs run in the order in which they were woken (SCHED_FIFO). The kernel's default scheduler would measure CPU
   time with a clock that stands still, and would choose the next program at every entry into the kernel, page faults
   included. The order of the programs would then depend on the layout of code in memory. Browsers run under the
   default scheduler, because their threads wait for each other by spinning.
3. A task's output is printed between the lines "@ begins NAME" and "@ ended NAME".
4. The first task of the list belongs to this guest. Each further one is on offer to several guests: this guest claims
   it before it begins it, and passes over a task that another guest has claimed.
5. Then the guest prints the line "@ idle", and waits for the name of a file that lists further tasks.
"""

import ctypes
import gc
import json
import os
import re
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TextIO

from priolab.common.elf import read_elf
from priolab.testbed.guest import io_uring
from priolab.testbed.guest.guest_start import begin_anew, check, libc, mount
from priolab.testbed.guest.guest_task import GuestTask, Tasks, tasks_of_guest
from priolab.testbed.process import work_folder
from priolab.testbed.process.work_folder import BEGINS, ENDED, IDLE, PARTIAL, PROGRESS

_CLONE_NEWNS, _CLONE_NEWPID = 0x0002_0000, 0x2000_0000  # <linux/sched.h>
_PR_SET_TIMERSLACK = 29  # <linux/prctl.h>
_TIMER_ABSTIME = 1
_CONGESTION_CONTROLS = "reno cubic bbr"
_PRIORITY = 1  # under SCHED_FIFO
_LIST = 9  # the descriptor of the list of run folders
_FOLDER = Path("/mnt")
# A tick is 10 ms. The kernel rounds a timer to a multiple of some number of ticks. This number grows with the timer's
# length, up to 4,096.
_ALIGNMENT_NS = 1024 * 10**9
# From this time on, the timestamps of eighty runs have the same number of digits. One more digit would make lines
# longer and fill buffers sooner, and programs would then read the clock at other times.
_FIRST_NS = 16 * _ALIGNMENT_NS
# Until this time a guest may wait for forty further runs, whose timestamps have this number of digits, too.
_LAST_NS = 56 * _ALIGNMENT_NS
_SEMAPHORES = Path("/dev/shm")  # noqa: S108
_WRITABLE = (
    str(_SEMAPHORES),
    "/var/tmp",  # noqa: S108
    "/var/lib/nginx",
    "/var/log/nginx",
    "/var/cache/nginx",
    "/var/log/apache2",
    "/var/cache/apache2",
    "/var/log/lighttpd",
    "/var/cache/lighttpd",
    "/var/log/trafficserver",
    "/var/cache/trafficserver",
)
"""The usual folders of servers' files, and of POSIX semaphores: empty, and writable for all users. In /tmp the guest
has the host's files; TMPDIR names /run instead."""
_LIBRARY = re.compile(r"(/\S+) \(0x")  # as ld.so(8) lists them
_HOST_LINE = Path("/sys/module/um_arch/parameters/host_line")  # kernel_patches/host_line.py
_LINE_BYTES = 4096


def _wait_for_alignment() -> int:
    """Sleeps until the clock is at a multiple of 1024 s, so that the kernel's timers have the same phase in every run.

    The guest's clock jumps over the wait. Returns how many seconds later than the first run of a guest this is.
    """
    due_ns = max(_FIRST_NS, (time.monotonic_ns() // _ALIGNMENT_NS + 1) * _ALIGNMENT_NS)
    until = (ctypes.c_long * 2)(due_ns // 10**9, 0)  # struct timespec
    libc.prctl(_PR_SET_TIMERSLACK, 1)
    # time.sleep would read the clock itself before it sleeps; each reading takes 256 ns here.
    check(libc.clock_nanosleep(time.CLOCK_MONOTONIC, _TIMER_ABSTIME, until, None), "waiting for the clock")
    libc.prctl(_PR_SET_TIMERSLACK, 0)  # back to the default
    return (due_ns - _FIRST_NS) // 10**9


def _take_turns() -> None:
    """Gives this process and its descendants the scheduler SCHED_FIFO, and removes its limit of CPU time."""
    Path("/proc/sys/kernel/sched_rt_runtime_us").write_text("-1")
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))


def keep_open(programs: Iterable[str], root: Path | None = None) -> None:
    """Opens programs and their libraries, and keeps them open while this process lives.

    root: the file tree in which the programs run; None for this machine's. The kernel drops a file of the host from its
    cache when no process has the file open. It would then read the file again for the next task. Node alone has 46 MB.
    """
    for program in programs:
        listed = ""
        file = Path(f"{root or ''}{program}")
        if (elf := read_elf(file)) and elf.loader:  # the variable stops no other program from starting
            listed = subprocess.run(
                [program],
                env={"LD_TRACE_LOADED_OBJECTS": "1"},
                capture_output=True,
                text=True,
                check=False,
                preexec_fn=partial(os.chroot, root) if root else None,
            ).stdout
        for path in (program, *_LIBRARY.findall(listed)):
            os.open(f"{root or ''}{path}", os.O_RDONLY | os.O_CLOEXEC)


def _keep_programs(tasks: Iterable[GuestTask], kept: set[tuple[str | None, str]]) -> None:
    """Keeps the programs of the tasks open. kept: the root and the path of those that are open; gets the others."""
    programs = {program for task in tasks for program in task.programs}
    for root, program in sorted(programs - kept, key=lambda each: (each[0] or "", each[1])):
        keep_open([program], Path(root) if root else None)
    kept |= programs


def _nothing() -> None:
    """Does nothing while a child works."""


def _warm_up(tasks: Tasks) -> None:
    """Warms up before the first task, so that every task starts from the same state. Raises ChildProcessError."""
    read, write = os.pipe()

    def tell() -> None:
        with os.fdopen(write, "w") as told:
            json.dump(tasks.warm_up(), told)

    # The parent has to read while the child writes: the pictures do not fit into the pipe.
    told: list[str] = []

    def hear() -> None:
        os.close(write)
        with os.fdopen(read) as heard:
            told.append(heard.read())

    if not _in_a_child(tell, meanwhile=hear):
        raise ChildProcessError("the warm-up failed, so a task would depend on those before it")
    tasks.use(json.loads(told[0]))


def _in_a_child(do: Callable[[], None], meanwhile: Callable[[], None] = _nothing) -> bool:
    """Runs `do` in a process and a mount namespace of its own, with an empty /run. Returns True if `do` succeeded.

    meanwhile: called in this process.
    """
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
    meanwhile()
    return os.waitpid(child, 0)[1] == 0


def _claim(path: Path) -> bool:
    """Claims a run for this guest; returns False if another guest has it. path: the run's folder on the host."""
    try:
        mount("hostfs", str(_FOLDER), str(path))
    except FileNotFoundError:  # the run has ended, and its folder has another name
        return False
    claimed = work_folder.claim(_FOLDER)
    check(libc.umount(str(_FOLDER).encode()), "unmounting a run's folder")
    return claimed


def _carry_out(path: Path, task: GuestTask) -> None:
    """Carries out a task in a process of its own. path: the task's folder on the host."""
    name = path.name.removesuffix(PARTIAL)
    print(f"{PROGRESS}{BEGINS}{name}", flush=True)
    writable = _make_writable()
    home = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    later_s = _wait_for_alignment()
    seeded = begin_anew(task.seed)
    check(libc.unshare(_CLONE_NEWPID), "a new PID namespace")

    def run() -> None:
        if not task.in_turns:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        mount("hostfs", str(_FOLDER), str(path))
        task.carry_out(_FOLDER, seeded=seeded, known_as=path, later_s=later_s)

    _in_a_child(run)
    check(libc.setns(home, _CLONE_NEWPID), "leaving the PID namespace")
    os.close(home)
    for folder in reversed(writable):
        check(libc.umount(folder.encode()), f"unmounting {folder}")
    print(f"{PROGRESS}{ENDED}{name}", flush=True)


def _make_writable() -> list[str]:
    """Mounts an empty file system on each folder of _WRITABLE that exists. Returns the folders.

    Such a mount draws random numbers, so it must precede the run's seed.
    """
    _SEMAPHORES.mkdir(exist_ok=True)
    folders = [folder for folder in _WRITABLE if Path(folder).is_dir()]
    for folder in folders:
        mount("tmpfs", folder)
    return folders


def _listed(file: TextIO) -> list[Path]:
    with file:
        return [Path(line) for line in file.read().splitlines()]


def _further() -> list[Path]:
    """Waits for the lab to name a file that lists further run folders. Returns none if the lab wants no more."""
    if not _HOST_LINE.exists() or time.monotonic_ns() > _LAST_NS:
        return []
    print(f"{PROGRESS}{IDLE}", flush=True)
    line = os.open(_HOST_LINE, os.O_RDONLY)
    name = os.read(line, _LINE_BYTES).decode().rstrip("\n")
    os.close(line)
    return _listed(Path(name).open()) if name else []


def carry_out_tasks() -> None:
    """Carries out tasks whose folders the file at descriptor 9 lists, the first of them and all that it can claim.

    Raises OSError and ChildProcessError.
    """
    tasks = tasks_of_guest()
    tasks.begin()
    _take_turns()
    # Network namespaces made later can use only the congestion controls that the first one allows.
    Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").write_text(_CONGESTION_CONTROLS)
    io_uring.forbid()
    kept: set[tuple[str | None, str]] = set()
    is_warm = False
    paths = _listed(os.fdopen(_LIST))
    while paths:
        found: dict[Path, GuestTask] = {}
        for path in paths:
            with suppress(FileNotFoundError):  # another guest has carried out the task
                found[path] = tasks.read_task(path)
        _keep_programs(found.values(), kept)
        next(iter(found.values())).prepare()
        if not is_warm:
            _warm_up(tasks)
            is_warm = True
        gc.freeze()
        for path, task in found.items():
            if path == paths[0] or _claim(path):
                _carry_out(path, task)
        paths = _further()
