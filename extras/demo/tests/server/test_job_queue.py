"""Tests of the job queue, with a script in place of the lab."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from priolab.common.command_server import words_of
from priolab.common.errors import ScenarioError
from priolab.experiments.scenario.knobs import KNOBS
from priolab.extras.demo import job_queue
from priolab.extras.demo.job import Claim, JobState
from priolab.extras.demo.job_queue import Busy
from priolab.extras.demo.tests.server.queued import SOON_S, Child, claimed, heard, opened, run, until
from priolab.extras.demo.tests.server.queued import child as child

_MOST = 16
_PYTHON = sys.executable
_PARENT = """
import asyncio, os, signal, sys
from pathlib import Path
import pytest
from priolab.extras.demo.job_queue import JobQueue
from priolab.extras.demo.tests.unit.demonstrating import settle

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


def test_a_job_from_its_beginning_to_its_end(child: Child) -> None:
    """A job passes on its steps as they come, and ends with the folder that the lab printed."""

    async def scene() -> None:
        async with opened(child) as queue:
            claim = claimed(queue.ask({"LOWAT": " 131072 "}))
            hearing = asyncio.create_task(heard(queue, claim))
            await until(lambda: claim.job.text == "load 1 of 3")
            child.may(f"echo {child.results}/made")
            news = await hearing
            assert {each.state for each in news[:-1]} <= {JobState.WAITING, JobState.RUNNING}
            assert news[-1].state is JobState.DONE
            assert "load 1 of 3" in [each.text for each in news]
            assert "load 9 of 9" not in [each.text for each in news]
            shown = news[-1].shown
            assert shown
            assert (shown.folder, shown.arm) == (child.results / "made", "lowat-131072")
            assert await heard(queue, claim) == [news[-1]]
            queue.cancel(claim)
            assert claim.job.state is JobState.DONE
            assert await heard(queue, claim) == [news[-1]]

    run(scene())
    (line,) = child.begun()
    _, *given, request = line.split(maxsplit=4)
    assert given == ["-P", "-m", "priolab.experiments.command_server"]
    words = words_of(request)
    assert words[:2] == ["run", "--print-folder"]
    knobs = {word.partition("=")[0] for word in words[2:]}
    assert knobs == {*KNOBS, "FABRIC", "RESULTS", "CONTROL"}
    assert {"LOWAT=131072", "CONTROL=no", f"RESULTS={child.results}"} <= set(words)


def test_a_link_that_people_name(child: Child) -> None:
    """The page sends the default of every other knob; LINK still sets all rates and delays that were not changed."""

    async def scene() -> None:
        every = {name: knob.default for name, knob in KNOBS.items()}
        async with opened(child) as queue:
            words = claimed(queue.ask({**every, "LINK": "wpt-4g", "DELAY_UP": "1ms"})).job.words
            assert {"RATE=9000kbit", "RATE_UP=9000kbit", "DELAY=85ms", "DELAY_UP=1ms"} <= {*words}

    run(scene())


def test_the_same_wish_is_one_job(child: Child) -> None:
    """Requests for the same knobs share a job, however they are spelt.
    The job ends when the last of them cancels; the news of each ends when it cancels.
    """

    async def scene() -> None:
        async with opened(child) as queue:
            claims = [claimed(queue.ask({"LOWAT": text})) for text in ("131072", "131072\n")]
            claims.append(claimed(queue.ask({})))
            job = claims[0].job
            assert [claim.job for claim in claims] == [job] * 3
            assert claimed(queue.ask({"LOWAT": "131073"})).job is not job
            assert queue.claim(claims[1].number) is claims[1]
            await until(lambda: len(child.begun()) == 2)
            hearing = asyncio.create_task(heard(queue, claims[0]))
            await until(lambda: claims[0].listeners == 1)
            queue.cancel(claims[0])
            assert (await hearing)[-1].state is JobState.CANCELLED, "this request has its answer"
            queue.cancel(claims[0])
            queue.cancel(claims[1])
            assert not job.is_over, "the last request still wants the result"
            queue.cancel(claims[2])
            assert job.state is JobState.CANCELLED
            await until(lambda: child.ended() == 1)
            assert claimed(queue.ask({})).job is not job

    run(scene())


