"""Tests of jobs that run side by side: which job waits for which, and when a job is ended."""

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from priolab.common.errors import Unavailable
from priolab.common.process import supervisor
from priolab.testbed.process import jobs
from priolab.testbed.process.command_process import Work


def task(folder: Path, name: str, ended: dict[str, str | None], command: Callable[[], list[str]]) -> jobs.Task:
    return jobs.Task(
        name=name,
        work=Work(command=lambda _: command(), one_cpu=False),
        log=folder / f"{name}.log",
        overdue=lambda wall_s: f"{name} is overdue" if wall_s > 2.5 else None,
        finished=lambda finish: ended.update({name: finish.trouble}),
    )


def test_what_cannot_begin_now_begins_later(tmp_path: Path) -> None:
    """A task that has too little memory to start waits until another job has ended. The tasks after it run, too."""
    ended: dict[str, str | None] = {}

    def second() -> list[str]:
        if "first" not in ended:
            raise Unavailable("a guest", "no room for its memory", "wait")
        return ["true"]

    tasks = [
        task(tmp_path, "first", ended, lambda: ["true"]),
        task(tmp_path, "second", ended, second),
        task(tmp_path, "third", ended, lambda: ["true"]),
    ]
    jobs.run_all(tasks, side_by_side=2, progress=lambda *_: None)
    assert ended == {"first": None, "second": None, "third": None}
    assert next(iter(ended)) == "first"


def test_what_can_never_begin(tmp_path: Path) -> None:
    """If a task cannot start, `run_all` raises Unavailable as soon as no other job is running."""
    ended: dict[str, str | None] = {}

    def never() -> list[str]:
        raise Unavailable("a guest", "no room for its memory", "make some")

    tasks = [task(tmp_path, "first", ended, lambda: ["true"]), task(tmp_path, "second", ended, never)]
    with pytest.raises(Unavailable, match="no room for its memory"):
        jobs.run_all(tasks, side_by_side=2, progress=lambda *_: None)
    assert ended == {"first": None}


def test_what_takes_too_long_is_ended(tmp_path: Path) -> None:
    """A job that takes too long is ended, with the reason that its task gives."""
    ended: dict[str, str | None] = {}
    tasks = [task(tmp_path, "first", ended, lambda: ["sleep", "67.5"])]
    jobs.run_all(tasks, side_by_side=1, progress=lambda *_: None)
    assert ended == {"first": "first is overdue"}


def test_what_was_said_last(tmp_path: Path) -> None:
    """The job's last lines of output are known even after its log file was removed."""
    said: list[str] = []
    log = tmp_path / "first.log"
    job = task(tmp_path, "first", {}, lambda: ["sh", "-c", f"seq 9000; rm {log}; echo '  @ so'; echo; echo long"])
    job = replace(job, finished=lambda finish: said.append(finish.said))
    jobs.run_all([job], side_by_side=1, progress=lambda *_: None)
    assert said == ["@ so | long"]


def test_a_killed_keeper_takes_the_job_with_it(tmp_path: Path) -> None:
    """A job ends within seconds of its supervisor, even if one of its processes ignores SIGTERM.
    The job's error says that the supervisor ended.
    """
    ended: dict[str, str | None] = {}
    stays = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(67.25)"
    left = f"setsid {sys.executable} -c '{stays}' & kill -KILL $PPID; sleep 67.25"
    patient = replace(task(tmp_path, "first", ended, lambda: ["sh", "-c", left]), overdue=lambda _: None)
    jobs.run_all([patient], side_by_side=1, progress=lambda *_: None)
    assert ended["first"] is not None
    assert "its supervisor process ended with exit code -9" in ended["first"]
    assert "67.25" not in _command_lines()


def test_what_leaves_its_session_ends_with_the_job(tmp_path: Path) -> None:
    """The supervisor kills a process that left the job's session, and does not wait for it."""
    ended: dict[str, str | None] = {}
    leaves = task(tmp_path, "first", ended, lambda: ["sh", "-c", "setsid sleep 67.625 >/dev/null 2>&1 &"])
    jobs.run_all([leaves], side_by_side=1, progress=lambda *_: None)
    assert ended == {"first": None}
    assert "67.625" not in _command_lines()


@pytest.mark.usefixtures("cgroup")
def test_a_killed_keeper_takes_what_hides_with_it(tmp_path: Path) -> None:
    """A killed supervisor's job also ends processes that left its session and have no environment.
    The job's cgroup still contains them, and the lab removes the cgroup.
    """
    seen: list[str] = []

    def command(scratch: Path) -> list[str]:
        group = supervisor.group_of(str(scratch))
        hides = f"test -d {group} && touch {tmp_path}/grouped; env -i setsid sleep 67.875 >/dev/null 2>&1 &"
        seen.append(str(group))
        return ["sh", "-c", f"{hides} sleep 0.2; kill -KILL $PPID; sleep 67.875"]

    work = Work(command=command, one_cpu=False)
    patient = replace(task(tmp_path, "first", {}, list), work=work, overdue=lambda _: None)
    jobs.run_all([patient], side_by_side=1, progress=lambda *_: None)
    assert "67.875" not in _command_lines()
    assert (tmp_path / "grouped").exists()
    assert not Path(*seen).exists()


def _command_lines() -> str:
    """Returns the command lines of all processes, without the program ps, which a small system lacks."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has just ended
            found.append(file.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return "\n".join(found)


_REPEAT = 'while read line; do echo "other"; echo "@ answers $line"; [ "$line" != end ] || exit; done'


def _asked(talk: jobs.Conversation, line: str) -> str | None:
    talk.ask(line)
    return _answered(talk)


def _answered(talk: jobs.Conversation) -> str | None:
    while not talk.has_answered(0.5):
        pass
    return talk.answer()


def test_a_conversation(tmp_path: Path) -> None:
    """A job answers each line; when it ends instead, there is no answer, and its end is told."""
    ended: dict[str, str | None] = {}
    made = task(tmp_path, "first", ended, lambda: ["sh", "-c", _REPEAT])
    with jobs.Conversation(replace(made, work=replace(made.work, hears=True))) as talk:
        assert [_asked(talk, line) for line in ("one", "two", "end")] == ["one", "two", "end"]
        assert _asked(talk, "three") is None
        assert _asked(talk, "four") is None
    assert ended == {"first": None}


def test_only_answers_take_time(tmp_path: Path) -> None:
    """What the lab does between answers is no time of the job; a job that does not answer is ended."""
    ended: dict[str, str | None] = {}
    made = task(
        tmp_path, "first", ended, lambda: ["sh", "-c", _REPEAT.replace('echo "@', 'sleep 0.1; echo "@') + "; sleep 9"]
    )
    made = replace(made, work=replace(made.work, hears=True), overdue=lambda wall_s: "late" if wall_s > 0.8 else None)
    with jobs.Conversation(made) as talk:
        assert _asked(talk, "one") == "one"
        time.sleep(1)
        assert _asked(talk, "two") == "two"
        assert _answered(talk) is None
    assert ended == {"first": "late"}
