"""The processes of jobs. A process that can do further work is kept for the next job that needs one of its kind.

A process is the child of its supervisor. If the lab is killed, the supervisor ends the process. If the supervisor is
killed, the lab ends the process: it finds all that belongs to it by the path of the scratch folder in the environment.
"""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from priolab.common.descriptors import process_ids
from priolab.common.errors import Unavailable
from priolab.common.process import supervisor
from priolab.common.process.interruption import held_back
from priolab.common.process.processes import readable
from priolab.common.process.scratch import scratch_path
from priolab.common.process.search_path import program_environment
from priolab.common.temporary import temporary_folder
from priolab.testbed.process import cpu_claims

_STOP_S = 90.0
_GONE_S = 5.0
_MARK = "PRIOLAB_JOB"

MOST_KEPT = 4
"""The most processes that are kept at a time, unless the program that keeps them wants fewer."""


@dataclass(frozen=True, kw_only=True)
class Work:
    """The work of a process.

    command: receives the path of the scratch folder, and returns the command line that does the work; raises
    Unavailable if it cannot begin now. one_cpu: True to keep the process on one processor, if possible one that no
    other process of a job uses. kind: equal for all work that one process can do; None if it can do no further work.
    further: receives the path of the scratch folder, and returns the line for a process that has done its work. hears:
    True if the command reads what `CommandProcess.tell` writes.
    programs: the programs that the work needs. A process may have them open, so it must not do the work if one of them
    has been replaced.
    """

    command: Callable[[Path], list[str]]
    one_cpu: bool
    kind: Hashable | None = None
    further: Callable[[Path], str] = str
    hears: bool = False
    programs: frozenset[str] = frozenset()


def _identities(programs: Iterable[str]) -> dict[str, tuple[int, ...] | None]:
    """Returns for each program a value that changes when the file is replaced or written; None without a file."""
    found: dict[str, tuple[int, ...] | None] = {}
    for program in programs:
        try:
            state = Path(program).stat()
        except OSError:
            found[program] = None
        else:
            found[program] = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)
    return found


class CommandProcess:
    """A running command with its supervisor and scratch folder.

    output: the descriptor of its output. takes_further: True if it can do further work.
    """

    def __init__(self, work: Work) -> None:
        self.kind = work.kind
        self.takes_further = _keeper(work) is not None
        self._programs = _identities(work.programs)
        with ExitStack() as undoing:
            with held_back():  # a signal meanwhile could leave the folder, or the process
                base = temporary_folder()
                # A guest's kernel splits its command line, which has the path, at blanks.
                self.scratch = scratch_path("priolab-", "/tmp" if any(map(str.isspace, base)) else base)  # noqa: S108
                self._claim = undoing.enter_context(cpu_claims.claim()) if work.one_cpu else None
                self._process = subprocess.Popen(
                    supervisor.arguments(
                        str(self.scratch),
                        cpu=str(self._claim.cpu) if self._claim else "any",
                        given="lab" if self.takes_further or work.hears else "none",
                    ),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    bufsize=0,
                    env=program_environment() | {_MARK: str(self.scratch)},
                )
                assert self._process.stdin is not None
                assert self._process.stdout is not None
                self._input, self._output = self._process.stdin, self._process.stdout
                self.output = self._output.fileno()
                undoing.callback(self.end)
                self.scratch.mkdir()
                # The front's folder is below it, and a worker that has given up root must reach that.
                self.scratch.chmod(0o711)
                told = supervisor.message(work.command(self.scratch))
                with suppress(BrokenPipeError):  # the supervisor has been killed: the job's end says so
                    self._input.write(told)
            undoing.pop_all()

    @property
    def exit_code(self) -> int | None:
        """The exit code of the supervisor; None while it runs."""
        return self._process.poll()

    def give(self, work: Work) -> bool:
        """Gives further work to a process that has done its work. Returns False if the process cannot do it."""
        programs = _identities(work.programs)
        if any(self._programs.setdefault(program, now) != now for program, now in programs.items()):
            return False
        if readable([self.output], 0):  # an idle process says nothing, so this is the end of its output
            return False
        try:
            self.tell(work.further(self.scratch))
        except OSError:  # it has just ended, or somebody has removed its scratch folder
            return False
        return True

    def tell(self, line: str) -> None:
        """Writes a line that the command reads. Raises OSError."""
        self._input.write(f"{line}\n".encode())

    def end(self) -> None:
        """Ends the process, if it has not ended by itself. Further calls do nothing."""
        if self._output.closed:
            return
        self._input.close()  # this makes the supervisor end the command
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.returncode < 0:
            _kill_marked(self.scratch)
        self._give_up_processor()
        self._output.close()
        supervisor.clean_up(str(self.scratch))  # needed only if the supervisor itself was killed

    def _give_up_processor(self) -> None:
        if self._claim:
            self._claim.give_up()


