"""The valve of a probe of several streams, whose page says when each request is made and each window opened. Pure.

Stages of a load:
1. Parked: as in flow_control_probe.py. Then the client sends the page's changes of priority.
2. Plugged: the page's first resource uses up the connection's window. Its own window then stays closed.
3. Stepping: a stream's window is as large as its resource in the page, from the resource's step on. Windows are opened
   in another order than the requests were made: each second one comes before the others. With each step the
   connection's window grows by step_bytes. It stays as it is if the front has not used it; then the event of the step
   has size 0.
4. Open: when the streams have ended, or the front sends nothing any more, the windows let everything pass.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from priolab.client.flow_control_probe import MOST_STEPS, PARKED_BYTES, PATIENCE, WIDE_BYTES, Opening
from priolab.common.formats.page import Cue, Page

_MOST_IDLE = 30
"""The steps without a byte after which a front sends nothing any more."""

_NO_CUE = Cue()


class _Stage(Enum):
    PARKED = auto()
    PLUGGED = auto()
    STEPPING = auto()
    OPEN = auto()


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A step of the client. requests: the names of resources. updates: name and value of each PRIORITY_UPDATE."""

    openings: tuple[Opening, ...] = ()
    requests: tuple[str, ...] = ()
    updates: tuple[tuple[str, str], ...] = ()


class SequenceValve:
    """The valve of a load. step_bytes, leave: as those of Valve."""

    def __init__(self, page: Page, step_bytes: int, *, leave: bool = False) -> None:
        self._plug, *others = page.contents
        self._ended = tuple((each.name, field) for each in page.documents if each.cue for field in each.cue.updates)
        self._cues = {each.name: each.cue or _NO_CUE for each in others}
        self._sizes = {each.name: each.size_bytes for each in others}
        self._step_bytes, self._leave = step_bytes, leave
        self._last_step = max(max(cue.request_step, cue.window_step) for cue in self._cues.values())
        self._opened, self._asked = set[str](), {name for name, cue in self._cues.items() if not cue.request_step}
        self._stage, self._step, self._idle, self._waited = _Stage.PARKED, 0, 0, 0
        self._left_bytes, self._still = 0, 0

    @property
    def is_left(self) -> bool:
        """True if the load is to end now, without the rest of its responses."""
        return self._leave and self._stage is _Stage.OPEN

    def holds_back(self, name: str) -> bool:
        """True if the resource is requested at a step to come."""
        return name in self._cues and name not in self._asked

    def turn(self, streams: Mapping[str, int], *, begun: bool, left_bytes: int) -> Turn:
        """Returns what to do; called when nothing has arrived for a while.

        streams: open streams of resources that no other resource waits for, by name. begun, left_bytes: as for Valve.
        """
        self._still = self._still + 1 if left_bytes == self._left_bytes else 0
        self._left_bytes = left_bytes
        match self._stage:
            case _Stage.PARKED if streams and begun:
                self._stage, self._still = _Stage.PLUGGED, 0
                updates = ((name, field) for name, cue in self._cues.items() for field in cue.updates)
                plugged = Opening(streams[self._plug.name], max(1, left_bytes))
                return Turn(openings=(plugged,), updates=(*self._ended, *updates))
            case _Stage.PLUGGED if left_bytes < self._step_bytes or self._still >= PATIENCE:
                self._stage = _Stage.STEPPING
                return self._stepped(streams, used=True)
            case _Stage.STEPPING if not begun and self._waited < PATIENCE:
                self._waited += 1
            case _Stage.STEPPING:
                self._waited = 0
                return self._stepped(streams, used=left_bytes < self._step_bytes)
        return Turn()

    def _stepped(self, streams: Mapping[str, int], *, used: bool) -> Turn:
        due = tuple(
            name for name, cue in self._cues.items() if self.holds_back(name) and cue.request_step <= self._step
        )
        if due:
            self._asked.update(due)
            return Turn(requests=due)
        self._step += 1
        self._idle = 0 if used else self._idle + 1
        is_over = self._step > self._last_step and (
            streams.keys() <= {self._plug.name} or self._idle > _MOST_IDLE or self._step > MOST_STEPS
        )
        if is_over:
            self._stage = _Stage.OPEN
            return Turn(openings=(*(Opening(each, WIDE_BYTES) for each in streams.values()), Opening(None, WIDE_BYTES)))
        opened = [
            name
            for name in streams
            if name in self._cues and name not in self._opened and self._cues[name].window_step < self._step
        ]
        self._opened.update(opened)
        turned = [*opened[1::2], *opened[::2]]
        windows = (Opening(streams[name], self._sizes[name] - PARKED_BYTES) for name in turned)
        return Turn(openings=(*windows, Opening(None, self._step_bytes if used else 0)))
