"""The job queue, with a program in place of the lab that does as the test says."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from experiments.demo import job_queue
from experiments.demo.job import DemoJob, JobState, News
from experiments.demo.job_queue import Busy, JobQueue
from experiments.errors import ScenarioError
from experiments.scenario.knobs import KNOBS
from tests.unit.demonstrating import settle

_SOON_S = 20.0
_MOST = 16
_FAKE = """#!/bin/sh
cd {root} || exit 9
trap 'echo ended >>ended; exit 143' TERM
echo "$$ $*" >>begun
echo "a line without a number: load 9 of 9" >&2
echo "  1.5 s lowat-131072.1: load 1 of 3" >&2
until [ -e go ]; do sleep 0.02; done
. ./go
"""

_PYTHON = sys.executable
_PARENT = """
import asyncio, os, signal, sys
from pathlib import Path
import pytest
from experiments.demo.job_queue import JobQueue
from tests.unit.demonstrating import settle

async def scene():
    JobQueue(root / "results", {}, 1).ask({})
    while not (root / "begun").exists():
        await asyncio.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)

root = Path(sys.argv[1])
settle(pytest.MonkeyPatch())
sys.executable = str(root / "fake")
asyncio.run(scene())
"""


@dataclass(frozen=True, kw_only=True)
class Child:
    """What stands for the lab. root: where it notes down that it began and that it was told to end."""

    root: Path

    @property
    def results(self) -> Path:
        """Of the job queue."""
        return self.root / "results"

    def may(self, script: str) -> None:
        """Go on, and do this."""
        (self.root / "go.new").write_text(script)
        (self.root / "go.new").rename(self.root / "go")

    def begun(self) -> list[str]:
        """Process id and words of each that was started."""
        return self._lines("begun")

    def ended(self) -> int:
        """How many were told to end."""
        return len(self._lines("ended"))

    def _lines(self, name: str) -> list[str]:
        file = self.root / name
        return file.read_text().splitlines() if file.exists() else []


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Child]:
    """In place of Python; none of them is left."""
    settle(monkeypatch)
    fake = tmp_path / "fake"
    fake.write_text(_FAKE.format(root=tmp_path))
    fake.chmod(0o755)
    (tmp_path / "results" / "made").mkdir(parents=True)
    monkeypatch.setattr(sys, "executable", str(fake))
    made = Child(root=tmp_path)
    yield made
    for line in made.begun():
        assert not Path(f"/proc/{line.split()[0]}").exists(), line


@asynccontextmanager
async def _opened(child: Child, side_by_side: int = 2) -> Any:
    queue = JobQueue(child.results, {"FABRIC": "virtual"}, side_by_side)
    try:
        yield queue
    finally:
        await queue.close()


def _run(coroutine: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(coroutine, _SOON_S))


async def _until(holds: Callable[[], bool]) -> None:
    while not holds():
        await asyncio.sleep(0.01)


async def _heard(queue: JobQueue, job: DemoJob) -> list[News]:
    return [news async for news in queue.news(job)]


def _job(answer: object) -> DemoJob:
    assert isinstance(answer, DemoJob)
    return answer


def test_a_job_from_its_beginning_to_its_end(child: Child) -> None:
    """Its steps are passed on as they come; what is shown in the end is the folder that it named."""

    async def scene() -> None:
        async with _opened(child) as queue:
            job = _job(queue.ask({"LOWAT": " 131072 "}))
            hearing = asyncio.create_task(_heard(queue, job))
            await _until(lambda: job.text == "load 1 of 3")
            child.may(f"echo {child.results}/made")
            news = await hearing
            assert {each.state for each in news[:-1]} <= {JobState.WAITING, JobState.RUNNING}
            assert news[-1].state is JobState.DONE
            assert "load 1 of 3" in [each.text for each in news]
            assert "load 9 of 9" not in [each.text for each in news]
            shown = news[-1].shown
            assert shown
            assert (shown.folder, shown.arm) == (child.results / "made", "lowat-131072")
            assert await _heard(queue, job) == [news[-1]]
            queue.cancel(job)
            assert job.state is JobState.DONE

    _run(scene())
    (line,) = child.begun()
    _, *words = line.split()
    assert words[:5] == ["-P", "-m", "experiments", "run", "--print-folder"]
    knobs = {word.partition("=")[0] for word in words[5:]}
    assert knobs == {*KNOBS, "FABRIC", "RESULTS", "CONTROL"}
    assert {"LOWAT=131072", "CONTROL=no", f"RESULTS={child.results}"} <= set(words)


def test_the_same_wish_is_one_job(child: Child) -> None:
    """However it is spelt; it ends when the last who listens wants it no more."""

    async def scene() -> None:
        async with _opened(child) as queue:
            job = _job(queue.ask({"LOWAT": "131072"}))
            assert queue.ask({}) is job
            assert queue.ask({"LOWAT": "131072\n"}) is job
            assert queue.ask({"LOWAT": "131073"}) is not job
            assert queue.job(job.id) is job
            await _until(lambda: len(child.begun()) == 2)
            hearing = [asyncio.create_task(_heard(queue, job)) for _ in range(2)]
            await _until(lambda: job.listeners == 2)
            queue.cancel(job)
            assert not job.is_over
            hearing[0].cancel()
            await _until(lambda: job.listeners == 1)
            queue.cancel(job)
            assert job.state is JobState.CANCELLED
            await hearing[1]
            await _until(lambda: child.ended() == 1)
            assert queue.ask({}) is not job

    _run(scene())


def test_a_job_that_nobody_listens_to(child: Child, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends a while after the last has gone without a word, but not if somebody comes back until then."""
    monkeypatch.setattr(job_queue, "_UNHEARD_S", 0.3)

    async def scene() -> None:
        async with _opened(child) as queue:
            job = _job(queue.ask({}))
            first = asyncio.create_task(_heard(queue, job))
            await _until(lambda: job.state is JobState.RUNNING and bool(child.begun()))
            await asyncio.sleep(0.4)
            first.cancel()
            await _until(lambda: not job.listeners)
            second = asyncio.create_task(_heard(queue, job))
            await asyncio.sleep(0.5)
            assert job.state is JobState.RUNNING
            second.cancel()
            await _until(lambda: job.state is JobState.CANCELLED)
            await _until(lambda: child.ended() == 1)

    _run(scene())