def test_a_job_that_nobody_listens_to(child: Child, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job ends some time after its last listener has left without cancelling, unless a listener returns in time."""
    monkeypatch.setattr(job_queue, "_UNHEARD_S", 0.3)

    async def scene() -> None:
        async with opened(child) as queue:
            claim = claimed(queue.ask({}))
            job = claim.job
            first = asyncio.create_task(heard(queue, claim))
            await until(lambda: job.state is JobState.RUNNING and bool(child.begun()))
            await asyncio.sleep(0.4)
            first.cancel()
            await until(lambda: not claim.listeners)
            second = asyncio.create_task(heard(queue, claim))
            await asyncio.sleep(0.5)
            assert job.state is JobState.RUNNING
            second.cancel()
            await until(lambda: job.state is JobState.CANCELLED)
            await until(lambda: child.ended() == 1)

    run(scene())


def test_a_slider_that_is_moved_on(child: Child) -> None:
    """A job that is cancelled at once never starts a process."""

    async def scene() -> None:
        async with opened(child) as queue:
            for lowat in ("5000", "5001", "5002"):
                queue.cancel(claimed(queue.ask({"LOWAT": lowat})))
            last = claimed(queue.ask({"LOWAT": "5003"})).job
            await until(lambda: last.state is JobState.RUNNING and bool(child.begun()))
            assert len(child.begun()) == 1

    run(scene())


def test_a_line_without_end(child: Child) -> None:
    """A job ends with its process even if the process prints a line without end. Its place is then free."""
    child.may("head -c 3000000 /dev/zero >&2; exit 1")

    async def scene() -> None:
        async with opened(child, side_by_side=1) as queue:
            *_, last = await heard(queue, claimed(queue.ask({"LOWAT": "5000"})))
            assert last.state is JobState.FAILED
            child.may(f"echo {child.results}/made")
            *_, last = await heard(queue, claimed(queue.ask({"LOWAT": "5001"})))
            assert last.state is JobState.DONE

    run(scene())


def test_as_many_as_there_are_places(child: Child) -> None:
    """Jobs beyond the limit wait, and a job that is cancelled while it waits never starts."""

    async def scene() -> None:
        async with opened(child, side_by_side=1) as queue:
            claims = [claimed(queue.ask({"LOWAT": str(5000 + number)})) for number in range(3)]
            jobs = [claim.job for claim in claims]
            await until(lambda: jobs[0].state is JobState.RUNNING and len(child.begun()) == 1)
            assert [job.state for job in jobs[1:]] == [JobState.WAITING] * 2
            queue.cancel(claims[1])
            child.may(f"echo {child.results}/made")
            await until(lambda: jobs[2].state is JobState.DONE)
            assert [job.state for job in jobs] == [JobState.DONE, JobState.CANCELLED, JobState.DONE]

    run(scene())
    assert len(child.begun()) == 2


def test_there_is_an_end_to_waiting(child: Child) -> None:
    """The queue refuses a job over its limit. Jobs that are over do not count, and a repeated request is no new job."""

    async def scene() -> None:
        async with opened(child, side_by_side=1) as queue:
            claims = [claimed(queue.ask({"LOWAT": str(5000 + number)})) for number in range(_MOST)]
            with pytest.raises(Busy, match="16 arms are running or waiting"):
                queue.ask({"LOWAT": "6000"})
            again = claimed(queue.ask({"LOWAT": "5000"}))
            assert again.job is claims[0].job
            queue.cancel(claims[-1])
            assert isinstance(queue.ask({"LOWAT": "6000"}), Claim)

    run(scene())


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
        async with opened(child) as queue:
            *_, last = await heard(queue, claimed(queue.ask({})))
            assert (last.state, last.text, last.shown) == (JobState.FAILED, text, None)

    run(scene())


def test_a_lab_that_is_not_there(child: Child, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job fails if the lab cannot be started, and its place is free for the next job."""
    monkeypatch.setattr(sys, "executable", str(child.root / "nothing"))

    async def scene() -> None:
        async with opened(child, side_by_side=1) as queue:
            for lowat in ("5000", "5001"):
                *_, last = await heard(queue, claimed(queue.ask({"LOWAT": lowat})))
                assert (last.state, last.text) == (
                    JobState.FAILED,
                    "priolab run could not be started: No such file or directory",
                )

    run(scene())


def test_cancelled_while_it_is_being_started(child: Child, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that is cancelled while its process starts sends SIGTERM to the process as soon as the process exists."""
    real = asyncio.create_subprocess_exec

    async def scene() -> None:
        async with opened(child) as queue:
            claim: list[Claim] = []

            async def slow(*words: str, **how: Any) -> asyncio.subprocess.Process:
                process = await real(*words, **how)
                await until(lambda: bool(child.begun()))
                queue.cancel(claim[0])
                return process

            monkeypatch.setattr(asyncio, "create_subprocess_exec", slow)
            claim.append(claimed(queue.ask({})))
            await until(lambda: child.ended() == 1)
            assert claim[0].job.state is JobState.CANCELLED

    run(scene())


def test_closing_ends_everything(child: Child) -> None:
    """`close` ends running jobs and waits for them. Waiting jobs never start, and new ones are refused."""

    async def scene() -> None:
        async with opened(child) as queue:
            claims = [claimed(queue.ask({"LOWAT": str(5000 + number)})) for number in range(4)]
            await until(lambda: len(child.begun()) == 2)
            hearing = asyncio.create_task(heard(queue, claims[3]))
            closing = asyncio.create_task(queue.close())
            assert (await hearing)[-1].state is JobState.CANCELLED
            with pytest.raises(Busy, match="ending"):
                queue.ask({"LOWAT": "6000"})
            await closing
            assert {claim.job.state for claim in claims} == {JobState.CANCELLED}
            assert child.ended() == 2

    run(scene())
    assert len(child.begun()) == 2


def test_a_child_dies_with_its_parent(child: Child) -> None:
    """The kernel ends the child process when its parent ends, even after SIGKILL."""
    done = subprocess.run([_PYTHON, "-c", _PARENT, str(child.root)], timeout=SOON_S, check=False)
    assert done.returncode == -signal.SIGKILL
    run(until(lambda: child.ended() == 1))
    (line,) = child.begun()
    run(until(lambda: not Path(f"/proc/{line.split()[0]}").exists()))


@pytest.mark.parametrize("knobs", [{"LOWAT": "1,2"}, {"LOWATT": "1"}, {"RESULTS": "/"}, {"FABRIC": "netns"}])
def test_what_is_no_scenario(child: Child, knobs: dict[str, str]) -> None:
    """The queue refuses unsuitable knobs and unknown job numbers before anything starts."""

    async def scene() -> None:
        async with opened(child) as queue:
            with pytest.raises(ScenarioError):
                queue.ask(knobs)
            with pytest.raises(ScenarioError, match="number of a job"):
                queue.claim("1")

    run(scene())
    assert child.begun() == []
