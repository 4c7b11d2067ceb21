"""Tests of the job queue, with a script in place of the lab."""

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

from common.in_turn import words_of
from experiments.demo import job_queue
from experiments.demo.job import Claim, JobState, News
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
out=$(. ./go)
code=$?
printf '\\036{{"code": %d, "out": "%s"}}\\n' $code "$out"
exit $code
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
    """The script in place of the lab. root: the folder in which the script records its start and each SIGTERM."""

    root: Path

    @property
    def results(self) -> Path:
        """Return the job queue's results folder."""
        return self.root / "results"

    def may(self, script: str) -> None:
        """Let the script go on: it executes these commands."""
        (self.root / "go.new").write_text(script)
        (self.root / "go.new").rename(self.root / "go")

    def begun(self) -> list[str]:
        """Return the process id and the arguments of each process that was started."""
        return self._lines("begun")

    def ended(self) -> int:
        """Return how many processes received SIGTERM."""
        return len(self._lines("ended"))

    def _lines(self, name: str) -> list[str]:
        file = self.root / name
        return file.read_text().splitlines() if file.exists() else []


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Child]:
    """Replace Python by the script; check at the end that none of its processes is left."""
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


async def _heard(queue: JobQueue, claim: Claim) -> list[News]:
    return [news async for news in queue.news(claim)]


def _claim(answer: object) -> Claim:
    assert isinstance(answer, Claim)
    return answer


def test_a_job_from_its_beginning_to_its_end(child: Child) -> None:
    """A job passes on its steps as they come, and ends with the folder that the lab printed."""

    async def scene() -> None:
        async with _opened(child) as queue:
            claim = _claim(queue.ask({"LOWAT": " 131072 "}))
            hearing = asyncio.create_task(_heard(queue, claim))
            await _until(lambda: claim.job.text == "load 1 of 3")
            child.may(f"echo {child.results}/made")
            news = await hearing
            assert {each.state for each in news[:-1]} <= {JobState.WAITING, JobState.RUNNING}
            assert news[-1].state is JobState.DONE
            assert "load 1 of 3" in [each.text for each in news]
            assert "load 9 of 9" not in [each.text for each in news]
            shown = news[-1].shown
            assert shown
            assert (shown.folder, shown.arm) == (child.results / "made", "lowat-131072")
            assert await _heard(queue, claim) == [news[-1]]
            queue.cancel(claim)
            assert claim.job.state is JobState.DONE
            assert await _heard(queue, claim) == [news[-1]]

    _run(scene())
    (line,) = child.begun()
    _, *given, request = line.split(maxsplit=4)
    assert given == ["-P", "-m", "experiments.in_turn"]
    words = words_of(request)
    assert words[:2] == ["run", "--print-folder"]
    knobs = {word.partition("=")[0] for word in words[2:]}
    assert knobs == {*KNOBS, "FABRIC", "RESULTS", "CONTROL"}
    assert {"LOWAT=131072", "CONTROL=no", f"RESULTS={child.results}"} <= set(words)


def test_the_same_wish_is_one_job(child: Child) -> None:
    """Requests for the same knobs share a job, however they are spelt.
    The job ends when the last of them cancels; the news of each ends when it cancels.
    """

    async def scene() -> None:
        async with _opened(child) as queue:
            claims = [_claim(queue.ask({"LOWAT": text})) for text in ("131072", "131072\n")]
            claims.append(_claim(queue.ask({})))
            job = claims[0].job
            assert [claim.job for claim in claims] == [job] * 3
            assert _claim(queue.ask({"LOWAT": "131073"})).job is not job
            assert queue.claim(claims[1].number) is claims[1]
            await _until(lambda: len(child.begun()) == 2)
            hearing = asyncio.create_task(_heard(queue, claims[0]))
            await _until(lambda: claims[0].listeners == 1)
            queue.cancel(claims[0])
            assert (await hearing)[-1].state is JobState.CANCELLED, "this request has its answer"
            queue.cancel(claims[0])
            queue.cancel(claims[1])
            assert not job.is_over, "the last request still wants the result"
            queue.cancel(claims[2])
            assert job.state is JobState.CANCELLED
            await _until(lambda: child.ended() == 1)
            assert _claim(queue.ask({})).job is not job

    _run(scene())