def test_a_slider_that_is_moved_on(child: Child) -> None:
    """Of a value that is given up at once nothing is ever started."""

    async def scene() -> None:
        async with _opened(child) as queue:
            for lowat in ("5000", "5001", "5002"):
                queue.cancel(_job(queue.ask({"LOWAT": lowat})))
            last = _job(queue.ask({"LOWAT": "5003"}))
            await _until(lambda: last.state is JobState.RUNNING and bool(child.begun()))
            assert len(child.begun()) == 1

    _run(scene())


def test_a_line_without_end(child: Child) -> None:
    """Whatever the lab says, the job is over when it is, and its place is free."""
    child.may("head -c 3000000 /dev/zero >&2; exit 1")

    async def scene() -> None:
        async with _opened(child, side_by_side=1) as queue:
            *_, last = await _heard(queue, _job(queue.ask({"LOWAT": "5000"})))
            assert last.state is JobState.FAILED
            child.may(f"echo {child.results}/made")
            *_, last = await _heard(queue, _job(queue.ask({"LOWAT": "5001"})))
            assert last.state is JobState.DONE

    _run(scene())


def test_as_many_as_there_are_places(child: Child) -> None:
    """The others wait, and one that is cancelled while it waits never begins."""

    async def scene() -> None:
        async with _opened(child, side_by_side=1) as queue:
            jobs = [_job(queue.ask({"LOWAT": str(5000 + number)})) for number in range(3)]
            await _until(lambda: jobs[0].state is JobState.RUNNING and len(child.begun()) == 1)
            assert [job.state for job in jobs[1:]] == [JobState.WAITING] * 2
            queue.cancel(jobs[1])
            child.may(f"echo {child.results}/made")
            await _until(lambda: jobs[2].state is JobState.DONE)
            assert [job.state for job in jobs] == [JobState.DONE, JobState.CANCELLED, JobState.DONE]

    _run(scene())
    assert len(child.begun()) == 2


