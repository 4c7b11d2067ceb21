"""Tests of the figures about traces."""

from priolab.analysis.reports.markdown import places
from priolab.experiments.commands.study import document_of
from priolab.extras.studies.traces import TraceArms, findings

_ARMS = [
    TraceArms(kind="lte", first_byte_ms={"none": 900.0, "4096": 300.0, "16384": 250.0, "auto": 270.0}, goodput=0.99),
    TraceArms(kind="lte", first_byte_ms={"none": 700.0, "4096": 200.0, "16384": 250.0, "auto": 190.0}, goodput=1.01),
]


def test_regret_is_against_the_best_value_of_each_trace() -> None:
    """Each trace has its own best fixed value; auto may be sooner than it."""
    assert [arm.best for arm in _ARMS] == ["16384", "4096"]
    assert [arm.regret_ms for arm in _ARMS] == [20.0, -10.0]
    row = findings({}, _ARMS).places["traces"].splitlines()[-1]
    assert row == "| lte | 800 ms | 225 ms (4096, 16384) | 230 ms | 5 ms | 20 ms | 100.0% |"


def test_the_places_are_those_of_the_document() -> None:
    """The study fills all places of traces.md."""
    assert findings({"script": (1.0, 2.0)}, _ARMS).places.keys() == places(document_of("traces")).keys()
