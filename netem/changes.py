"""Rate steps at their time, and the record of them: changes.jsonl.

Rules:
1. Steps count from the start of the measured load, and nothing happens before that is told.
2. A line for each step that was made: `asked_ns`, when it was due; `t_ns`, when it was done; `rate_bit_s`, what the
   rate was found to be then. A step that never came to be made has none.
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
    """Where the record is kept of a link that notes down its queue there; nowhere, if that is nowhere."""
    return journal if journal == Path(os.devnull) else journal.with_name(JOURNAL)


class RateChanges:
    """The steps of one link, look by look. A context."""

    def __init__(self, steps: Sequence[RateStep], make: Callable[[int], int] | None, journal: Path) -> None:
        """make: makes it the rate, and gives what the rate then is. Without a step there is no journal.

        None: whoever calls `begin` makes them, each to the nanosecond, or when told if that is later.
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
        """When the next step is due, None for never."""
        return self._due[0][0] if self._due else None

    def begin(self, began_ns: int) -> list[tuple[int, int]]:
        """The measured load began then: (when it is due, rate) of each step."""
        self._told_ns = time.monotonic_ns()
        self._due.extend((began_ns + step.at_ns, step.rate_bit_s) for step in self._steps)
        return list(self._due)

    def look(self, now_ns: int) -> int | None:
        """Make what is due; when the next is, None for never."""
        while self._lines is not None and self._due and self._due[0][0] <= now_ns:
            asked_ns, rate_bit_s = self._due.popleft()
            if self._make is None:
                line = {"t_ns": max(asked_ns, self._told_ns), "asked_ns": asked_ns, "rate_bit_s": rate_bit_s}
            else:
                found_bit_s = self._make(rate_bit_s)
                line = {"t_ns": time.monotonic_ns(), "asked_ns": asked_ns, "rate_bit_s": found_bit_s}
            self._lines.write(json.dumps(line) + "\n")
        return self.next_ns