def test_there_is_an_end_to_waiting(child: Child) -> None:
    """What is over does not count; what is asked again is not another."""

    async def scene() -> None:
        async with _opened(child, side_by_side=1) as queue:
            jobs = [_job(queue.ask({"LOWAT": str(5000 + number)})) for number in range(_MOST)]
            with pytest.raises(Busy, match="16 arms are running or waiting"):
                queue.ask({"LOWAT": "6000"})
            assert queue.ask({"LOWAT": "5000"}) is jobs[0]
            queue.cancel(jobs[-1])
            assert isinstance(queue.ask({"LOWAT": "6000"}), DemoJob)

    _run(scene())


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("echo first >&2; echo 'priolab: it cannot be' >&2; exit 2", "it cannot be"),
        ("exit 0", "it printed no folder"),
        ("echo /; exit 0", "it printed no folder"),
        ("echo $PWD/results/../fake; exit 0", "it printed no folder"),
        ("echo $PWD/results/nowhere; exit 0", "it printed no folder"),
        ("kill -9 $$", "the lab was killed (SIGKILL)"),
        ("kill -SEGV $$", "the lab was killed (SIGSEGV)"),
        ("kill -40 $$", "the lab was killed (signal 40)"),
    ],
)
def test_a_job_that_fails(child: Child, script: str, text: str) -> None:
    """Says why in the lab's own words; only a folder among the results is ever shown."""
    child.may(script)

    async def scene() -> None:
        async with _opened(child) as queue:
            job = _job(queue.ask({}))
            *_, last = await _heard(queue, job)
            assert (last.state, last.text, last.shown) == (JobState.FAILED, text, None)

    _run(scene())


def test_a_lab_that_is_not_there(child: Child, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is a job that failed, and the place is free for the next."""
    monkeypatch.setattr(sys, "executable", str(child.root / "nothing"))

    async def scene() -> None:
        async with _opened(child, side_by_side=1) as queue:
            for lowat in ("5000", "5001"):
                *_, last = await _heard(queue, _job(queue.ask({"LOWAT": lowat})))
                assert (last.state, last.text) == (
                    JobState.FAILED,
                    "it could not be started: No such file or directory",
                )

    _run(scene())


def test_cancelled_while_it_is_being_started(child: Child, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it is told to end as soon as there is somebody to tell."""
    real = asyncio.create_subprocess_exec

    async def scene() -> None:
        async with _opened(child) as queue:
            job: list[DemoJob] = []

            async def slow(*words: str, **how: Any) -> asyncio.subprocess.Process:
                process = await real(*words, **how)
                await _until(lambda: bool(child.begun()))
                queue.cancel(job[0])
                return process

            monkeypatch.setattr(asyncio, "create_subprocess_exec", slow)
            job.append(_job(queue.ask({})))
            await _until(lambda: child.ended() == 1)
            assert job[0].state is JobState.CANCELLED

    _run(scene())


def test_closing_ends_everything(child: Child) -> None:
    """What runs is told to and waited for, what waits never begins, and nothing is taken on any more."""

    async def scene() -> None:
        async with _opened(child) as queue:
            jobs = [_job(queue.ask({"LOWAT": str(5000 + number)})) for number in range(4)]
            await _until(lambda: len(child.begun()) == 2)
            hearing = asyncio.create_task(_heard(queue, jobs[3]))
            closing = asyncio.create_task(queue.close())
            assert (await hearing)[-1].state is JobState.CANCELLED
            with pytest.raises(Busy, match="ending"):
                queue.ask({"LOWAT": "6000"})
            await closing
            assert {job.state for job in jobs} == {JobState.CANCELLED}
            assert child.ended() == 2

    _run(scene())
    assert len(child.begun()) == 2


def test_a_child_dies_with_its_parent(child: Child) -> None:
    """However that ends: the kernel tells it."""
    done = subprocess.run([_PYTHON, "-c", _PARENT, str(child.root)], timeout=_SOON_S, check=False)
    assert done.returncode == -signal.SIGKILL
    _run(_until(lambda: child.ended() == 1))
    (line,) = child.begun()
    _run(_until(lambda: not Path(f"/proc/{line.split()[0]}").exists()))


@pytest.mark.parametrize("knobs", [{"LOWAT": "1,2"}, {"LOWATT": "1"}, {"RESULTS": "/"}, {"FABRIC": "netns"}])
def test_what_is_no_scenario(child: Child, knobs: dict[str, str]) -> None:
    """Is refused before anything is started."""

    async def scene() -> None:
        async with _opened(child) as queue:
            with pytest.raises(ScenarioError):
                queue.ask(knobs)
            with pytest.raises(ScenarioError, match="number of a job"):
                queue.job("1")

    _run(scene())
    assert child.begun() == []
