"""Keeps one job: runs its command, and sees to it that nothing of it outlives the lab.

    keeper.py SCRATCH CPU COMMAND...

Standard input is a pipe from the lab. When it closes, because the lab is done with the job or was itself killed, the
job's whole session is killed. CPU is the one processor the job may use, or `any`. At the end a program named
`afterwards` in the scratch folder is run, for what is not the keeper's to kill, and the folder is removed.

Standalone on purpose: it starts in milliseconds and depends on nothing that could fail.
"""

import contextlib
import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys

_AFTERWARDS_S = 60.0
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None)


def _die_with_keeper() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def clean_up(scratch: str) -> None:
    """Run what is to be run afterwards, and remove the folder. Does nothing if that has been done."""
    afterwards = os.path.join(scratch, "afterwards")  # noqa: PTH118
    if os.access(afterwards, os.X_OK):
        try:
            subprocess.run([afterwards], stdin=subprocess.DEVNULL, timeout=_AFTERWARDS_S, check=False)
        except subprocess.TimeoutExpired:
            print(f"@ cleaning up took longer than {_AFTERWARDS_S:g} s; something may be left", flush=True)
    shutil.rmtree(scratch, ignore_errors=True)


def main() -> int:
    """Exit code of the command, or 128 and the signal's number."""
    scratch, cpu, *command = sys.argv[1:]
    if cpu != "any":
        os.sched_setaffinity(0, {int(cpu)})
    for stop in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(stop, lambda *_: None)  # a handler, unlike SIG_IGN, is not inherited by the job
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_die_with_keeper,
        ) as job:
            ended = os.pidfd_open(job.pid)
            select.select([sys.stdin.fileno(), ended], [], [])
            with contextlib.suppress(ProcessLookupError):
                os.killpg(job.pid, signal.SIGKILL)
            code = job.wait()
            # What the job leaves behind becomes the keeper's child: wait until all of it is gone.
            with contextlib.suppress(ChildProcessError):
                while True:
                    os.waitpid(-1, 0)
    finally:
        clean_up(scratch)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
