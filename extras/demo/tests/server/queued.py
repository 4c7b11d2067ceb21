"""A job queue with a script in place of the lab."""

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from priolab.extras.demo.job import Claim, News
from priolab.extras.demo.job_queue import JobQueue
from priolab.extras.demo.tests.unit.demonstrating import settle

SOON_S = 20.0
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


@dataclass(frozen=True, kw_only=True)
class Child:
    """The script in place of the lab. root: the folder in which the script records its start and each SIGTERM."""

    root: Path

    @property
    def results(self) -> Path:
        """Returns the job queue's results folder."""
        return self.root / "results"

    def may(self, script: str) -> None:
        """Lets the script go on: it executes these commands."""
        (self.root / "go.new").write_text(script)
        (self.root / "go.new").rename(self.root / "go")

    def begun(self) -> list[str]:
        """Returns the process id and the arguments of each process that was started."""
        return self._lines("begun")

    def ended(self) -> int:
        """Returns how many processes received SIGTERM."""
        return len(self._lines("ended"))

    def _lines(self, name: str) -> list[str]:
        file = self.root / name
        return file.read_text().splitlines() if file.exists() else []


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Child]:
    """Replaces Python by the script; checks at the end that none of its processes is left."""
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
async def opened(child: Child, side_by_side: int = 2) -> Any:
    """Opens a queue whose jobs run the script, and closes it."""
    queue = JobQueue(child.results, {"FABRIC": "virtual"}, side_by_side)
    try:
        yield queue
    finally:
        await queue.close()


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    """Runs a test's scene. Raises TimeoutError after 20 s."""
    asyncio.run(asyncio.wait_for(coroutine, SOON_S))


async def until(holds: Callable[[], bool]) -> None:
    """Waits until the condition holds."""
    while not holds():
        await asyncio.sleep(0.01)


async def heard(queue: JobQueue, claim: Claim) -> list[News]:
    """Returns all news of a claim, up to the last."""
    return [news async for news in queue.news(claim)]


def claimed(answer: object) -> Claim:
    """Returns the queue's answer, which must be a claim."""
    assert isinstance(answer, Claim)
    return answer
