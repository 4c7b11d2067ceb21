"""Changes one thing in a running run, behind the lab's back: the part of `make lies` that runs inside the run.

    python -I liar.py LOG ADDRESS INSTANT-S FOR-S ACTION WORD...

Waits, enters the network namespace that has the address, does the action, and writes "done" or the error into LOG. If
FOR-S is not 0, waits so long, and restores what was there before.

    run COMMAND... [undo COMMAND...]    runs a command, and another one to restore
    file PATH VALUE             writes into a file, such as that of a sysctl
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
from functools import partial
from pathlib import Path

_NETNS, _PIDFD_GETFD = 0x4000_0000, 438
_GET_ADDRESS = 0x8915  # SIOCGIFADDR
_PATIENCE_S = 30.0
_DOUBLED = ((1, 7), (1, 8))
"""The options SO_SNDBUF and SO_RCVBUF, of which the kernel tells twice what was set."""
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


Undo = Callable[[], object]


def _set_option(inode: int, level: int, option: int, value: bytes) -> list[Undo]:
    """Set an option of all connections; returns what restores it on each."""
    undo: list[Undo] = []
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
            try:
                copied.getpeername()
                if copied.family == socket.AF_INET:
                    before = copied.getsockopt(level, option, 16)
                    if (level, option) in _DOUBLED:
                        before = struct.pack("=i", struct.unpack("=i", before)[0] // 2)
                    copied.setsockopt(level, option, value)
                    undo.append(partial(copied.setsockopt, level, option, before))  # which keeps it open
            except OSError as error:
                if error.errno not in (107, 22, 92):  # not connected, not for this socket
                    raise
    return undo


def _socket(inode: int, level: str, option: str, value: str) -> Undo:
    packed = struct.pack("=i", int(value)) if value.lstrip("-").isdigit() else value.encode()
    end_s = time.monotonic() + _PATIENCE_S
    while not (undo := _set_option(inode, int(level), int(option), packed)):
        if time.monotonic() > end_s:
            raise OSError("no connection")
        time.sleep(0.05)
    return lambda: [each() for each in undo]


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


def _file(_: int, path: str, value: str) -> Undo:
    before = Path(path).read_text()
    Path(path).write_text(value)
    return partial(Path(path).write_text, before)


def _run(_: int, *words: str) -> Undo:
    at = words.index("undo") if "undo" in words else len(words)
    run = partial(subprocess.run, check=True, capture_output=True, text=True)
    run(words[:at])
    return partial(run, words[at + 1 :])


_ACTIONS: dict[str, Callable[..., Undo | None]] = {
    "run": _run,
    "file": _file,
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
    _, address, instant_s, for_s, action, *words = sys.argv[1:]
    time.sleep(float(instant_s))
    try:
        undo = _ACTIONS[action](_enter(address), *words)
        told = "done"
        if float(for_s):
            assert undo is not None, "what ends by itself is not restored"
            time.sleep(float(for_s))
            undo()
    except subprocess.CalledProcessError as error:
        told = f"{' '.join(error.cmd)}: {error.stderr.strip()}"
    except OSError as error:
        told = str(error)
    _tell(told)


main()
