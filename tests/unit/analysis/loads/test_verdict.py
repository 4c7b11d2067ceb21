"""Tests of the verdict on a page load."""

from collections.abc import Sequence

import pytest

from priolab.analysis.loads.metrics import PageLoad
from priolab.analysis.loads.verdict import Judgement
from priolab.analysis.loads.verdict import judge as judge_order
from priolab.common.formats.run import Verdict
from tests.support.builders import Pieces, asked_first, page_load

SCRIPT = [(1000, 50), (1400, 50)]


def judge(load: PageLoad, favoured: Sequence[str], one_way_ns: int) -> Judgement:
    return judge_order(load, asked_first(load.page, favoured), one_way_ns)


def test_nothing_to_prioritize() -> None:
    """If the image was complete before the script existed, there was nothing to order, whatever order was asked for.

    Without an order, this comes first.
    """
    load = page_load([(50, 100), (150, 900)], SCRIPT, available_ms=200)
    assert judge(load, (), 0).verdict == Verdict.UNDECIDED
    for favoured in (("script",), ("image",)):
        judgement = judge(load, favoured, 0)
        assert judgement.verdict == Verdict.NOTHING
        assert judgement.reason == "the image was complete 50 ms before the origin had the script"


def test_shared() -> None:
    """The verdict is `undecided` between `kept` and `inverted`; the reason has the shares got and asked for."""
    judgement = judge(page_load([(500, 600), (1200, 300), (1300, 100)], SCRIPT), ("script",), 0)
    assert judgement.verdict == Verdict.UNDECIDED
    assert judgement.reason == (
        "60% of the image arrived before the script's first byte; after that both shared the link, "
        "and the script got 11% of it, and 55% was asked for"
    )


@pytest.mark.parametrize(
    ("image", "verdict"),
    [
        pytest.param([(999, 500), (1401, 500)], Verdict.KEPT, id="exactly half before"),
        pytest.param([(999, 501), (1401, 499)], Verdict.UNDECIDED, id="more than half before"),
        pytest.param([(999, 500), (1400, 500)], Verdict.UNDECIDED, id="complete together"),
        pytest.param([(999, 900), (1400, 100)], Verdict.INVERTED, id="exactly nine tenths, complete together"),
        pytest.param([(999, 899), (1399, 101)], Verdict.UNDECIDED, id="less than nine tenths"),
        pytest.param([(999, 950), (1401, 50)], Verdict.INVERTED, id="nearly all before, and complete later"),
        pytest.param([(999, 1000)], Verdict.INVERTED, id="all before"),
    ],
)
def test_limits(image: Pieces, verdict: Verdict) -> None:
    """The verdict is `kept` with at most half of the image before the script, and `inverted` with at least 9/10.

    When the last byte of the image came does not matter.
    """
    assert judge(page_load(image, SCRIPT), ("script",), 0).verdict == verdict
