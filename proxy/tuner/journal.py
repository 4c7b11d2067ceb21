"""The journal of decisions: lowat.jsonl, a line each."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from proxy.tuner.law import Why

NAME = "lowat.jsonl"
"""Of the file in a folder of results."""


class Event(StrEnum):
    """What made the tuner look."""

    ESTABLISHED = "established"
    ROUND_TRIP = "round trip"
    RETRANSMISSION = "retransmission"
    TIMEOUT = "timeout"
    LOOK = "look"


@dataclass(frozen=True, kw_only=True)
class Decision:
    """One change of one connection's TCP_NOTSENT_LOWAT, or the attempt.

    t_ns: CLOCK_MONOTONIC. rate_bytes_s is what was reckoned with, delivery_rate_bytes_s what the kernel says,
    acked_rate_bytes_s that of the last round trip, each 0 for unknown; rtt_ns is the smoothed one. old_bytes: what the
    tuner set before, 0 if it had not; of a cautious one (caution.py) what the socket had, 0 if it was unset, and
    new_bytes may be what was wanted at an earlier look. outcome: `set`, `dry run`, or `refused:` and why.
    """

    t_ns: int
    peer: str
    peer_port: int
    port: int
    event: Event
    delivery_rate_bytes_s: int
    acked_rate_bytes_s: int = 0
    rate_bytes_s: int
    rtt_ns: int
    cwnd_segments: int
    mss_bytes: int
    old_bytes: int
    new_bytes: int
    why: Why
    outcome: str

    def to_json(self) -> str:
        """One line of the journal."""
        return json.dumps(asdict(self))

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """What `to_json` wrote."""
        return cls(**(document | {"event": Event(document["event"]), "why": Why(document["why"])}))

    def __str__(self) -> str:
        """For people."""
        rate = f"{self.rate_bytes_s / 1000:.0f} kB/s" if self.rate_bytes_s else "rate unknown"
        seen = f"{rate}, rtt {self.rtt_ns / 10**6:.1f} ms, cwnd {self.cwnd_segments}"
        what = f"{self.old_bytes or 'unset'} -> {self.new_bytes}"
        outcome = "" if self.outcome == SET else f" [{self.outcome}]"
        return f"{self.peer} port {self.peer_port}: {what} bytes ({self.why}; {seen}){outcome}"


SET = "set"
DRY_RUN = "dry run"


def refused(reason: str) -> str:
    """The outcome of an attempt that the kernel did not accept."""
    return f"refused: {reason}"


@contextmanager
def writing(file: Path) -> Iterator[Callable[[Decision], None]]:
    """Within: what appends a decision to a journal, at once. Raises OSError."""
    with file.open("a", buffering=1) as journal:
        yield lambda decision: print(decision.to_json(), file=journal)


def read_decisions(journal: Path) -> list[Decision]:
    """The decisions in a journal, in their order."""
    return [Decision.from_document(json.loads(line)) for line in journal.read_text().splitlines()]
