"""The workers of a cluster, as the head knows them: present, asked, admitted.

Rules:
1. A worker is asked whether it equals the head (`worker.py`) when it is first seen, whenever that is. Nothing is handed
   to a worker that has not been asked, or has refused.
2. A worker that has gone and comes back is a new one.
3. A worker with which several different batches in a row came to nothing is refused from then on: its disk may be full.
   The same batch failing again and again is not the worker's fault.
"""

import asyncio
import time
from collections.abc import Callable, Mapping

from distributed import Client

from experiments.errors import Unavailable
from experiments.execution.worker import BatchSettings, refusal

_LOOK_S = 1.0
_PATIENCE_S = 60.0
_MOST_FAILURES = 3
"""Failed batches in a row, all different, after which a worker is refused."""


class WorkerPool:
    """See above. tell: receives a line for each refusal and each loss."""

    def __init__(self, client: Client, address: str, settings: BatchSettings, tell: Callable[[str], None]) -> None:
        self._client = client
        self._address = address
        self._settings = settings
        self._tell = tell
        self._threads: dict[str, int] = {}
        self._refused: dict[str, str] = {}
        self._lost: set[str] = set()
        self._failures: dict[str, set[str]] = {}
        self._looked_s = float("-inf")
        self._manned_s = time.monotonic()

    @property
    def admitted(self) -> frozenset[str]:
        """Addresses of the workers that may work."""
        return frozenset(self._threads)

    @property
    def threads(self) -> int:
        """The number of batches the admitted workers can carry out at once."""
        return sum(self._threads.values())

    def update(self) -> None:
        """Looks for workers, at most once a second. Raises Unavailable if none may work, or none has for a while."""
        if time.monotonic() - self._looked_s < _LOOK_S:
            return
        there = self.report_lost()
        self._refused = {address: why for address, why in self._refused.items() if address in there}
        self._ask({address: threads for address, threads in there.items() if address not in self._refused})
        self._looked_s = time.monotonic()
        if self._threads:
            self._manned_s = self._looked_s
        elif not self._lost or self._looked_s - self._manned_s > _PATIENCE_S:
            raise Unavailable(f"--scheduler {self._address}", self._why_nobody(), "see to the workers")

    def report_lost(self) -> Mapping[str, int]:
        """Tells of lost workers; returns the threads of all connected workers, by address, admitted or not."""
        there: dict[str, int] = self._client.nthreads()
        for address in self.admitted - set(there):
            del self._threads[address]
            self._lost.add(address)
            self._tell(f"worker {address} is lost; {len(self._threads)} left")
        return there

    def refuse(self, address: str, why: str) -> None:
        """Bars a worker from further work."""
        if address in self._threads or address not in self._refused:
            self._threads.pop(address, None)
            self._refused[address] = why
            self._tell(f"worker {address} refuses: {why}")

    def failed(self, address: str, batch: str, why: str) -> None:
        """Notes that a batch came to nothing there. batch: a name that stays the same when it is handed out again."""
        self._tell(f"worker {address}: {batch} came to nothing: {why}")
        batches = self._failures.setdefault(address, set())
        batches.add(batch)
        if len(batches) >= _MOST_FAILURES:
            self.refuse(address, why)

    def succeeded(self, address: str) -> None:
        """Notes that a batch succeeded there."""
        self._failures.pop(address, None)

    def _ask(self, there: Mapping[str, int]) -> None:
        new = [address for address in there if address not in self._threads]
        if not new:
            return
        for address in new:
            self._failures.pop(address, None)
        answers = self._client.run(_refusal, self._settings, workers=new, on_error="return")
        for address in new:
            answer = answers[address]
            if answer is None:
                self._threads[address] = there[address]
            elif isinstance(answer, OSError):
                continue  # lost while it was being asked
            elif isinstance(answer, ImportError):
                self.refuse(address, f"the lab is not installed there, or another version of it ({answer})")
            else:
                self.refuse(address, str(answer))

    def _why_nobody(self) -> str:
        if self._refused:
            each = (f"{address} refuses: {why}" for address, why in self._refused.items())
            return f"none of its workers may work: {'; '.join(each)}"
        return "its workers were lost" if self._lost else "no worker is connected"


async def _refusal(settings: BatchSettings) -> str | None:
    """Runs on the worker, beside its event loop: asking programs for their versions takes a moment."""
    return await asyncio.to_thread(refusal, settings)
