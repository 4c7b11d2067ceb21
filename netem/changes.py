"""Applies rate steps when they are due and records them in changes.jsonl.

Rules:
1. The times of steps count from the start of the measured load. No step is due before this start is known.
2. Each step that was made has a line in the file. `asked_ns`: when it was due. `t_ns`: when it was made. `rate_bit_s`:
   the rate that was read back afterwards. A step that was never made has no line.
"""

import json
import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from priolab.netem.link import RateStep

JOURNAL = "changes.jsonl"


def beside(journal: Path) -> Path:
    """Returns the path of changes.jsonl: it is in the same folder as `journal`, the file for samples of the queues.

    Returns /dev/null if `journal` is /dev/null.
    """
    return journal if journal == Path(os.devnull) else journal.with_name(JOURNAL)


class RateChanges:
    """The rate steps of a link, and the journal of the steps. A context manager.

    The caller must call the method `look` whenever a step may be due.
    """

    def __init__(self, steps: Sequence[RateStep], make: Callable[[int], int] | None, journal: Path) -> None:
        """Opens the journal, unless there are no steps.

        make: a function that sets the rate and returns the rate that it reads back. With None, the steps are only
        recorded here, and the caller must make them: each exactly when due, or at the report that the measured load has
        begun if that is later.
        """
        self._steps = steps
        self._told_ns = 0
        self._make = make
        self._due: deque[tuple[int, int]] = deque()
        self._lines = journal.open("w", buffering=1) if steps else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._lines is not None:
            self._lines.close()

    @property
    def next_ns(self) -> int | None:
        """The time at which the next step is due; None if no step is left, and before `begin`."""
        return self._due[0][0] if self._due else None

    def begin(self, began_ns: int) -> list[tuple[int, int]]:
        """Sets the start of the measured load. Returns (time due, rate) of each step."""
        self._told_ns = time.monotonic_ns()
        self._due.extend((began_ns + step.at_ns, step.rate_bit_s) for step in self._steps)
        return list(self._due)

    def look(self, now_ns: int) -> int | None:
        """Makes and records the rate steps that are due at now_ns.

        Returns the time at which the next step is due; None if no step is left, and before `begin`.
        """
        while self._lines is not None and self._due and self._due[0][0] <= now_ns:
            asked_ns, rate_bit_s = self._due.popleft()
            if self._make is None:
                line = {"t_ns": max(asked_ns, self._told_ns), "asked_ns": asked_ns, "rate_bit_s": rate_bit_s}
            else:
                found_bit_s = self._make(rate_bit_s)
                line = {"t_ns": time.monotonic_ns(), "asked_ns": asked_ns, "rate_bit_s": found_bit_s}
            self._lines.write(json.dumps(line) + "\n")
        return self.next_ns
