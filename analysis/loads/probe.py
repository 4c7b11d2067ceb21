"""A probe's result: whose bytes the front sent when the window opened, though all streams had data. Pure.

Rules:
1. Only bytes between the first step and the end of the stream that ended first count: at other times the front had no
   choice. Nor do bytes count after the window was opened altogether.
2. Only the order counts, not the time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.loads.verdict import Judgement
from common.formats.events import Event
from common.formats.page import Page
from common.formats.run import ProbeRecord, Verdict

ALONE = 0.98
"""A share from which on a stream is said to have had the window to itself: a step is about two hundredths of it all."""


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A probe's result. served: (resource, payload bytes) in the order of arrival; adjacent pieces are joined."""

    important: str
    steps: int
    served: tuple[tuple[str, int], ...]

    def size_bytes(self, resource: str) -> int:
        """The payload bytes of that resource."""
        return sum(size_bytes for name, size_bytes in self.served if name == resource)

    @property
    def important_share(self) -> float:
        """The important resource's share of the bytes."""
        return self.size_bytes(self.important) / sum(size_bytes for _, size_bytes in self.served)

    def as_record(self) -> ProbeRecord:
        """The result as run.json has it."""
        return ProbeRecord(
            steps=self.steps,
            important=self.important,
            important_share=round(self.important_share, 4),
            served=self.served,
        )

    @classmethod
    def from_record(cls, record: ProbeRecord) -> "Probe":
        """Reads the result from run.json."""
        return cls(important=record.important, steps=record.steps, served=record.served)


def probe_of(events: Sequence[Event], page: Page) -> Probe | None:
    """Reads a probe's result; None if the window was never opened by steps. page: two resources, and documents."""
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


def judge_probe(probe: Probe, favoured: Sequence[str]) -> Judgement:
    """Judges a probe: does the front itself keep the order asked for?"""
    share = probe.important_share
    if not favoured:
        reason = f"no order was asked for; the front gave the {probe.important} {share:.0%} of the window"
        return Judgement(verdict=Verdict.UNDECIDED, reason=reason)
    share = share if probe.important in favoured else 1 - share
    reason = f"while both waited for the client's window, the front gave the {favoured[0]} {share:.0%} of it"
    if share >= ALONE:
        return Judgement(verdict=Verdict.KEPT, reason=reason)
    if share <= 1 - ALONE:
        return Judgement(verdict=Verdict.INVERTED, reason=f"{reason}, though it was asked for first")
    return Judgement(verdict=Verdict.UNDECIDED, reason=reason)
