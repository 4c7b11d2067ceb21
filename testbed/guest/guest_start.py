"""The guest's first process, `python -P guest_start.py 9<LIST`: prepares OpenSSL, then calls guest_init for the tasks.

LIST is a file that names the tasks' folders. OpenSSL mixes memory addresses of its own data into its random numbers.
The addresses depend on the names of folders and on the build of Python. So the client's OpenSSL gets the kernel's
random numbers as they are. If that cannot be set, it allocates this data before any other code of the lab is in memory.
Then the addresses are at least the same in every guest of this checkout. For that, this file imports the standard
library alone, is started by its path, and has no other argument.
"""

import _ssl
import contextlib
import ctypes
import gc
import os
import ssl
import sys
import time
import traceback
from importlib import import_module
from pathlib import Path

_POWER_OFF = 0x4321_FEDC  # <linux/reboot.h>
_SEED = Path("/sys/module/random/parameters/seed")
_DAY_NS = 1_767_225_600 * 10**9  # 2026-01-01
_Bytes = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
_Status = ctypes.CFUNCTYPE(ctypes.c_int)
libc = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> None:
    """Raises OSError if a system call failed. result: what the call returned. what: the call's purpose, in words."""
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def mount(kind: str, target: str, options: str = "") -> None:
    """Mounts a file system that needs no device, such as proc (the kind). Raises OSError."""
    check(libc.mount(b"none", target.encode(), kind.encode(), 0, options.encode()), f"mounting {kind} on {target}")


def begin_anew(seed: int) -> bool:
    """Sets the time of day, and the seed of all random numbers. Returns as `set_seed`."""
    time.clock_settime_ns(time.CLOCK_REALTIME, _DAY_NS)
    return set_seed(seed)


def set_seed(seed: int) -> bool:
    """Sets the seed of all random numbers from now on. Returns True if the kernel accepts a seed.

    A guest kernel of another version may lack the lab's patch that makes the kernel accept a seed (kernel_patches/).
    """
    if _SEED.exists():
        _SEED.write_text(str(seed))
        return True
    return False


def _random_bytes(buffer: int, count: int) -> int:
    """Fills the buffer with random numbers from the kernel. Returns 1, for success."""
    ctypes.memmove(buffer, os.urandom(count), count)
    return 1


class _Method(ctypes.Structure):
    """RAND_METHOD of <openssl/rand.h>."""

    _fields_ = (
        ("seed", ctypes.c_void_p),
        ("bytes", _Bytes),
        ("cleanup", ctypes.c_void_p),
        ("add", ctypes.c_void_p),
        ("pseudorand", _Bytes),
        ("status", _Status),
    )


_METHOD = _Method(bytes=_Bytes(_random_bytes), pseudorand=_Bytes(_random_bytes), status=_Status(lambda: 1))


def _draw_from_the_kernel() -> bool:
    """Makes Python's OpenSSL take all its random numbers from the kernel. Returns False if OpenSSL is out of reach."""
    try:
        choose = ctypes.CDLL(_ssl.__file__).RAND_set_rand_method
    except AttributeError:  # Python has OpenSSL within itself
        return False
    return bool(choose(ctypes.byref(_METHOD)))


def _settle_openssl() -> None:
    """Begins a TLS handshake, for which OpenSSL allocates its two random number generators, public and private."""
    connection = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).wrap_bio(
        ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="settled"
    )
    with contextlib.suppress(ssl.SSLWantReadError):
        connection.do_handshake()


def _main() -> None:
    """Carries out the tasks, then switches the guest off. Never returns."""
    try:
        mount("proc", "/proc")
        mount("sysfs", "/sys")
        begin_anew(0)
        if not _draw_from_the_kernel():
            _settle_openssl()
        gc.disable()  # what imports make stays, so a search for garbage would find none
        tasks = import_module("priolab.testbed.guest.guest_init")  # which imports this file's calls
        gc.enable()
        tasks.carry_out_tasks()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os.sync()
        libc.reboot(_POWER_OFF)


if __name__ == "__main__":
    _main()
