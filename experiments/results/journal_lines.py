"""Reads the journals of a run in a guest, so that a comparison with another run shows differences of a nanosecond."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

JOURNALS = (
    "client/events.jsonl",
    "client/arrivals.jsonl",
    "client/keys.log",
    "front/sockets.jsonl",
    "front/process.jsonl",
    "link/queue.jsonl",
    "origin/access.jsonl",
)

_BEGIN_NS = 1024 * 10**9
"""Every run in a guest begins at a multiple of this time (testbed/guest/guest_init.py)."""


def _since_its_beginning(value: Any, begin_ns: int) -> Any:
    """Returns the value with begin_ns subtracted from every integer that is at least begin_ns, and so is a time."""
    if isinstance(value, dict):
        return {name: _since_its_beginning(each, begin_ns) for name, each in value.items()}
    return value - begin_ns if isinstance(value, int) and value >= begin_ns else value


def lines(journal: Path) -> Iterator[Any]:
    """Yields the lines of a journal, with times counted from the run's beginning.

    Runs begin at different times of the guest's clock, because a guest carries out several runs.
    """
    texts = journal.read_text().splitlines()
    if journal.suffix != ".jsonl":
        yield from texts
        return
    documents = [json.loads(text) for text in texts]
    times_ns = [each.get("t_ns", each.get("received_ns")) for each in documents]
    begin_ns = min(times_ns, default=0) // _BEGIN_NS * _BEGIN_NS
    yield from (_since_its_beginning(each, begin_ns) for each in documents)
