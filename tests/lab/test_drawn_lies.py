"""Twenty deviations of those that `make lies` draws: none is believed."""

import pytest

from tools.campaigns.deviations import draw
from tools.campaigns.lies import BELIEVED, FAILED, carry_out

_SERVERS = ("nginx", "h2o")
_NUMBERS = range(20)


@pytest.mark.usefixtures("guest")
def test_no_drawn_deviation_is_believed() -> None:
    """Each run is invalid, or has the times of an undisturbed run; and most of the changes could be made."""
    drawn = [draw(number, _SERVERS, netem=True) for number in _NUMBERS]
    found = [(outcome, f"{deviation}: {told}") for deviation, outcome, told in carry_out("virtual", drawn)]
    assert [told for outcome, told in found if outcome in (BELIEVED, FAILED)] == []
    assert sum(outcome is None for outcome, _ in found) < len(drawn) // 4
