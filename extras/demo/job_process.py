"""The processes of jobs: each carries out `priolab run` for one arm after another, and tells its progress."""

import asyncio
import contextlib
import signal
from asyncio.subprocess import PIPE, STDOUT, Process
from functools import partial

from priolab.common.command_server import PROCESS, STOPPED, answer_of, request
from priolab.common.process import processes
from priolab.common.process.processes import die_with_parent
from priolab.common.process.search_path import program_environment
from priolab.extras.demo.job import DemoJob, JobState

_STOP_S = 100.0
_MOST_LINE_BYTES = 2**20
_SAID_LINES = 5


class JobProcesses:
    """The processes that carry jobs out. One that has carried a job out waits for the next."""

    def __init__(self) -> None:
        self._waiting: list[Process] = []

    async def carry_out(self, job: DemoJob) -> tuple[int, list[str], str]:
        """Runs the command; returns exit code, the last lines that it has written, and standard output.

        Raises OSError.
        """
        asked = request(("run", "--print-folder", *job.words))
        while process := await self._asked_again(asked):
            code, said, out = await self._followed(process, job)
            if said or out or process.returncode is None or job.is_over or job.is_interrupted:
                return code, said, out
            # The process had ended before it could read the request.
        return await self._followed(await _begun(asked), job)

    async def _followed(self, process: Process, job: DemoJob) -> tuple[int, list[str], str]:
        job.process = process
        if job.is_over or job.is_interrupted:  # in the meantime
            tell_to_end(process)
        try:
            code, said, out = await _follow(process, job)
            if process.returncode is None and code < STOPPED and not (job.is_over or job.is_interrupted):
                self._waiting.append(process)
            return code, said, out
        finally:
            if process not in self._waiting:
                await _end(process)

    async def _asked_again(self, asked: str) -> Process | None:
        """Returns a process that waited, and has been asked; None if there is none."""
        while self._waiting:
            process = self._waiting.pop()
            assert process.stdin is not None
            process.stdin.write(f"{asked}\n".encode())
            with contextlib.suppress(ConnectionError):
                await process.stdin.drain()
                if process.returncode is None:
                    return process
            await _end(process)
        return None

    async def close(self) -> None:
        """Ends the processes that wait."""
        ending, self._waiting = self._waiting, []
        await asyncio.gather(*map(_end, ending))


async def _begun(asked: str) -> Process:
    return await asyncio.create_subprocess_exec(
        *processes.module(PROCESS),
        asked,
        stdin=PIPE,
        stdout=PIPE,
        stderr=STDOUT,
        env=program_environment(),
        start_new_session=True,
        preexec_fn=partial(die_with_parent, signal.SIGTERM),
        limit=_MOST_LINE_BYTES,
    )


def tell_to_end(process: Process) -> None:
    """Asks a process to end; it cleans up first."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)


async def _end(process: Process) -> None:
    tell_to_end(process)
    try:
        await asyncio.wait_for(process.wait(), _STOP_S)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()


async def _follow(process: Process, job: DemoJob) -> tuple[int, list[str], str]:
    """Reports the job's progress. Returns exit code, the last lines that were written, and standard output.

    If the process ends without an answer, returns its exit code and no output.
    """
    assert process.stdout is not None
    said: list[str] = []
    async for raw in process.stdout:
        line = raw.decode(errors="replace").strip("\n ")
        if answer := answer_of(line):
            return answer.code, said, answer.out
        if not line:
            continue
        said = [*said, line][-_SAID_LINES:]
        _, colon, step = line.partition(": ")
        if colon and not job.is_over and line[0].isdigit():
            job.say(JobState.RUNNING, step)
    return await process.wait(), said, ""
