"""Tests of the processes of jobs, which wait for further jobs, with a script in place of the lab."""

import os
import signal
from pathlib import Path

import pytest

from priolab.common.command_server import words_of
from priolab.extras.demo.job import JobState
from priolab.extras.demo.tests.server.queued import Child, claimed, heard, opened, run, until
from priolab.extras.demo.tests.server.queued import child as child

_LOWATS = ("5000", "5001", "5002")
_IN_TURN = """#!/bin/sh
cd {root} || exit 9
echo "$$ $*" >>begun
printf '\\036{{"code": 0, "out": "{root}/results/made\\\\n"}}\\n'
while read -r request; do
    echo "$$ $request" >>begun
    printf '\\036{{"code": 0, "out": "{root}/results/made\\\\n"}}\\n'
done
echo ended >>ended
"""


@pytest.fixture
def in_turn(child: Child) -> Child:
    """Replace Python by a script that carries out one command after another."""
    (child.root / "fake").write_text(_IN_TURN.format(root=child.root))
    return child


def _pids(child: Child) -> list[int]:
    return [int(line.partition(" ")[0]) for line in child.begun()]


def test_a_process_carries_out_jobs_in_turn(in_turn: Child) -> None:
    """A process that has carried out a job is asked for the next one; `close` ends it."""

    async def scene() -> None:
        async with opened(in_turn) as queue:
            for lowat in _LOWATS:
                *_, last = await heard(queue, claimed(queue.ask({"LOWAT": lowat})))
                assert last.state is JobState.DONE
            (pid,) = set(_pids(in_turn))
            assert Path(f"/proc/{pid}").exists()

    run(scene())
    requests = [words_of(line[line.index("[") :]) for line in in_turn.begun()]
    assert all(f"LOWAT={lowat}" in words for lowat, words in zip(_LOWATS, requests, strict=True))


def test_a_process_that_ended_while_it_waited(in_turn: Child) -> None:
    """If a process was killed while it waited, the next job gets another one."""

    async def scene() -> None:
        async with opened(in_turn) as queue:
            await heard(queue, claimed(queue.ask({"LOWAT": "5000"})))
            (first,) = _pids(in_turn)
            os.kill(first, signal.SIGKILL)
            await until(lambda: not Path(f"/proc/{first}").exists())
            *_, last = await heard(queue, claimed(queue.ask({"LOWAT": "5001"})))
            assert last.state is JobState.DONE
            assert len(set(_pids(in_turn))) == 2

    run(scene())


def test_a_process_that_ends_when_it_is_asked(in_turn: Child) -> None:
    """If a process ends without a word when it is asked for another job, another process carries out this job."""
    script = (in_turn.root / "fake").read_text()
    (in_turn.root / "fake").write_text(script.replace("while read -r request; do", "read -r request; while false; do"))

    async def scene() -> None:
        async with opened(in_turn) as queue:
            for lowat in _LOWATS:
                *_, last = await heard(queue, claimed(queue.ask({"LOWAT": lowat})))
                assert last.state is JobState.DONE
            assert len(set(_pids(in_turn))) == len(_LOWATS)

    run(scene())
