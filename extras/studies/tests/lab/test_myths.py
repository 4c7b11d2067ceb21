"""The cheapest hypothesis, measured."""

from pathlib import Path

import pytest

from priolab.experiments.commands.console import Report
from priolab.extras.studies.hypothesis import DELAY, UNSENT, Word
from priolab.extras.studies.order_hypotheses import EVENTS


@pytest.mark.usefixtures("guest")
def test_events(tmp_path: Path) -> None:
    """Events come sooner beside a download, and not alone; a stream that is too fast waits in the server instead."""
    found = EVENTS.measure(EVENTS, tmp_path, Report(aside=True))
    assert EVENTS.judge(found).word is Word.PARTLY
    assert found["beside a download, unset"][DELAY] > 10 * found["beside a download, 128K"][DELAY]
    assert found["alone, unset"] == found["alone, 128K"]
    assert found["alone, too fast, 128K"][UNSENT] < found["alone, too fast, unset"][UNSENT] / 10
