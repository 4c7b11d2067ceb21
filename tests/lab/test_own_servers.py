"""Recommendations of knee, measured with configurations that are not the lab's; `make own-servers` has twenty."""

from dataclasses import replace
from pathlib import Path

import pytest

from tools.campaigns.own_servers.__main__ import CASES, SERVERS, carry_out

_FEW = ("none", "16384", "131072")


def test_the_cases() -> None:
    """They are twenty links, and every server has five of them, at every rate."""
    assert len({case.link for case in CASES}) == len(CASES) == 20
    assert {(case.server, case.rate_mbit_s) for case in CASES} == {
        (server, rate) for server in SERVERS for rate in (10, 30, 100, 300, 1000)
    }


@pytest.mark.usefixtures("guest")
@pytest.mark.parametrize("server", ["nginx", pytest.param("haproxy", marks=pytest.mark.needs("haproxy"))])
def test_a_recommendation_holds(server: str, tmp_path: Path) -> None:
    """With the own server the recommended value is near the best one, too, and no run of the sweep is bad."""
    case = replace(CASES[1], server=server, size=400_000)
    found = carry_out(case, tmp_path, swept=_FEW, finer=(*_FEW, "8192"))
    assert found.troubles == []
    assert found.holds, found
