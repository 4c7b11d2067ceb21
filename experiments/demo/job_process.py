"""The process of a job: `priolab run` for one arm, with its progress on standard error."""

import asyncio
import contextlib
import signal
from functools import partial

from experiments.demo.job import DemoJob, JobState
from experiments.host.processes import die_with_parent, module, program_environment

_STOP_S = 100.0
_MOST_LINE_BYTES = 2**20
_SAID_LINES = 5


async def carry_out(job: DemoJob) -> tuple[int, list[str], str]:
    """Runs the command; returns exit code, last lines of standard error, and standard output. Raises OSError."""
    process = await asyncio.create_subprocess_exec(
        *(*module("experiments"), "run", "--print-folder", *job.words),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=program_environment(),
        start_new_session=True,
        preexec_fn=partial(die_with_parent, signal.SIGTERM),
        limit=_MOST_LINE_BYTES,
    )
    job.process = process
    if job.is_over or job.is_interrupted:  # in the meantime
        tell_to_end(process)
    try:
        said, out = await asyncio.gather(_follow(process, job), _read_all(process))
        return await process.wait(), said, out
    finally:
        if process.returncode is None:
            tell_to_end(process)
            await _see_to_its_end(process)


def tell_to_end(process: asyncio.subprocess.Process) -> None:
    """Asks a process to end; it cleans up first."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)


async def _see_to_its_end(process: asyncio.subprocess.Process) -> None:
    try:
        await asyncio.wait_for(process.wait(), _STOP_S)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()


async def _follow(process: asyncio.subprocess.Process, job: DemoJob) -> list[str]:
    """Reports the job's progress; returns the last lines of its standard error."""
    assert process.stderr is not None
    said: list[str] = []
    async for raw in process.stderr:
        line = raw.decode(errors="replace").strip()
        if not line:
            continue
        said = [*said, line][-_SAID_LINES:]
        _, colon, step = line.partition(": ")
        if colon and not job.is_over and line[0].isdigit():
            job.say(JobState.RUNNING, step)
    return said


async def _read_all(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    return (await process.stdout.read()).decode(errors="replace")
