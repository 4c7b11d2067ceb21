"""Records of the tuner: front/lowat.jsonl, one JSON object per line."""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum

SET = "set"
DRY_RUN = "dry run"


def refused(reason: str) -> str:
    """Returns the outcome of an attempt that the kernel did not accept."""
    return f"refused: {reason}"


class Trigger(StrEnum):
    """The reason for which the tuner looked at a connection."""

    ESTABLISHED = "established"
    ROUND_TRIP = "round trip"
    RETRANSMISSION = "retransmission"
    TIMEOUT = "timeout"
    LOOK = "look"


class Why(StrEnum):
    """The rule that decided."""

    UNKNOWN = "nothing known"
    FLOOR = "floor"
    RATE = "rate"
    CEILING = "ceiling"
    SYSCTL = "sysctl"
    SERVER = "server's own limit"


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A line of front/lowat.jsonl: a change of one connection's TCP_NOTSENT_LOWAT, or the attempt.

    t_ns: CLOCK_MONOTONIC. rate_bytes_s: the rate that the law used; delivery_rate_bytes_s: the kernel's;
    acked_rate_bytes_s: the last round trip's; each 0 for unknown. rtt_ns: the smoothed round-trip time. old_bytes: the
    value that the tuner set before, 0 if it had not; a cautious tuner (proxy/tuner/caution.py) gives the socket's
    value, 0 if it was unset, and new_bytes may be the value wanted at an earlier look. outcome: `set`, `dry run`, or
    `refused:` and why.
    """

    t_ns: int
    peer: str
    peer_port: int
    port: int
    event: Trigger
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
        """Returns the line, without its end."""
        return json.dumps(asdict(self))

    def __str__(self) -> str:
        """Returns the decision as a sentence."""
        rate = f"{self.rate_bytes_s / 1000:.0f} kB/s" if self.rate_bytes_s else "rate unknown"
        seen = f"{rate}, rtt {self.rtt_ns / 10**6:.1f} ms, cwnd {self.cwnd_segments}"
        what = f"{self.old_bytes or 'unset'} -> {self.new_bytes}"
        outcome = "" if self.outcome == SET else f" [{self.outcome}]"
        return f"{self.peer} port {self.peer_port}: {what} bytes ({self.why}; {seen}){outcome}"
