"""A demo whose runs are made up: each takes a few milliseconds, and its figures tell from which knobs it was made."""

import asyncio
import base64
import copy
import itertools
import json
import random
import socket
import threading
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from priolab.experiments.execution.request import Request
from priolab.extras.demo import job_queue
from priolab.extras.demo import server as demo_server
from priolab.extras.demo.arm_view import FinishedArm
from priolab.extras.demo.finale import finale
from priolab.extras.demo.job import DemoJob, JobState
from priolab.extras.demo.job_process import JobProcesses
from priolab.extras.demo.job_queue import JobQueue
from priolab.extras.demo.listener import listening
from priolab.extras.demo.recorded import recorded
from priolab.extras.demo.tests.lab.exported import ADDRESS
from priolab.extras.demo.tests.unit.demonstrating import settle

TOKEN = "made-up"
_RUN_S = (0.005, 0.09)
_BEGIN_S = 20.0


@dataclass(kw_only=True)
class MadeUp:
    """The made-up runs. begun, ended: how many runs began, and how many were interrupted or came to their end.

    failing: runs with one of these words fail. hold: while cleared, no run ends.
    """

    results: Path
    random: random.Random
    failing: set[str] = field(default_factory=set)
    shown: dict[str, FinishedArm] = field(default_factory=dict)
    hold: threading.Event = field(default_factory=threading.Event)
    begun: list[tuple[str, ...]] = field(default_factory=list)
    queue: JobQueue | None = None
    address: str = ""
    server: demo_server.DemoServer | None = None
    thread: threading.Thread | None = None
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def find(self, request: Request) -> FinishedArm | None:
        """Return the finished arm of a request, as FinishedArms does."""
        return self.shown.get(_key(request.arms[0].knobs))

    def forget(self, shown: FinishedArm) -> None:
        """Do nothing: no made-up arm is damaged."""

    async def carry_out(self, job: DemoJob) -> tuple[int, list[str], str]:
        """Make a run up: wait, and write the arm's knobs into a folder."""
        self.begun.append(job.words)
        end_s = asyncio.get_running_loop().time() + self.random.uniform(*_RUN_S)
        while asyncio.get_running_loop().time() < end_s or not self.hold.is_set():
            if job.is_over or job.is_interrupted:
                return 143, [], ""
            job.say(JobState.RUNNING, f"load {len(self.begun) % 3 + 1} of 3")
            await asyncio.sleep(0.01)
        if self.failing & set(job.words):
            return 1, ["priolab: made up to fail"], ""
        folder = self.results / f"{next(self.numbers)}"
        folder.mkdir(parents=True)
        knobs = dict(job.request.arms[0].knobs)
        (folder / "knobs.json").write_text(json.dumps(knobs))
        self.shown[_key(knobs)] = FinishedArm(folder=folder, arm=job.request.arms[0].name)
        return 0, [], str(folder)

    def unfinished(self) -> list[DemoJob]:
        """Return the jobs that are waiting or running, without those in the background."""
        assert self.queue
        return [job for job in self.queue._waiting_or_running if not job.is_background]

    def end(self) -> None:
        """End the server."""
        assert self.server
        assert self.thread
        self.server.should_exit = True
        self.thread.join(_BEGIN_S)
        assert not self.thread.is_alive()


def first_byte_ms(knobs: Mapping[str, str]) -> float:
    """Return the made-up time of the first byte, which depends on the knobs."""
    return 1000.0 + 10 * (zlib.crc32(_key(knobs).encode()) % 800)


def _key(knobs: Mapping[str, str]) -> str:
    return json.dumps(sorted(knobs.items()))


def _document(shown: FinishedArm) -> dict[str, Any]:
    knobs = json.loads((shown.folder / "knobs.json").read_text())
    made: dict[str, Any] = copy.deepcopy(recorded()[0])
    made["arm"] |= {"name": shown.arm, "first_byte_ms": first_byte_ms(knobs), "warnings": []}
    made |= {"knobs": knobs, "experiment": base64.b64encode(json.dumps(knobs).encode()).decode().replace("/", "_")}
    return made


@contextmanager
def made_up_demo(results: Path, *, seed: int = 1, ahead: bool = False) -> Iterator[MadeUp]:
    """Serve the demo's page with made-up runs, in a thread of this process."""
    made = MadeUp(results=results, random=random.Random(seed))
    made.hold.set()
    results.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch, listening("0") as listener:
        settle(patch)
        patch.setattr(job_queue, "FinishedArms", lambda _: made)
        patch.setattr(JobProcesses, "carry_out", lambda _, job: made.carry_out(job))
        patch.setattr(job_queue, "_SECOND_THOUGHTS_S", 0.01)
        patch.setattr(demo_server, "document", _document)
        patch.setattr(demo_server, "_FIRST", ())
        made.address = f"http://127.0.0.1:{listener.getsockname()[1]}/?explore#{TOKEN}"
        made.thread = threading.Thread(target=lambda: asyncio.run(_serve(made, listener, ahead=ahead)))
        made.thread.start()
        try:
            yield made
        finally:
            made.hold.set()
            made.end()


async def _serve(made: MadeUp, listener: socket.socket, *, ahead: bool) -> None:
    made.queue = JobQueue(made.results, {}, 2)
    made.server = demo_server.DemoServer(made.queue, TOKEN, idle=not ahead, last=finale(ADDRESS))
    await made.server.serve(sockets=[listener])
