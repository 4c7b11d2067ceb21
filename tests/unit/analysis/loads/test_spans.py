"""Tests of spans of time, and of those in which the front was at work."""

import pytest

from priolab.analysis.loads.spans import at_work, covered_ns
from priolab.analysis.records.runs import Layers
from priolab.common.formats.samples import ServiceSpan


def test_threads_at_work_side_by_side_count_once() -> None:
    """Spans that overlap or meet are one, whatever their order."""
    spans = [(20, 30), (0, 10), (25, 27), (10, 12), (28, 40)]
    service = tuple(ServiceSpan(t_ns=from_ns, until_ns=until_ns) for from_ns, until_ns in spans)
    assert at_work(Layers(sockets=(), queue=(), arrivals=(), service=service)) == [(0, 12), (20, 40)]


@pytest.mark.parametrize(
    ("from_ns", "until_ns", "covered"), [(0, 50, 32), (5, 25, 12), (12, 20, 0), (21, 22, 1), (22, 21, 0), (40, 50, 0)]
)
def test_how_much_of_a_time_they_cover(from_ns: int, until_ns: int, covered: int) -> None:
    """Only what lies in the time counts."""
    assert covered_ns([(0, 12), (20, 40)], from_ns, until_ns) == covered
