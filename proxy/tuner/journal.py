"""The journal of decisions: lowat.jsonl, one record (common/formats/decisions.py) per line."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from priolab.common.formats.decisions import Decision

NAME = "lowat.jsonl"
"""The name of the journal in the folder front/ of a run folder."""


@contextmanager
def writing(file: Path) -> Iterator[Callable[[Decision], None]]:
    """Yields a function that appends a decision to the journal at once. Raises OSError."""
    with file.open("a", buffering=1) as journal:
        yield lambda decision: print(decision.to_json(), file=journal)
