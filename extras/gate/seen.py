"""The observation of a trial, and its frames in words. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from priolab.analysis.judgement.sequence import Competition
from priolab.analysis.loads.metrics import PageLoad
from priolab.analysis.loads.probe import Probe, probe_of
from priolab.analysis.loads.verdict import Judgement
from priolab.common.formats.events import Event
from priolab.common.formats.page import Page
from priolab.common.formats.run import OracleRecord, OtherBytes
from priolab.common.packets import RECORD_BYTES
from priolab.experiments.commands.trial import Trial

LOG = re.compile(r" \(log: [^)]*\)")
"""The part of a reason that names a run's log."""

_TURNS_SHOWN = 6
_TOLD = ("request-sent", "priority-sent", "disturbed", "reset", "goaway")


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The result of a trial.

    events: the client's events. page: the page that was loaded. failure: the reason why the trial has no result; None
    if it has one. loads: the complete page loads with their verdicts, unless the trial is a probe. ledger: the ledger
    of the last load, in words; None without one. folder: the path of the run's folder; None if nothing is kept. took_s:
    how long the run took, in real time; 0 if it was not measured. oracle: that of the last load. waiting: where the
    others' bytes were when the origin had the last load's important resource. Both are None without a ledger.
    """

    trial: Trial
    events: Sequence[Event]
    page: Page
    failure: str | None = None
    loads: Sequence[tuple[PageLoad, Judgement]] = ()
    ledger: str | None = None
    folder: str | None = None
    took_s: float = 0.0
    oracle: OracleRecord | None = None
    waiting: OtherBytes | None = None

    @property
    def holds_bytes(self) -> bool:
        """True if more than a record of the others had been chosen, and not sent, when the important resource came."""
        return self.waiting is not None and self.waiting.committed + self.waiting.unsent > RECORD_BYTES

    @property
    def chose_early(self) -> bool:
        """True if bytes chosen before are known to be why the important resource came late.

        They were in the kernel, or some of the others were not among them. If all others came first, and the front had
        them, its HEADERS may have waited just as well.
        """
        if self.waiting is None or not self.holds_bytes:
            return False
        return max(self.waiting.unsent, self.waiting.pending) > RECORD_BYTES

    @property
    def came_alone(self) -> bool:
        """True if the last load's important resource, once it began, came before others that were left."""
        left = self.waiting is not None and self.waiting.pending > RECORD_BYTES
        return left and bool(self.loads) and self.loads[-1][0].other_bytes_during <= RECORD_BYTES

    @cached_property
    def competition(self) -> Competition:
        """The competition of the streams in a probe of several."""
        return Competition.of(self.events, self.page)

    @cached_property
    def probe(self) -> Probe | None:
        """The result of a probe; None without one."""
        return probe_of(self.events, self.page)

    def frames(self, load: int = 1) -> list[str]:
        """Returns the frames of a load in words: requests and changes of priority, then the DATA in their order.

        load: the number of the load, from 1. DATA frames of a stream that follow each other are one line.
        """
        events = [event for event in self.events if event.load == load]
        if not events:
            return []
        began_ns = events[0].t_ns
        # A connection that ended before the first step has its frames before.
        runs = list(_runs(events[self._first_step(events) :])) or list(_runs(events))
        told = [(event.t_ns, _told(event)) for event in events if event.kind in _TOLD]
        told += [(run[0].t_ns, _of_run(run)) for run in runs[:_TURNS_SHOWN]]
        told.sort(key=lambda line: line[0])
        lines = [f"{(t_ns - began_ns) / 10**9:8.3f} s  {text}" for t_ns, text in told]
        if len(runs) > _TURNS_SHOWN:
            lines.append(f"            and {len(runs) - _TURNS_SHOWN} more turns of the streams")
        if steps := sum(event.kind == "window-opened" for event in events):
            lines.append(f"            the client opened its windows {steps} times")
        return lines

    def _first_step(self, events: Sequence[Event]) -> int:
        """Returns where the events of a probe of several streams begin in which the server has a choice."""
        steps = (n for n, each in enumerate(events) if each.kind == "window-opened" and each.stream_id is None)
        return next(steps, 0) if self.page.is_sequence else 0


Trials = Mapping[tuple[str, str], Seen]
"""The observations by the name of the check and the role of the trial."""


def _of_run(run: Sequence[Event]) -> str:
    size = sum(event.size_bytes or 0 for event in run if event.kind == "data")
    frames = sum(event.kind == "data-header" for event in run)
    many = f"{frames} frame{'s' if frames != 1 else ''}"
    return f"DATA of stream {run[0].stream_id} {run[0].resource}: {size:,} bytes, {many}"


def _told(event: Event) -> str:
    where = f" stream {event.stream_id} {event.resource}" if event.stream_id else ""
    match event.kind:
        case "request-sent":
            return f"HEADERS{where}, {event.detail or 'no priority'}"
        case "priority-sent":
            return f"change of priority,{where}: {event.detail}"
        case "disturbed":
            return f"disturbed:{where} {event.detail}"
    return f"{event.kind}{where}: {event.detail}"


def _runs(events: Sequence[Event]) -> Iterator[list[Event]]:
    """Yields the events of DATA, joined as long as they are of one stream."""
    data = [event for event in events if event.kind in ("data-header", "data")]
    for _, run in groupby(data, lambda event: event.stream_id):
        yield list(run)
