"""The tuner with many connections: the tables, and whether the results hold, from given trials."""

from dataclasses import replace

import pytest

from priolab.analysis.reports.markdown import places
from priolab.experiments.commands.study import document_of
from priolab.extras.tuner.scale import ARMS, CROWD, findings
from priolab.extras.tuner.scale_trials import TUNER, UNSET, Page, Trial, Work


def _trial(first_byte_s: float, *, goodput_bit_s: float = 47e6, ran_ns: int = 0) -> Trial:
    pages = [
        Page(group=group.name, first_byte_s=first_byte_s, goodput_bit_s=goodput_bit_s)
        for group in CROWD
        for _ in range(2)
    ]
    work = Work(ran_ns=ran_ns, runs=100, tuned=len(pages), decisions=20, unlogged=0) if ran_ns else None
    return Trial(pages=pages, cpu_s=10, memory_bytes=10**8, tuner=work)


_CROWD = {arm: [_trial(2 if arm == UNSET else 0.5, ran_ns=10**7 if arm == TUNER else 0)] * 3 for arm in ARMS}
_SAME = {arm: [_trial(1, goodput_bit_s=value) for value in (47e6, 47.1e6, 46.9e6)] for arm in (UNSET, TUNER)}


def test_tables() -> None:
    """Medians of trials by group and arm, and costs as ratios to LOWAT unset."""
    found = findings(_CROWD, _SAME, 0.5)
    assert found.holds
    lines = found.places["first-bytes"].splitlines()
    assert lines[0] == "| LOWAT | slow | middling | fast |"
    assert "| unset | 2000, 2000 ms | 2000, 2000 ms | 2000, 2000 ms |" in lines
    assert "| tuner | 500, 500 ms | 500, 500 ms | 500, 500 ms |" in lines
    assert found.places["costs"].splitlines()[2] == "| unset | 1.00 | 1.00 | 100 MB |"
    assert found.places["tuner-part"] == "0.1%"
    assert found.places["tuner-run"] == "100000 ns"
    assert found.places["tuned"] == "18 of 18 connections"
    assert found.places["decisions"] == "60"


@pytest.mark.parametrize(
    ("goodputs", "holds"),
    [([47e6] * 3, True), ([45e6] * 3, False), ([46e6, 48e6, 46.5e6], False), ([46.9e6, 47.1e6, 47e6], True)],
)
def test_throughput_of_fast_clients(goodputs: list[float], *, holds: bool) -> None:
    """The interval of the pairs' changes has to hold 0, and to be within 2 %."""
    pairs = {
        UNSET: [_trial(1, goodput_bit_s=47e6)] * 3,
        TUNER: [_trial(1, goodput_bit_s=value) for value in goodputs],
    }
    assert findings(_CROWD, pairs, 0.5).holds is holds


def test_a_connection_without_a_value() -> None:
    """Every connection has to be tuned."""
    forgetful = replace(_CROWD[TUNER][0], tuner=Work(ran_ns=1, runs=1, tuned=5, decisions=5, unlogged=0))
    assert not findings(_CROWD | {TUNER: [forgetful]}, _SAME, 0.5).holds


def test_places() -> None:
    """The document has a place for each text."""
    assert places(document_of("tuner-scale")).keys() == findings(_CROWD, _SAME, 0.5).places.keys()
    assert len(CROWD) == 3
    assert sum(group.count for group in CROWD) == 16_000
