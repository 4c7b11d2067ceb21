"""The supervisor of a job: runs the job's command, and makes sure that no process of the job outlives the lab.

    supervisor.py SCRATCH CPU INPUT [COMMAND...]

Rules:
1. Standard input is a pipe from the lab. The pipe closes when the lab no longer needs the job, or was killed. When the
   pipe closes or the command ends, the supervisor kills the processes of the job's session and cgroup, and every orphan
   that has become the supervisor's child. INPUT is `lab` if the command reads what the lab writes into this pipe, and
   `none` if the command reads nothing.
2. If the supervisor is killed, the lab kills the processes of the cgroup, and the processes whose environment has the
   path of the scratch folder (command_process.py).
3. CPU is the number of the one processor that the job may use, or `any`.
4. Without COMMAND the lab writes the command into the pipe (`message`). So a supervisor is there before the folder is,
   and no kill of the lab leaves the folder.
5. When the job has ended, the supervisor runs the program `afterwards` of the scratch folder, if there is one. This
   program removes what the supervisor cannot kill, such as containers. At the end, the supervisor removes the folder.

This program imports nothing of the lab, so it starts in milliseconds and has little that could fail.
"""

import contextlib
import ctypes
import functools
import os
import select
import shutil
import signal
import subprocess
import sys
import time

_AFTERWARDS_S = 60.0
_EMPTY_S = 2.0
_LENGTH_DIGITS = 8
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None)


def group_of(scratch: str) -> str | None:
    """Returns the folder of the job's cgroup, a child of this process's cgroup; None without cgroups(7) version 2."""
    with contextlib.suppress(OSError, StopIteration), open("/proc/self/cgroup") as own:
        path = next(line[len("0::") :].rstrip("\n") for line in own if line.startswith("0::"))
        with open("/proc/self/mountinfo") as mounts:
            root, point = next(line.split()[3:5] for line in mounts if " - cgroup2 " in line)
        if path.startswith(root) and ".." not in path:
            inner = path.removeprefix(root).strip("/")
            return os.path.join(point, inner, os.path.basename(scratch))
    return None


def arguments(scratch: str, cpu: str = "any", given: str = "none") -> list[str]:
    """Returns the command that starts a supervisor; the job's command may follow it. given: INPUT."""
    return [sys.executable, "-I", "-S", __file__, scratch, cpu, given]


def message(command: list[str]) -> bytes:
    """Returns what the lab writes for a supervisor that has got no command: a length, and the words that follow it."""
    words = os.fsencode("\0".join(command))
    return b"%0*d" % (_LENGTH_DIGITS, len(words)) + words


def _command() -> list[str]:
    """Reads a message, and nothing behind it, which is the command's. Returns no words if the pipe has closed."""
    words = _read(int(_read(_LENGTH_DIGITS) or 0))
    return os.fsdecode(words).split("\0") if words else []


def _read(size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = os.read(0, size - len(found))
        if not part:
            return b""
        found += part
    return found


def _enter(group: str | None) -> None:
    """Moves the job's process to the cgroup; it will end with the supervisor. Runs between fork(2) and execve(2)."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if group:
        with contextlib.suppress(OSError):
            os.mkdir(group)
            _write(f"{group}/cgroup.procs", b"0")


def _write(path: str, data: bytes) -> None:
    file = os.open(path, os.O_WRONLY)
    try:
        os.write(file, data)
    finally:
        os.close(file)


def _empty(group: str) -> None:
    """Kills every process in a cgroup and removes the cgroup, if the cgroup exists."""
    with contextlib.suppress(OSError):
        _write(f"{group}/cgroup.kill", b"1")
    end_s = time.monotonic() + _EMPTY_S
    while os.path.isdir(group) and time.monotonic() < end_s:
        try:
            os.rmdir(group)
        except OSError:
            time.sleep(_EMPTY_S / 100)


def _end_orphans() -> None:
    """Kills and reaps the job's orphans. The supervisor is their subreaper, so the kernel has made it their parent."""
    with contextlib.suppress(ChildProcessError):
        while True:
            with contextlib.suppress(OSError), open(f"/proc/self/task/{os.getpid()}/children") as children:
                for child in children.read().split():
                    os.kill(int(child), signal.SIGKILL)
            os.waitpid(-1, 0)


def clean_up(scratch: str) -> None:
    """Kills the processes of the job's cgroup, runs the folder's program `afterwards`, removes the folder.

    scratch: the path of the scratch folder. Further calls with the same folder do nothing.
    """
    if group := group_of(scratch):
        _empty(group)
    afterwards = os.path.join(scratch, "afterwards")
    if os.access(afterwards, os.X_OK):
        try:
            subprocess.run([afterwards], stdin=subprocess.DEVNULL, timeout=_AFTERWARDS_S, check=False)
        except subprocess.TimeoutExpired:
            print(f"@ cleaning up took longer than {_AFTERWARDS_S:g} s; containers may be left", flush=True)
    end_s = time.monotonic() + _EMPTY_S
    while os.path.isdir(scratch) and time.monotonic() < end_s:  # a process that is being killed may write meanwhile
        shutil.rmtree(scratch, ignore_errors=True)
        if os.path.isdir(scratch):
            time.sleep(_EMPTY_S / 100)


def main() -> int:
    """Runs the job's command; returns its exit code, or 128 plus the number of the signal that ended the command."""
    scratch, cpu, given, *command = sys.argv[1:]
    if cpu != "any":
        os.sched_setaffinity(0, {int(cpu)})
    for stop in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(stop, lambda *_: None)  # a handler, because the job would inherit SIG_IGN
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        command = command or _command()
        if not command:
            return 0
        with subprocess.Popen(
            command,
            stdin=None if given == "lab" else subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=functools.partial(_enter, group_of(scratch)),
        ) as job:
            either = select.poll()
            either.register(sys.stdin.fileno(), 0)  # the end of the pipe alone, which poll(2) always reports
            either.register(os.pidfd_open(job.pid), select.POLLIN)
            either.poll()
            os.close(sys.stdin.fileno())  # so that the lab cannot give further work to a command that has ended
            with contextlib.suppress(ProcessLookupError):
                os.killpg(job.pid, signal.SIGKILL)
            code = job.wait()
            _end_orphans()
    finally:
        clean_up(scratch)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
