"""The result of a probe: which streams the front served when the client opened its window bit by bit. Pure.

Rules:
1. Bytes count from the window's first step until the first stream ends, or the window is opened completely. At other
   times the front has no choice between streams.
2. Only the order of the bytes counts, not their time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from priolab.analysis.loads.competition import most_share
from priolab.analysis.loads.verdict import NO_ORDER, Judgement
from priolab.common.formats.events import Event
from priolab.common.formats.page import Page
from priolab.common.formats.run import ProbeRecord, Verdict

_EVEN = 0.5
ALONE = 0.98
"""From this share of the bytes on, a stream counts as served alone. A step of the window is about 0.02 of all bytes."""


@dataclass(frozen=True, kw_only=True)
class Probe:
    """The result of a probe.

    important: name of the important resource. steps: the number of steps in which the window was opened. served:
    (resource, payload bytes) in the order of arrival; successive pieces of a resource are joined.
    """

    important: str
    steps: int
    served: tuple[tuple[str, int], ...]

    def size_bytes(self, resource: str) -> int:
        """Returns the payload bytes of a resource."""
        return sum(size_bytes for name, size_bytes in self.served if name == resource)

    @property
    def important_share(self) -> float:
        """The important resource's share of all bytes served."""
        return self.size_bytes(self.important) / sum(size_bytes for _, size_bytes in self.served)

    def as_record(self) -> ProbeRecord:
        """Returns the record for run.json."""
        return ProbeRecord(
            steps=self.steps,
            important=self.important,
            important_share=round(self.important_share, 4),
            served=self.served,
        )

    @classmethod
    def from_record(cls, record: ProbeRecord) -> "Probe":
        """Returns the result in a record of run.json."""
        return cls(important=record.important, steps=record.steps, served=record.served)


def probe_of(events: Sequence[Event], page: Page) -> Probe | None:
    """Finds a probe's result in the client's events; None if the client never opened its window in steps.

    page: the probe's page: an important resource, another resource, and documents.
    """
    steps, step_bytes, served = 0, None, list[tuple[str, int]]()
    for event in events:
        if event.kind == "window-opened" and event.stream_id is None:
            if steps and event.size_bytes != step_bytes:
                break
            steps, step_bytes = steps + 1, event.size_bytes
        elif steps and event.kind == "data":
            name, so_far = served.pop() if served and served[-1][0] == event.resource else (str(event.resource), 0)
            served.append((name, so_far + (event.size_bytes or 0)))
        elif steps and event.kind == "ended":
            while served and served[-1][0] != event.resource:
                served.pop()
            break
    return Probe(important=page.important[0].name, steps=steps, served=tuple(served)) if served else None


def was_hurried(probe: Probe, events: Sequence[Event], step_bytes: int) -> bool:
    """True if a probe over HTTP/2 made its steps while bytes were still on their way.

    Then more bytes count than the steps opened. Servers that leave up to a frame of the initial window unused send it
    later, so two steps more are no sign of it. A server that waits for a blocked stream leaves the whole window unused;
    then the bytes that follow are not of the stream that was to use it up. events: the client's. step_bytes: the size
    of a step.
    """
    alone = next((event.resource for event in events if event.kind == "window-opened" and event.stream_id), None)
    too_many = sum(size_bytes for _, size_bytes in probe.served) > (probe.steps + 2) * step_bytes
    return too_many and alone in (None, probe.served[0][0])


def judge_probe(probe: Probe, favoured: Sequence[str], asked: float = 1.0) -> Judgement:
    """Judges if the front itself served a probe's streams in the order that the client asked for.

    favoured: names of the resources that the client asked to get first. asked: their share of the bytes that the client
    asked for, 0 to 1. If it is all, the order is kept only from ALONE on, because a probe counts exactly. Another share
    is judged as in a load (competition.py).
    """
    share = probe.important_share
    if not favoured:
        reason = f"{NO_ORDER}; the front gave the {probe.important} {share:.0%} of the window"
        return Judgement(verdict=Verdict.UNDECIDED, reason=reason, focal=probe.important, favoured=False)
    is_first = probe.important in favoured
    share = share if is_first else 1 - share
    waited = "while both streams waited for the client to open its flow-control window"
    reason = f"{waited}, the front gave the {favoured[0]} {share:.0%} of the window"
    kept_from = ALONE if asked == 1 else 1 - most_share(1 - asked, _EVEN)
    verdict = Verdict.KEPT if share >= kept_from else Verdict.UNDECIDED
    if share <= 1 - ALONE:
        verdict, reason = Verdict.INVERTED, f"{reason}, though it was asked for first"
    elif asked != 1 or verdict is Verdict.UNDECIDED:
        reason += f", and {asked:.0%} was asked for"
    return Judgement(verdict=verdict, reason=reason, focal=probe.important, favoured=is_first)
