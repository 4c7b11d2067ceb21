"""Applies rate steps when they are due and records them in changes.jsonl.

Rules:
1. Steps count from the start of the measured load. Nothing happens before `begin` is called with that time.
2. Each step that was made has a line: `asked_ns`, when it was due; `t_ns`, when it was done; `rate_bit_s`, the rate
   found then. A step that was never made has none.
"""

import json
import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from netem.link import RateStep

JOURNAL = "changes.jsonl"


def beside(journal: Path) -> Path:
    """The path of changes.jsonl beside a queue's journal; the null device if the journal is the null device."""
    return journal if journal == Path(os.devnull) else journal.with_name(JOURNAL)


class RateChanges:
    """The rate steps of one link. A context; call `look` again and again."""

    def __init__(self, steps: Sequence[RateStep], make: Callable[[int], int] | None, journal: Path) -> None:
        """make: sets the rate and returns the rate found then. Without steps no journal is written.

        If make is None, the caller of `begin` makes the steps, each exactly when due, or at `begin` if that is later.
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
        """The time at which the next step is due; None if there is none."""
        return self._due[0][0] if self._due else None

    def begin(self, began_ns: int) -> list[tuple[int, int]]:
        """Sets the start of the measured load. Returns (time due, rate) of each step."""
        self._told_ns = time.monotonic_ns()
        self._due.extend((began_ns + step.at_ns, step.rate_bit_s) for step in self._steps)
        return list(self._due)

    def look(self, now_ns: int) -> int | None:
        """Makes the steps that are due. Returns when the next one is due, None if there is none."""
        while self._lines is not None and self._due and self._due[0][0] <= now_ns:
            asked_ns, rate_bit_s = self._due.popleft()
            if self._make is None:
                line = {"t_ns": max(asked_ns, self._told_ns), "asked_ns": asked_ns, "rate_bit_s": rate_bit_s}
            else:
                found_bit_s = self._make(rate_bit_s)
                line = {"t_ns": time.monotonic_ns(), "asked_ns": asked_ns, "rate_bit_s": found_bit_s}
            self._lines.write(json.dumps(line) + "\n")
        return self.next_ns
