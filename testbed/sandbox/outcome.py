"""The end of a sandbox, and what was counted on its link and its connections."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from priolab.common.exit_codes import ExitCode, signalled


class Ending(StrEnum):
    """Ways in which a sandbox ends."""

    ENDED = "ended"
    """The client has ended."""
    LIMIT = "limit"
    """The client did not end within --limit."""
    WALL_LIMIT = "wall-limit"
    """The client did not end within --wall-limit."""
    NOT_FOUND = "not-found"
    """A program was not found."""
    NOT_STARTED = "not-started"
    """A program could not be started."""
    SERVER = "server"
    """The server ended before it listened, or did not listen in time."""
    FAILED = "failed"
    """The lab could not make the hosts or the link."""


EXIT_CODES = {
    Ending.FAILED: ExitCode.NOT_OK,
    Ending.SERVER: ExitCode.NO_SERVER,
    Ending.LIMIT: ExitCode.LIMIT,
    Ending.WALL_LIMIT: ExitCode.WALL_LIMIT,
    Ending.NOT_STARTED: ExitCode.NOT_STARTED,
    Ending.NOT_FOUND: ExitCode.NOT_FOUND,
}
"""The exit code of `priolab sandbox` for each way to end before the client has ended."""


@dataclass(frozen=True, kw_only=True)
class Direction:
    """The counts of one direction of the link. bytes: what arrived, with all headers. Packets of segmentation offload
    count as one. dropped: packets that found the queue full, or that its discipline dropped. lost: those lost by LOSS.
    """

    bytes: int = 0
    dropped: int = 0
    lost: int = 0


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of the sender at one end of a TCP connection, by its kernel (TCP_INFO), in its ticks of 10 ms.

    busy_us: how long it had bytes that were sent or to be sent, and not acknowledged. window_us: how long of this the
    receiver's window stopped it. buffer_us: how long its own send buffer did.
    """

    busy_us: int = 0
    window_us: int = 0
    buffer_us: int = 0

    @property
    def network_us(self) -> int:
        """The rest of the time in which it was busy: the way, the congestion window, and the link's rate and queue."""
        return max(0, self.busy_us - self.window_us - self.buffer_us)

    @property
    def most(self) -> str:
        """The limit with the most time: `network`, `window`, `buffer`; `application` if never busy for a tick."""
        times = {"network": self.network_us, "window": self.window_us, "buffer": self.buffer_us}
        return max(times, key=lambda name: times[name]) if self.busy_us else "application"


@dataclass(frozen=True, kw_only=True)
class Connection:
    """A TCP connection, as its kernels counted it when it was closed, or at the end.

    client_port, server_port: the ports of the hosts. down_bytes, up_bytes: what the programs could read at the client
    and at the server. down_retransmissions, up_retransmissions: segments that the server and the client sent again.
    min_round_trip_us: the shortest round trip of a segment; None if there was none. between: the hosts that stand for
    client and server here: the client first, the server last, others in the order in which they were given.
    down_limits, up_limits: what limited the server and the client as senders. These are values of Python alone.
    """

    client_port: int
    server_port: int
    down_bytes: int = 0
    up_bytes: int = 0
    down_retransmissions: int = 0
    up_retransmissions: int = 0
    min_round_trip_us: int | None = None
    between: tuple[str, str] = ("client", "server")
    down_limits: Limits = Limits()
    up_limits: Limits = Limits()


@dataclass(frozen=True, kw_only=True)
class Beside:
    """The counts of a host beside the client, where there are more than two hosts, or a link of the server's.

    down, up: toward the host and from it. longest_queue: of its link, as in Outcome.
    """

    down: Direction = Direction()
    up: Direction = Direction()
    longest_queue: int | None = None


@dataclass(frozen=True, kw_only=True)
class Happened:
    """An event of the schedule, as it was given. at_ns: when it began to happen, from the client's start on. done_ns:
    when it had happened.
    """

    at_ns: int
    event: str
    done_ns: int = 0


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The end of a sandbox. reason: in words, if the client did not end by itself, or if programs were ended because
    the guest was out of memory. code: the client's exit code; negative, the signal that ended it; None if it did not
    end. duration_ns: from the client's start to its end. longest_queue: the most packets in the bottleneck at a
    sample; None without samples. seeded: True if all random numbers of the hosts followed from the seed. clock_ns:
    CLOCK_REALTIME at the client's start, the clock of captures. beside: the other hosts, if there are more than two
    or the server has a link. codes: the exit codes of the programs that had ended before they were ended, by their
    hosts. queue_bytes: of each host whose link has a queue in bytes, the most bytes in it toward the host (`down`)
    and from it (`up`), if this way has a rate. events: those of the schedule that happened. hints: what may have made
    programs fail, in words.
    """

    ending: Ending
    reason: str | None = None
    code: int | None = None
    duration_ns: int = 0
    down: Direction = Direction()
    up: Direction = Direction()
    connections: Sequence[Connection] = ()
    longest_queue: int | None = None
    seeded: bool = False
    clock_ns: int = 0
    beside: Mapping[str, Beside] = field(default_factory=dict)
    codes: Mapping[str, int] = field(default_factory=dict)
    queue_bytes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    events: Sequence[Happened] = ()
    hints: Sequence[str] = ()


def exit_code_of(outcome: Outcome) -> int:
    """Returns the exit code of `priolab sandbox` for a run, whatever was expected of it."""
    if outcome.ending is not Ending.ENDED or outcome.code is None:
        return EXIT_CODES[outcome.ending]
    return outcome.code if outcome.code >= 0 else signalled(-outcome.code)
