"""The valve of a probe: enlarges flow-control windows so that the front must choose which stream to send. Pure.

Stages of a load:
1. Parked: each stream has a window of PARKED_BYTES, until the headers of all responses have arrived. With a window of 0
   nginx would not even send headers. Over HTTP/3, headers use up the window, too, and a front may not begin a response
   while another one waits for its window. So this stage also ends after MOST_PARKED_TURNS pauses.
2. Plugged: the connection's initial window cannot be closed, so one stream uses it up. The resource that was requested
   first gets a window as large as what is left of the connection's window. The stage ends when the connection's window
   is smaller than a step: lighttpd sends no frame of a few bytes. The stage also ends when the connection's window
   stays the same in several pauses: some fronts leave a step or more of the window unused.
3. Stepping: every stream has more window than it needs, and the connection's window grows step by step. With each step
   the front chooses which stream to send, and it has had time to buffer data of every stream.
4. Open: when a stream has ended there is nothing left to choose, and the windows let everything pass. The windows also
   let everything pass after MOST_STEPS steps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

PARKED_BYTES = 1024
"""The initial window of a stream."""

WIDE_BYTES = 2**29
"""An increment of a window: more than any stream needs, and so small that several of them keep a window below 2**31."""

MOST_STEPS = 256
"""The most steps of a load: more than the lab's resources need. After these steps, 2 MiB with STEPS of
client/plan.py, the windows let everything pass."""

MOST_PARKED_TURNS = 500
"""Over HTTP/3, the most calls of `turn` before the windows are opened although a response has not begun.

With STEPS of client/plan.py these are 5 s; over a path with a delay they are longer.
"""

PATIENCE = 5
"""The number of calls of `turn` in which the connection's window may stay the same before it counts as used up."""


@dataclass(frozen=True)
class Opening:
    """An increase of a window by size_bytes. stream_id: None for the connection's window."""

    stream_id: int | None
    size_bytes: int


class _Stage(Enum):
    PARKED = auto()
    PLUGGED = auto()
    STEPPING = auto()
    OPEN = auto()


class Valve:
    """The valve of a page load, which opens flow-control windows bit by bit.

    step_bytes: the bytes by which a step enlarges the connection's window. leave: True to end the load once the front
    has nothing left to choose. most_parked: the most calls of `turn` with parked streams; None for no limit.
    """

    def __init__(self, step_bytes: int, *, leave: bool = False, most_parked: int | None = None) -> None:
        self._step_bytes = step_bytes
        self._leave = leave
        self._most_parked = most_parked
        self._parked = 0
        self._stage = _Stage.PARKED
        self._asked = 0
        self._steps = 0
        self._left_bytes, self._still = 0, 0

    @property
    def is_left(self) -> bool:
        """True if the load is to end now, without the rest of its responses."""
        return self._leave and self._stage is _Stage.OPEN

    def turn(self, streams: Sequence[int], *, begun: bool, left_bytes: int) -> list[Opening]:
        """Returns the windows to enlarge now; called when nothing has arrived for a while.

        streams: open streams of resources that no other resource waits for, in the order of their requests. begun: True
        if the response headers of all open streams have arrived. left_bytes: what is left of the connection's window.
        """
        self._still = self._still + 1 if left_bytes == self._left_bytes else 0
        self._left_bytes = left_bytes
        match self._stage:
            case _Stage.PARKED if streams and (begun or self._has_waited()):
                self._stage = _Stage.PLUGGED
                self._asked, self._still = len(streams), 0
                return [Opening(streams[0], max(1, left_bytes))]
            case _Stage.PLUGGED if len(streams) < self._asked:  # the resource was too small
                self._stage = _Stage.OPEN
                return [*(Opening(stream, WIDE_BYTES) for stream in streams), Opening(None, WIDE_BYTES)]
            case _Stage.PLUGGED if left_bytes < self._step_bytes or self._still >= PATIENCE:
                self._stage = _Stage.STEPPING
                self._steps = 1
                return [*(Opening(stream, WIDE_BYTES) for stream in streams), Opening(None, self._step_bytes)]
            case _Stage.STEPPING if len(streams) == self._asked and self._steps < MOST_STEPS:
                self._steps += 1
                return [Opening(None, self._step_bytes)]
            case _Stage.STEPPING:
                self._stage = _Stage.OPEN
                return [Opening(None, WIDE_BYTES)]
        return []

    def _has_waited(self) -> bool:
        self._parked += 1
        return self._most_parked is not None and self._parked > self._most_parked
