"""Tests of the experiments of `priolab reproduce`."""

from pathlib import Path

import pytest

from priolab.common.errors import ScenarioError
from priolab.experiments.commands.console import Report
from priolab.experiments.execution.request import arms_for
from priolab.extras.reproduction import reproduce
from priolab.extras.reproduction.pictures import LOWAT_BYTES


def test_only_how_it_is_run_may_be_chosen(tmp_path: Path) -> None:
    """`reproduce` accepts execution options alone, because another LOWAT would not reproduce the article.
    The error comes before any file is made.
    """
    with pytest.raises(ScenarioError, match=r"^LOWAT=1 is not allowed; allowed: .* FABRIC, SHAPER, RESULTS, REUSE$"):
        reproduce.reproduce({"LOWAT": "1"}, tmp_path / "out", Report())
    assert list(tmp_path.iterdir()) == []


def test_the_arms_are_those_of_the_pictures() -> None:
    """Each experiment has the control. The experiments SLOW and GROWING also have an arm with the article's LOWAT."""
    fast, slow, growing = (
        [arm.scenario for arm in arms_for(knobs, control=True)]
        for knobs in (reproduce.FAST, reproduce.SLOW, reproduce.GROWING)
    )
    assert [scenario.lowat_bytes for scenario in fast] == [None]
    assert not fast[0].link.shaped
    assert [scenario.lowat_bytes for scenario in slow[:1]] == [None]
    assert LOWAT_BYTES in [scenario.lowat_bytes for scenario in slow]
    assert len(slow) > 4
    assert [(scenario.lowat_bytes, scenario.sndbuf_bytes) for scenario in growing] == [
        (None, None),
        (LOWAT_BYTES, None),
    ]
    assert {scenario.link.rate_bit_s for scenario in [*slow, *growing]} == {1_024_000}
