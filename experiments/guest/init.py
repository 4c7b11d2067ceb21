"""The guest's first process: makes the few mounts it needs, carries out one arm, switches the guest off.

Runs inside the guest as `python -m experiments.guest.init RUN-FOLDER`. The root is the host's file system, read-only;
the run folder is mounted writable over itself, so every path means the same inside and outside.
"""

import ctypes
import os
import sys
import traceback
from pathlib import Path

from experiments.record import RunFolder

_POWER_OFF = 0x4321_FEDC  # <linux/reboot.h>
_CONGESTION_CONTROLS = "reno cubic bbr"
_libc = ctypes.CDLL(None, use_errno=True)


def _mount(kind: str, target: str, options: str = "") -> None:
    if _libc.mount(b"none", target.encode(), kind.encode(), 0, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), f"mounting {kind} on {target}: {os.strerror(ctypes.get_errno())}")


def main() -> None:
    """Never returns: the guest ends with it."""
    try:
        folder = sys.argv[1]
        _mount("proc", "/proc")
        _mount("sysfs", "/sys")
        _mount("tmpfs", "/run")
        _mount("hostfs", folder, folder)
        # Namespaces made later may only choose what the first one allows.
        Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").write_text(_CONGESTION_CONTROLS)
        from experiments.arm import carry_out  # pyroute2 wants /proc when it is imported

        carry_out(RunFolder(Path(folder)))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os.sync()
        _libc.reboot(_POWER_OFF)


if __name__ == "__main__":
    main()
