"""The guest's first process: makes the mounts, carries out runs one after the other, switches the guest off.

Runs inside the guest as `python -P guest_init.py 9<LIST`; LIST has a run folder per line. The root is the host's file
system, read-only; the folder of the run at work is mounted, writable, on /mnt.

Rules:
1. Every run, first or last, finds the same guest: the same time of day, the same phase of the kernel's ticks, random
   numbers that follow from its seed, a process of its own that is the first of a PID namespace, an empty /run, and its
   folder under the same name. Everything it started ends with that process.
2. OpenSSL uses addresses of its own as random numbers. They are settled before anything else of the lab has a place in
   memory: so this file imports the standard library alone, is started by its path, and has no other argument.
3. Programs run in the order in which they were woken (SCHED_FIFO). The usual scheduler measures used time by a clock
   that stands still, and checks at every entry into the kernel, page faults included: then the layout of code in memory
   would decide the order.
4. Lines "@ begins NAME" and "@ ended NAME" frame the output of a run.
"""

import contextlib
import ctypes
import gc
import os
import ssl
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.results.order import Order

_POWER_OFF = 0x4321_FEDC  # <linux/reboot.h>
_CLONE_NEWNS, _CLONE_NEWPID = 0x0002_0000, 0x2000_0000  # <linux/sched.h>
_PR_SET_TIMERSLACK = 29  # <linux/prctl.h>
_TIMER_ABSTIME = 1
_CONGESTION_CONTROLS = "reno cubic bbr"
_PRIORITY = 1  # of SCHED_FIFO
_LIST = 9  # a descriptor
_SEED = Path("/sys/module/random/parameters/seed")
_FOLDER = Path("/mnt")
_DAY_NS = 1_767_225_600 * 10**9  # 2026-01-01
# A tick is 10 ms, and the kernel rounds a timer to up to 4,096 of them, the longer it is the more.
_ALIGNMENT_NS = 1024 * 10**9
# From here on, the times of eighty runs have equally many digits. One more digit makes lines longer and a buffer full
# sooner, and a program then reads the clock at another moment.
_FIRST_NS = 16 * _ALIGNMENT_NS
_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def _mount(kind: str, target: str, options: str = "") -> None:
    _check(_libc.mount(b"none", target.encode(), kind.encode(), 0, options.encode()), f"mounting {kind} on {target}")


def _wait_for_alignment() -> None:
    """Sleeps, which takes no time, until the clock has the phase with which every run begins."""
    due_ns = max(_FIRST_NS, (time.monotonic_ns() // _ALIGNMENT_NS + 1) * _ALIGNMENT_NS)
    until = (ctypes.c_long * 2)(due_ns // 10**9, 0)  # struct timespec
    _libc.prctl(_PR_SET_TIMERSLACK, 1)
    # time.sleep would read the clock itself before it sleeps; each reading takes 256 ns here.
    _check(_libc.clock_nanosleep(time.CLOCK_MONOTONIC, _TIMER_ABSTIME, until, None), "waiting for the clock")
    _libc.prctl(_PR_SET_TIMERSLACK, 0)  # the usual one


def _begin_anew(seed: int) -> bool:
    """Sets the time of day, and the seed of all random numbers. True if the kernel takes a seed.

    A guest kernel made from another source may lack it (kernel_patches/).
    """
    time.clock_settime_ns(time.CLOCK_REALTIME, _DAY_NS)
    if _SEED.exists():
        _SEED.write_text(str(seed))
        return True
    return False


def _settle_openssl() -> None:
    """Begins a handshake, which puts both random number generators, public and private, at their final addresses."""
    connection = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).wrap_bio(
        ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="settled"
    )
    with contextlib.suppress(ssl.SSLWantReadError):
        connection.do_handshake()


def _take_turns() -> None:
    """Applies rule 3 to this process and its descendants, however long one of them computes."""
    Path("/proc/sys/kernel/sched_rt_runtime_us").write_text("-1")
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))


def _prepare(orders: Sequence["Order"]) -> None:
    """Warms caches, so that every run starts from the same state. Raises ChildProcessError."""
    from experiments.testbed.guest.rehearsal import keep_open, rehearse
    from experiments.testbed.namespaces.namespaces import known_beforehand

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
            _check(_libc.unshare(_CLONE_NEWNS), "a new mount namespace")
            _mount("proc", "/proc")
            _mount("tmpfs", "/run")
            do()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def _carry_out(path: Path, seed: int) -> None:
    """Carries out a run in a process of its own."""
    from experiments.results.order import BEGINS, ENDED
    from experiments.results.run_folder import PARTIAL, RunFolder
    from experiments.run.process import carry_out

    name = path.name.removesuffix(PARTIAL)
    print(f"@ {BEGINS}{name}", flush=True)
    home = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    _wait_for_alignment()
    seeded = _begin_anew(seed)
    _check(_libc.unshare(_CLONE_NEWPID), "a new PID namespace")

    def run() -> None:
        _mount("hostfs", str(_FOLDER), str(path))
        carry_out(RunFolder(_FOLDER), seeded=seeded, known_as=path)

    _in_a_child(run)
    _check(_libc.setns(home, _CLONE_NEWPID), "leaving the PID namespace")
    os.close(home)
    print(f"@ {ENDED}{name}", flush=True)


def main() -> None:
    """Carries out the runs; never returns, as the guest ends with it."""
    try:
        _mount("proc", "/proc")
        _mount("sysfs", "/sys")
        _begin_anew(0)
        _settle_openssl()
        _take_turns()
        with os.fdopen(_LIST) as file:
            paths = [Path(line) for line in file.read().splitlines()]
        # Namespaces made later may only choose what the first one allows.
        Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").write_text(_CONGESTION_CONTROLS)
        import experiments.run.process  # noqa: F401  once for all runs; pyroute2 wants /proc when it is imported
        from experiments.results.order import Order
        from experiments.results.run_folder import RunFolder

        orders = [Order.read(RunFolder(path)) for path in paths]
        _prepare(orders)
        gc.freeze()
        for path, order in zip(paths, orders, strict=True):
            _carry_out(path, order.seed)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os.sync()
        _libc.reboot(_POWER_OFF)


if __name__ == "__main__":
    main()
