"""The head's record of a cluster's workers: admitted, refused or lost.

Rules:
1. When the head first sees a worker, it asks the worker whether the worker's machine has the same programs and code as
   the head (`worker.py`). Only a worker that has not refused gets batches.
2. A worker that is lost and comes back counts as new.
3. A worker on which three different batches in a row failed gets no more batches: its disk may be full. A batch
   that fails repeatedly counts once, because the fault may lie in the batch.
"""

import asyncio
import time
from collections.abc import Callable, Mapping

from distributed import Client

from priolab.common.errors import Unavailable
from priolab.extras.cluster.worker import BatchSettings, refusal

_LOOK_S = 1.0
_PATIENCE_S = 60.0
_MOST_FAILURES = 3
"""The number of different batches that may fail in a row on a worker; then the worker is refused."""


class WorkerPool:
    """The head's record of a cluster's workers: admitted, refused or lost.

    tell: called with a line about each worker that refuses or is lost, and about each batch that failed.
    """

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
        """The addresses of the workers that may get batches."""
        return frozenset(self._threads)

    @property
    def threads(self) -> int:
        """The number of batches that the admitted workers can carry out at once."""
        return sum(self._threads.values())

    def update(self) -> None:
        """Records new and lost workers, at most once a second. Raises Unavailable if no worker is admitted.

        If workers were lost, raises Unavailable only when no worker has been admitted for a minute.
        """
        if time.monotonic() - self._looked_s < _LOOK_S:
            return
        there = self.report_lost()
        self._refused = {address: why for address, why in self._refused.items() if address in there}
        self._ask({address: threads for address, threads in there.items() if address not in self._refused})
        self._looked_s = time.monotonic()
        if self._threads:
            self._manned_s = self._looked_s
        elif not self._lost or self._looked_s - self._manned_s > _PATIENCE_S:
            raise Unavailable(
                f"--scheduler {self._address}", self._why_nobody(), "start other workers, or remove the cause"
            )

    def report_lost(self) -> Mapping[str, int]:
        """Reports lost workers; returns the threads of all connected workers, by address."""
        there: dict[str, int] = self._client.nthreads()
        for address in self.admitted - set(there):
            del self._threads[address]
            self._lost.add(address)
            self._tell(f"worker {address} is lost; workers left: {len(self._threads)}")
        return there

    def refuse(self, address: str, why: str) -> None:
        """Marks a worker as refused, so that it gets no more batches. why: the reason."""
        if address in self._threads or address not in self._refused:
            self._threads.pop(address, None)
            self._refused[address] = why
            self._tell(f"worker {address} refuses: {why}")

    def failed(self, address: str, batch: str, why: str) -> None:
        """Records that a batch failed on a worker, and why. batch: the batch's name, the same in later attempts."""
        self._tell(f"worker {address}: {batch} failed: {why}")
        batches = self._failures.setdefault(address, set())
        batches.add(batch)
        if len(batches) >= _MOST_FAILURES:
            self.refuse(address, why)

    def succeeded(self, address: str) -> None:
        """Records that a batch succeeded on a worker."""
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
                continue  # the worker was lost meanwhile
            elif isinstance(answer, ImportError):
                self.refuse(address, f"the lab, or the head's version of it, is not installed on the worker ({answer})")
            else:
                self.refuse(address, str(answer))

    def _why_nobody(self) -> str:
        if self._refused:
            each = (f"{address} refuses: {why}" for address, why in self._refused.items())
            return f"all its workers refuse: {'; '.join(each)}"
        return "its workers were lost" if self._lost else "no worker is connected"


async def _refusal(settings: BatchSettings) -> str | None:
    """Returns in one line why the worker refuses batches; None if it accepts them. Checks in a thread of the worker.

    The check takes long, and would block the event loop of the worker's process.
    """
    return await asyncio.to_thread(refusal, settings)