def test_a_job_that_nobody_listens_to(child: Child, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job ends some time after its last listener has left without cancelling, unless a listener returns in time."""
    monkeypatch.setattr(job_queue, "_UNHEARD_S", 0.3)

    async def scene() -> None:
        async with _opened(child) as queue:
            claim = _claim(queue.ask({}))
            job = claim.job
            first = asyncio.create_task(_heard(queue, claim))
            await _until(lambda: job.state is JobState.RUNNING and bool(child.begun()))
            await asyncio.sleep(0.4)
            first.cancel()
            await _until(lambda: not claim.listeners)
            second = asyncio.create_task(_heard(queue, claim))
            await asyncio.sleep(0.5)
            assert job.state is JobState.RUNNING
            second.cancel()
            await _until(lambda: job.state is JobState.CANCELLED)
            await _until(lambda: child.ended() == 1)

    _run(scene())


def test_a_slider_that_is_moved_on(child: Child) -> None:
    """A job that is cancelled at once never starts a process."""

    async def scene() -> None:
        async with _opened(child) as queue:
            for lowat in ("5000", "5001", "5002"):
                queue.cancel(_claim(queue.ask({"LOWAT": lowat})))
            last = _claim(queue.ask({"LOWAT": "5003"})).job
            await _until(lambda: last.state is JobState.RUNNING and bool(child.begun()))
            assert len(child.begun()) == 1

    _run(scene())


def test_a_line_without_end(child: Child) -> None:
    """A job ends with its process even if the process prints a line without end. Its place is then free."""
    child.may("head -c 3000000 /dev/zero >&2; exit 1")

    async def scene() -> None:
        async with _opened(child, side_by_side=1) as queue:
            *_, last = await _heard(queue, _claim(queue.ask({"LOWAT": "5000"})))
            assert last.state is JobState.FAILED
            child.may(f"echo {child.results}/made")
            *_, last = await _heard(queue, _claim(queue.ask({"LOWAT": "5001"})))
            assert last.state is JobState.DONE

    _run(scene())


def test_as_many_as_there_are_places(child: Child) -> None:
    """Jobs beyond the limit wait, and a job that is cancelled while it waits never starts."""

    async def scene() -> None:
        async with _opened(child, side_by_side=1) as queue:
            claims = [_claim(queue.ask({"LOWAT": str(5000 + number)})) for number in range(3)]
            jobs = [claim.job for claim in claims]
            await _until(lambda: jobs[0].state is JobState.RUNNING and len(child.begun()) == 1)
            assert [job.state for job in jobs[1:]] == [JobState.WAITING] * 2
            queue.cancel(claims[1])
            child.may(f"echo {child.results}/made")
            await _until(lambda: jobs[2].state is JobState.DONE)
            assert [job.state for job in jobs] == [JobState.DONE, JobState.CANCELLED, JobState.DONE]

    _run(scene())
    assert len(child.begun()) == 2


def test_there_is_an_end_to_waiting(child: Child) -> None:
    """The queue refuses a job over its limit. Jobs that are over do not count, and a repeated request is no new job."""

    async def scene() -> None:
        async with _opened(child, side_by_side=1) as queue:
            claims = [_claim(queue.ask({"LOWAT": str(5000 + number)})) for number in range(_MOST)]
            with pytest.raises(Busy, match="16 arms are running or waiting"):
                queue.ask({"LOWAT": "6000"})
            again = _claim(queue.ask({"LOWAT": "5000"}))
            assert again.job is claims[0].job
            queue.cancel(claims[-1])
            assert isinstance(queue.ask({"LOWAT": "6000"}), Claim)

    _run(scene())


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("echo first >&2; echo 'priolab: it cannot be' >&2; exit 2", "it cannot be"),
        ("exit 0", "priolab run printed no folder"),
        ("echo /; exit 0", "priolab run printed no folder"),
        ("echo $PWD/results/../fake; exit 0", "priolab run printed no folder"),
        ("echo $PWD/results/nowhere; exit 0", "priolab run printed no folder"),
        ("kill -9 $$", "the lab was killed (SIGKILL)"),
        ("kill -SEGV $$", "the lab was killed (SIGSEGV)"),
        ("kill -40 $$", "the lab was killed (signal 40)"),
    ],
)
def test_a_job_that_fails(child: Child, script: str, text: str) -> None:
    """A failed job gives the lab's own reason, and the demo shows only folders inside the results."""
    child.may(script)

    async def scene() -> None:
        async with _opened(child) as queue:
            *_, last = await _heard(queue, _claim(queue.ask({})))
            assert (last.state, last.text, last.shown) == (JobState.FAILED, text, None)

    _run(scene())


def test_a_lab_that_is_not_there(child: Child, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job fails if the lab cannot be started, and its place is free for the next job."""
    monkeypatch.setattr(sys, "executable", str(child.root / "nothing"))

    async def scene() -> None:
        async with _opened(child, side_by_side=1) as queue:
            for lowat in ("5000", "5001"):
                *_, last = await _heard(queue, _claim(queue.ask({"LOWAT": lowat})))
                assert (last.state, last.text) == (
                    JobState.FAILED,
                    "priolab run could not be started: No such file or directory",
                )

    _run(scene())


def test_cancelled_while_it_is_being_started(child: Child, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that is cancelled while its process starts sends SIGTERM to the process as soon as the process exists."""
    real = asyncio.create_subprocess_exec

    async def scene() -> None:
        async with _opened(child) as queue:
            claim: list[Claim] = []

            async def slow(*words: str, **how: Any) -> asyncio.subprocess.Process:
                process = await real(*words, **how)
                await _until(lambda: bool(child.begun()))
                queue.cancel(claim[0])
                return process

            monkeypatch.setattr(asyncio, "create_subprocess_exec", slow)
            claim.append(_claim(queue.ask({})))
            await _until(lambda: child.ended() == 1)
            assert claim[0].job.state is JobState.CANCELLED

    _run(scene())


def test_closing_ends_everything(child: Child) -> None:
    """`close` ends running jobs and waits for them. Waiting jobs never start, and new ones are refused."""

    async def scene() -> None:
        async with _opened(child) as queue:
            claims = [_claim(queue.ask({"LOWAT": str(5000 + number)})) for number in range(4)]
            await _until(lambda: len(child.begun()) == 2)
            hearing = asyncio.create_task(_heard(queue, claims[3]))
            closing = asyncio.create_task(queue.close())
            assert (await hearing)[-1].state is JobState.CANCELLED
            with pytest.raises(Busy, match="ending"):
                queue.ask({"LOWAT": "6000"})
            await closing
            assert {claim.job.state for claim in claims} == {JobState.CANCELLED}
            assert child.ended() == 2

    _run(scene())
    assert len(child.begun()) == 2


def test_a_child_dies_with_its_parent(child: Child) -> None:
    """The kernel ends the child process when its parent ends, even after SIGKILL."""
    done = subprocess.run([_PYTHON, "-c", _PARENT, str(child.root)], timeout=_SOON_S, check=False)
    assert done.returncode == -signal.SIGKILL
    _run(_until(lambda: child.ended() == 1))
    (line,) = child.begun()
    _run(_until(lambda: not Path(f"/proc/{line.split()[0]}").exists()))


@pytest.mark.parametrize("knobs", [{"LOWAT": "1,2"}, {"LOWATT": "1"}, {"RESULTS": "/"}, {"FABRIC": "netns"}])
def test_what_is_no_scenario(child: Child, knobs: dict[str, str]) -> None:
    """The queue refuses unsuitable knobs and unknown job numbers before anything starts."""

    async def scene() -> None:
        async with _opened(child) as queue:
            with pytest.raises(ScenarioError):
                queue.ask(knobs)
            with pytest.raises(ScenarioError, match="number of a job"):
                queue.claim("1")

    _run(scene())
    assert child.begun() == []
