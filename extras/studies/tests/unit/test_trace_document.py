"""Tests of the documents about traces."""

from priolab.experiments.host.home import ROOT
from priolab.extras.studies.trace_document import TraceArms, document, with_traces

_DOCS = ROOT / "docs/measured"
_ARMS = [
    TraceArms(kind="lte", first_byte_ms={"none": 900.0, "4096": 300.0, "16384": 250.0, "auto": 270.0}, goodput=0.99),
    TraceArms(kind="lte", first_byte_ms={"none": 700.0, "4096": 200.0, "16384": 250.0, "auto": 190.0}, goodput=1.01),
]


def test_regret_is_against_the_best_value_of_each_trace() -> None:
    """Each trace has its own best fixed value; auto may be sooner than it."""
    assert [arm.best for arm in _ARMS] == ["16384", "4096"]
    assert [arm.regret_ms for arm in _ARMS] == [20.0, -10.0]
    row = document({}, _ARMS, "DELAY=30ms").splitlines()[-1]
    assert row == "| lte | 800 ms | 225 ms (4096, 16384) | 230 ms | 5 ms | 20 ms | 100.0% |"


def test_the_section_in_the_document_of_auto() -> None:
    """The section takes the place of an older one, and the rest of the document stays."""
    new = document({}, _ARMS, "DELAY=30ms")
    once = with_traces("# LOWAT=auto, measured\n\nText.\n", new)
    assert once.startswith("# LOWAT=auto, measured\n\nText.\n\n## LOWAT=auto on traces\n\nEach kind of trace")
    assert with_traces(once, new) == once
    assert once.count("## LOWAT=auto on traces") == 1


def test_both_documents_have_the_same_section() -> None:
    """docs/measured/auto.md ends with the section of docs/measured/traces.md."""
    auto, traces = ((_DOCS / name).read_text() for name in ("auto.md", "traces.md"))
    assert with_traces(auto, traces) == auto
