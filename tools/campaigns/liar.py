"""Changes one thing in a running run, behind the lab's back: the part of `make lies` that runs inside the run.

    python -I liar.py LOG ADDRESS INSTANT-S ACTION WORD...

Waits, enters the network namespace that has the address, does the action, and writes "done" or the error into LOG.

    run COMMAND...              runs a command
    sysctl NAME VALUE           sets a sysctl
    socket LEVEL OPTION VALUE   sets an option of every connection of the place's programs
    pause TIMES ON-S OFF-S      stops the place's programs for a while, again and again
    send ADDRESS COUNT GAP-S    sends datagrams
    hog TIMES ON-S OFF-S        takes the processor from all others for a while, again and again
"""

import contextlib
import ctypes
import fcntl
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

_NETNS, _PIDFD_GETFD = 0x4000_0000, 438
_GET_ADDRESS = 0x8915  # SIOCGIFADDR
_PATIENCE_S = 30.0
_libc = ctypes.CDLL(None, use_errno=True)


def _addresses() -> set[str]:
    found = set()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(asking, _GET_ADDRESS, struct.pack("256s", name.encode()))
            except OSError:
                continue
            found.add(socket.inet_ntoa(answer[20:24]))
    return found


def _enter(address: str) -> int:
    """Enter the namespace; returns its inode. Namespaces without processes are held open by the run's process."""
    tried = set()
    for link in [*Path("/proc").glob("[0-9]*/fd/*"), *Path("/proc").glob("[0-9]*/ns/net")]:
        try:
            if not str(link.readlink()).startswith("net:["):
                continue
            inode = link.stat().st_ino
            if inode in tried:
                continue
            tried.add(inode)
            descriptor = os.open(link, os.O_RDONLY)
        except OSError:
            continue
        if _libc.setns(descriptor, _NETNS) == 0 and address in _addresses():
            return inode
    raise OSError(f"no place has the address {address}")


def _programs(inode: int) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        pid = int(process.name)
        try:
            if pid not in (1, os.getpid()) and (process / "ns/net").stat().st_ino == inode:
                found.append(pid)
        except OSError:
            continue
    return found


def _set_option(inode: int, level: int, option: int, value: bytes) -> int:
    """Set an option of all connections; returns their number."""
    count = 0
    for pid in _programs(inode):
        pidfd = os.pidfd_open(pid)
        try:
            entries = list(Path(f"/proc/{pid}/fd").iterdir())
        except OSError:
            continue
        for entry in entries:
            descriptor = _libc.syscall(_PIDFD_GETFD, pidfd, int(entry.name), 0)
            if descriptor < 0:
                continue
            try:
                copied = socket.socket(fileno=descriptor)
            except OSError:
                os.close(descriptor)
                continue
            with copied:
                try:
                    copied.getpeername()
                    if copied.family == socket.AF_INET:
                        copied.setsockopt(level, option, value)
                        count += 1
                except OSError as error:
                    if error.errno not in (107, 22, 92):  # not connected, not for this socket
                        raise
    return count


def _socket(inode: int, level: str, option: str, value: str) -> None:
    packed = struct.pack("=i", int(value)) if value.lstrip("-").isdigit() else value.encode()
    end_s = time.monotonic() + _PATIENCE_S
    while not _set_option(inode, int(level), int(option), packed):
        if time.monotonic() > end_s:
            raise OSError("no connection")
        time.sleep(0.05)


def _pause(inode: int, times: str, on_s: str, off_s: str) -> None:
    programs = _programs(inode)
    if not programs:
        raise OSError("no program")
    _tell("done")
    for _ in range(int(times)):
        for sent, wait_s in ((signal.SIGSTOP, on_s), (signal.SIGCONT, off_s)):
            for pid in programs:
                try:
                    os.kill(pid, sent)
                except ProcessLookupError:
                    continue
            time.sleep(float(wait_s))


def _send(_: int, address: str, count: str, gap_s: str) -> None:
    _tell("done")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for _ in range(int(count)):
            sender.sendto(bytes(1000), (address, 9))
            time.sleep(float(gap_s))


def _hog(_: int, times: str, on_s: str, off_s: str) -> None:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    _tell("done")
    for _ in range(int(times)):
        end_s = time.monotonic() + float(on_s)
        while time.monotonic() < end_s:
            pass
        time.sleep(float(off_s))


def _sysctl(_: int, name: str, value: str) -> None:
    Path("/proc/sys", name.replace(".", "/")).write_text(value)


def _run(_: int, *command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


_ACTIONS: dict[str, Callable[..., None]] = {
    "run": _run,
    "sysctl": _sysctl,
    "socket": _socket,
    "pause": _pause,
    "send": _send,
    "hog": _hog,
}


def _tell(what: str) -> None:
    """Writes down the outcome; an action that lasts does so when it has begun."""
    with contextlib.suppress(OSError):  # the run has ended
        Path(sys.argv[1]).write_text(f"{what}\n")


def main() -> None:
    """Does the action, and writes down whether it could."""
    _, address, instant_s, action, *words = sys.argv[1:]
    time.sleep(float(instant_s))
    try:
        _ACTIONS[action](_enter(address), *words)
        told = "done"
    except subprocess.CalledProcessError as error:
        told = f"{' '.join(error.cmd)}: {error.stderr.strip()}"
    except OSError as error:
        told = str(error)
    _tell(told)


main()
