"""Tests of processes that are kept for further work: who gets them, and when they end."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from priolab.testbed.process import command_process, jobs
from priolab.testbed.process.command_process import Work, keep_guests
from tests.support.waiting import until, until_gone

_WAITS = 'echo "@ began $$"; echo "@ idle"; while read line; do echo "@ $line $$"; echo "@ idle"; done'

_LONG_S = 3.0

_KILLED = """
import os, signal
from priolab.testbed.process.command_process import CommandProcess, Work

def command(scratch):
    print(scratch.is_dir(), os.listdir(scratch.parent) == [scratch.name], flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

CommandProcess(Work(command=command, one_cpu=False))
"""


def _written(scratch: Path) -> str:
    (scratch / "further").write_text("written")
    return f"went on in {scratch.name}"


class Worker:
    """Runs work in jobs, and notes the progress lines of each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.scratch = folder

    def __call__(self, kind: str | None = "same", *, program: Path | None = None, script: str = _WAITS) -> list[str]:
        """Runs one job; returns its progress lines and its trouble, if any."""
        said: list[str] = []

        def command(scratch: Path) -> list[str]:
            self.scratch = scratch
            return ["sh", "-c", script]

        work = Work(
            command=command,
            one_cpu=False,
            kind=kind,
            further=_written,
            programs=frozenset({str(program)} if program else ()),
        )
        task = jobs.Task(
            name="job",
            work=work,
            log=self._folder / "log",
            overdue=lambda wall_s: "overdue" if wall_s > _LONG_S else None,
            finished=lambda finish: said.append(finish.trouble) if finish.trouble else None,
        )
        jobs.run_all([task], side_by_side=1, progress=lambda _, line: said.append(line))
        return said


@pytest.fixture
def work(tmp_path: Path, own_guests: None) -> Worker:  # noqa: ARG001
    """Returns a worker, and keeps no process that another test has started."""
    return Worker(tmp_path)


@pytest.fixture
def kept() -> Iterator[None]:
    """Keeps processes during the test."""
    with keep_guests():
        yield


def _pid(lines: list[str]) -> int:
    return int(lines[0].split()[-1])


@pytest.mark.usefixtures("kept")
def test_the_next_job_of_its_kind_gets_it(work: Worker) -> None:
    """A process that is idle does the work of the next job of its kind, in its own scratch folder."""
    first = work()
    scratch = work.scratch
    second = work()
    assert first == [f"began {_pid(first)}"]
    assert second == [f"went on in {scratch.name} {_pid(first)}"]
    assert scratch.exists()


@pytest.mark.usefixtures("kept")
def test_another_kind_of_job_gets_another(work: Worker) -> None:
    """A job of another kind starts a process of its own; a job that can be followed by none ends with its process."""
    pids = [_pid(work(kind)) for kind in ("one", "other", None, None)]
    assert len(set(pids)) == 4
    assert _pid(work("one")) == pids[0]
    until_gone(*pids[2:])


def test_they_end_with_the_context(work: Worker) -> None:
    """At the end of the outermost context all processes and scratch folders are gone."""
    with keep_guests():
        with keep_guests():
            pid = _pid(work())
        assert _pid(work()) == pid
    until_gone(pid)
    assert not work.scratch.exists()


def test_without_a_context_none_is_kept(work: Worker) -> None:
    """Without the context a process ends as soon as it is idle, and gets no input."""
    pid = _pid(work())
    until_gone(pid)
    assert not work.scratch.exists()


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("whose", ["process", "supervisor"])
def test_one_that_has_ended_is_replaced(work: Worker, whose: str) -> None:
    """If the process or its supervisor was killed while it was idle, the next job starts another."""
    pid = _pid(work())
    supervisor = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(pid if whose == "process" else supervisor, signal.SIGKILL)
    until_gone(pid)
    scratch = work.scratch
    assert work()[0].startswith("began")
    assert not scratch.exists()


@pytest.mark.usefixtures("kept")
def test_one_without_its_folder_is_replaced(work: Worker) -> None:
    """If the scratch folder of an idle process was removed, the next job starts another process."""
    pid = _pid(work())
    shutil.rmtree(work.scratch)
    assert _pid(work()) != pid
    until_gone(pid)


@pytest.mark.usefixtures("kept")
def test_a_replaced_program_needs_another(work: Worker, tmp_path: Path) -> None:
    """If a program of the work was replaced, a process that may have the old one open does not get the work."""
    program = tmp_path / "program"
    program.write_text("old")
    pid = _pid(work(program=program))
    assert _pid(work(program=program)) == pid
    other = tmp_path / "other"
    other.write_text("new")
    other.replace(program)
    assert _pid(work(program=program)) != pid
    until_gone(pid)


@pytest.mark.usefixtures("kept")
def test_only_some_are_kept(work: Worker) -> None:
    """The process that has been idle longest ends if there are more than may be kept."""
    pids = [_pid(work(f"kind {number}")) for number in range(command_process.MOST_KEPT + 1)]
    until_gone(pids[0])
    assert [_pid(work(f"kind {number}")) for number in range(1, len(pids))] == pids[1:]


@pytest.mark.usefixtures("kept")
def test_one_that_takes_too_long_is_not_kept(work: Worker) -> None:
    """A process that is killed because its job is overdue does no further work."""
    lines = work(script='echo "@ began $$"; sleep 67.125')
    assert lines[1:] == ["overdue"]
    until_gone(_pid(lines))
    assert work()[0].startswith("began")


def test_a_kill_before_the_command_is_known(tmp_path: Path) -> None:
    """If the lab is killed as soon as a job has its scratch folder, the folder goes."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (killed.returncode, killed.stdout) == (-signal.SIGKILL, "True True\n"), killed.stderr
    until(lambda: not list(tmp_path.iterdir()), "it is left", limit_s=60)


def test_a_long_command(work: Worker) -> None:
    """A command longer than the pipe, with bytes that are no text, arrives whole."""
    script = f": '{'x' * 100_000}\udcff'; {_WAITS}"
    assert work(script=script)[0].startswith("began")