class _Kept:
    """The processes that wait for further work, the one that has waited longest first.

    contexts: how many of `keep_guests` are open, in all threads. Without one no process waits.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._owner = os.getpid()
        self.contexts = 0
        self._processes: list[CommandProcess] = []
        self._lock = threading.Lock()

    @property
    def is_own(self) -> bool:
        """False in a forked copy of the process that keeps them."""
        return self._owner == os.getpid()

    def add(self, process: CommandProcess) -> None:
        """Adds a process. Ends the one that has waited longest if there are too many."""
        with self._lock:
            self._processes.append(process)
            oldest = self._processes.pop(0) if len(self._processes) > self._most or not self.contexts else None
        if oldest:
            oldest.end()

    def take(self, work: Work) -> CommandProcess | None:
        """Gives the work to a process of its kind, and returns this process; None if there is none."""
        while True:
            with self._lock:
                process = next((each for each in self._processes if each.kind == work.kind), None)
                if process is None:
                    return None
                self._processes.remove(process)
            if process.give(work):
                return process
            process.end()

    def end(self) -> bool:
        """Ends all of them. Returns False if there were none."""
        with self._lock:
            ending, self._processes = self._processes, []
        for process in ending:
            process.end()
        return bool(ending)


_kept: _Kept | None = None
_alone = threading.Lock()
os.register_at_fork(before=_alone.acquire, after_in_parent=_alone.release, after_in_child=_alone.release)


@contextmanager
def keep_guests(most: int = MOST_KEPT) -> Iterator[None]:
    """Keeps guests that have carried out their runs, so that the next experiment of this process need not start any.

    most: how many may wait at a time; the first such context says it. They end when the last such context ends, of
    whichever thread, or with this process.
    """
    global _kept
    with _alone:
        mine = _own() or _Kept(most)
        _kept = mine
        mine.contexts += 1
    try:
        yield
    finally:
        with _alone:
            mine.contexts -= 1
            is_last = not mine.contexts
            if is_last and _kept is mine:
                _kept = None
        if is_last and mine.is_own:
            mine.end()


def _own() -> _Kept | None:
    """Returns the processes that this process keeps; None if it keeps none, or is a forked copy."""
    kept = _kept  # which another thread may end meanwhile
    return kept if kept is not None and kept.is_own else None


def _keeper(work: Work) -> _Kept | None:
    """Returns the processes that one which has done this work joins; None if it can do no further work."""
    return None if work.kind is None else _own()


def process_for(work: Work) -> CommandProcess:
    """Returns a process that does the work: a kept one, or a new one. Raises Unavailable if it cannot begin now."""
    kept = _keeper(work)
    if kept is None:
        return CommandProcess(work)
    if process := kept.take(work):
        return process
    try:
        return CommandProcess(work)
    except Unavailable:  # those that wait have memory, too
        if not kept.end():
            raise
        return CommandProcess(work)


def give_back(process: CommandProcess) -> None:
    """Keeps a process that has done its work and can do further work, or ends it."""
    kept = _own()
    if kept is not None and process.takes_further:
        kept.add(process)
    else:
        process.end()


def _kill_marked(scratch: Path) -> None:
    """Kills the processes of a job whose supervisor was killed. Finds them by the path of the job's scratch folder."""
    mark = f"{_MARK}={scratch}".encode()
    end_s = time.monotonic() + _GONE_S
    while (left := list(_marked(mark))) and time.monotonic() < end_s:
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_GONE_S / 100)


def _marked(mark: bytes) -> Iterator[int]:
    for pid in process_ids():
        with suppress(OSError):
            if mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                yield pid
