"""Spans of time, each its beginning and its end in nanoseconds: those in which the front was at work, and others. Pure.

The kernel of a guest says when the front's server was at work (SERVICE). Threads may be at work side by side.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from priolab.analysis.records.runs import Layers

Span = tuple[int, int]


def merged(spans: Iterable[Span]) -> list[Span]:
    """Returns the times that any of the spans covers, in order."""
    found: list[Span] = []
    for from_ns, until_ns in sorted(spans):
        if found and from_ns <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], until_ns))
        elif from_ns < until_ns:
            found.append((from_ns, until_ns))
    return found


def at_work(layers: Layers) -> list[Span]:
    """Returns the times at which any thread of the front was at work; none without SERVICE."""
    return merged((span.t_ns, span.until_ns) for span in layers.service)


def covered_ns(spans: Sequence[Span], from_ns: int, until_ns: int) -> int:
    """Returns for how long merged spans cover a time; 0 if it ends before it begins."""
    covered = 0
    for begin_ns, end_ns in spans[bisect_left(spans, from_ns, key=lambda span: span[1]) :]:
        if begin_ns >= until_ns:
            break
        covered += max(0, min(end_ns, until_ns) - max(begin_ns, from_ns))
    return covered
