"""Tests of runs in the background: a visitor's wish comes first, with a script in place of the lab."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from priolab.extras.demo.job import Claim, DemoJob, JobState
from priolab.extras.demo.job_queue import Busy
from priolab.extras.demo.tests.server.queued import Child, claimed, heard, opened, run, until
from priolab.extras.demo.tests.server.queued import child as child

_MOST_BACKGROUND = 4


def _begun(child: Child, lowat: str) -> int:
    """Return how many processes were started for this value."""
    return sum(f'"LOWAT={lowat}"' in line for line in child.begun())


async def _runs(job: DemoJob, child: Child, lowat: str, times: int = 1) -> None:
    await until(lambda: job.state is JobState.RUNNING and _begun(child, lowat) == times)


def test_a_wish_interrupts(child: Child) -> None:
    """A wish interrupts a run in the background, which starts again when no wish waits or runs."""

    async def scene() -> None:
        async with opened(child, side_by_side=2) as queue:
            ahead = claimed(queue.ask({"LOWAT": "5000"}, background=True))
            await _runs(ahead.job, child, "5000")
            hearing = asyncio.create_task(heard(queue, ahead))
            wish = claimed(queue.ask({"LOWAT": "5001"}))
            await until(lambda: child.ended() == 1 and ahead.job.state is JobState.WAITING)
            await _runs(wish.job, child, "5001")
            assert _begun(child, "5000") == 1, "a place is free, but a wish runs"
            child.may(f"echo {child.results}/made")
            assert [each.state for each in await hearing][-1] is JobState.DONE
            assert wish.job.state is JobState.DONE
            assert _begun(child, "5000") == 2

    run(scene())


def test_a_wish_precedes(child: Child) -> None:
    """A run in the background does not begin while a wish waits; one such run goes on at a time."""

    async def scene() -> None:
        async with opened(child, side_by_side=2) as queue:
            ahead = [claimed(queue.ask({"LOWAT": f"500{number}"}, background=True)) for number in range(2)]
            wishes = [claimed(queue.ask({"LOWAT": f"501{number}"})) for number in range(3)]
            await until(lambda: len(child.begun()) == 2)
            await asyncio.sleep(0.3)
            assert [claim.job.state for claim in ahead] == [JobState.WAITING] * 2
            for claim in wishes:
                queue.cancel(claim)
            await _runs(ahead[0].job, child, "5000")
            await asyncio.sleep(0.3)
            assert ahead[1].job.state is JobState.WAITING
            queue.cancel(ahead[0])
            await _runs(ahead[1].job, child, "5001")
            assert len(child.begun()) == 4

    run(scene())


def test_a_wish_for_what_is_run(child: Child) -> None:
    """A wish for an arm that is run in the background joins the run, which goes on, and is a wish's from then on.
    When the wish is given up, the run goes on in the background; when that is given up, too, it ends.
    """

    async def scene() -> None:
        async with opened(child, side_by_side=2) as queue:
            ahead = claimed(queue.ask({"LOWAT": "5000"}, background=True))
            await _runs(ahead.job, child, "5000")
            wish = claimed(queue.ask({"LOWAT": "5000"}))
            assert wish.job is ahead.job
            other = claimed(queue.ask({"LOWAT": "5001"}))
            await _runs(other.job, child, "5001")
            assert child.ended() == 0
            queue.cancel(other)
            await until(lambda: child.ended() == 1)
            queue.cancel(wish)
            queue.cancel(wish)
            assert (await heard(queue, wish))[-1].state is JobState.CANCELLED
            assert not ahead.job.is_over
            queue.cancel(ahead)
            assert ahead.job.is_over
            await until(lambda: child.ended() == 2)

    run(scene())


def test_a_wish_given_up_beside_another(child: Child) -> None:
    """A run that only the background still wants is interrupted while a wish runs."""

    async def scene() -> None:
        async with opened(child, side_by_side=2) as queue:
            wish = claimed(queue.ask({"LOWAT": "5000"}))
            ahead = claimed(queue.ask({"LOWAT": "5000"}, background=True))
            other = claimed(queue.ask({"LOWAT": "5001"}))
            await _runs(wish.job, child, "5000")
            await _runs(other.job, child, "5001")
            queue.cancel(wish)
            await until(lambda: child.ended() == 1 and ahead.job.state is JobState.WAITING)
            assert other.job.state is JobState.RUNNING
            again = claimed(queue.ask({"LOWAT": "5000"}))
            await _runs(again.job, child, "5000", times=2)

    run(scene())


def test_interrupted_and_cancelled(child: Child) -> None:
    """A run that is given up while it is interrupted does not start again."""

    async def scene() -> None:
        async with opened(child, side_by_side=1) as queue:
            ahead = claimed(queue.ask({"LOWAT": "5000"}, background=True))
            await _runs(ahead.job, child, "5000")
            wish = claimed(queue.ask({"LOWAT": "5001"}))
            queue.cancel(ahead)
            await _runs(wish.job, child, "5001")
            queue.cancel(wish)
            await until(lambda: child.ended() == 2)
            await asyncio.sleep(0.3)
            assert len(child.begun()) == 2

    run(scene())


def test_the_background_takes_no_wishs_place(child: Child) -> None:
    """Few runs wait in the background, and they do not count among the wishes."""

    async def scene() -> None:
        async with opened(child, side_by_side=1) as queue:
            for number in range(_MOST_BACKGROUND):
                assert isinstance(queue.ask({"LOWAT": f"500{number}"}, background=True), Claim)
            with pytest.raises(Busy, match="4 arms"):
                queue.ask({"LOWAT": "5009"}, background=True)
            for number in range(16):
                assert isinstance(queue.ask({"LOWAT": f"{6000 + number}"}), Claim)
            with pytest.raises(Busy, match="16 arms"):
                queue.ask({"LOWAT": "7000"})

    run(scene())


def test_the_request_says_so(child: Child) -> None:
    """`background` in the body of a request is true, false or missing."""
    from priolab.extras.demo.server import TOKEN_HEADER, application

    async def scene() -> None:
        async with opened(child) as queue:
            transport = httpx.ASGITransport(application(queue, "token"))
            headers = {TOKEN_HEADER: "token"}
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as client:
                for background, number in ((True, "1"), (False, "2")):
                    wish = {"knobs": {"LOWAT": f"500{number}"}, "background": background}
                    answer = await client.post("/api/arms", json=wish)
                    assert answer.json() == {"job": number}
                    assert queue.claim(number).job.is_background is background
                wrongs: tuple[Any, ...] = (1, "true", None, [])
                for wrong in wrongs:
                    answer = await client.post("/api/arms", json={"knobs": {}, "background": wrong})
                    assert answer.status_code == 400
                shipped = (await client.get("/api/recorded")).json()["arms"]
                assert [each["knobs"]["LOWAT"] for each in shipped] == ["none", "131072"]
                assert (await client.get("/api/choices")).json()["ahead"] is False

    run(scene())
    assert Path(child.results).exists()
