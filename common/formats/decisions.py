"""The tuner's records: the lines of front/lowat.jsonl, each a JSON object."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

JOURNAL = "lowat.jsonl"
"""The name of the journal in the folder front/ of a run folder."""

SET = "set"
DRY_RUN = "dry run"


def refused(reason: str) -> str:
    """Returns the outcome of a change that the kernel refused."""
    return f"refused: {reason}"


class Trigger(StrEnum):
    """The event on which the tuner sampled a connection."""

    ESTABLISHED = "established"
    ROUND_TRIP = "round trip"
    RETRANSMISSION = "retransmission"
    TIMEOUT = "timeout"
    LOOK = "look"
    """In results of version 0.2 and older: a sample of a tuner that polled."""


class Why(StrEnum):
    """The rule that decided the new value (proxy/tuner/law.h)."""

    UNKNOWN = "nothing known"
    FLOOR = "floor"
    RATE = "rate"
    CEILING = "ceiling"
    SYSCTL = "sysctl"
    SERVER = "server's own limit"


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A line of front/lowat.jsonl: a change, or an attempted change, of one connection's TCP_NOTSENT_LOWAT.

    t_ns: CLOCK_MONOTONIC. rate_bytes_s: the rate that the law used. delivery_rate_bytes_s: the kernel's delivery rate.
    acked_rate_bytes_s: the rate of acknowledged bytes in the last round trip, or in the last 100 ms.
    highest_rate_bytes_s: the highest rate of bytes in the last second or two; in older results, on the connection. A
    rate is 0 if it is unknown. rtt_ns: the smoothed round-trip time. old_bytes: the value that the tuner set before; 0
    if it had set no value. With a cautious tuner (proxy/tuner/caution.h) old_bytes is the socket's value, 0 if unset,
    and new_bytes may be the value computed from an earlier sample. outcome: `set`, `dry run`, or `refused:` with the
    reason.
    """

    t_ns: int
    peer: str
    peer_port: int
    port: int
    event: Trigger
    delivery_rate_bytes_s: int
    acked_rate_bytes_s: int = 0
    highest_rate_bytes_s: int = 0
    rate_bytes_s: int
    rtt_ns: int
    cwnd_segments: int
    mss_bytes: int
    old_bytes: int
    new_bytes: int
    why: Why
    outcome: str

    def to_json(self) -> str:
        """Returns the line without a line break."""
        return json.dumps(asdict(self))

    def __str__(self) -> str:
        """Returns the decision as text for people."""
        rate = f"{self.rate_bytes_s / 1000:.0f} kB/s" if self.rate_bytes_s else "rate unknown"
        seen = f"{rate}, rtt {self.rtt_ns / 10**6:.1f} ms, cwnd {self.cwnd_segments}"
        what = f"LOWAT {self.old_bytes or 'unset'} -> {self.new_bytes}"
        outcome = "" if self.outcome == SET else f" [{self.outcome}]"
        return f"{self.peer} port {self.peer_port}: {what} bytes ({self.why}; {seen}){outcome}"


@contextmanager
def writing(file: Path) -> Iterator[Callable[[Decision], None]]:
    """Yields a function that appends a decision to the journal at once. Raises OSError."""
    with file.open("a", buffering=1) as journal:
        yield lambda decision: print(decision.to_json(), file=journal)
