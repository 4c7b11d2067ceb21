"""Tests of what containers refuse before a container engine is searched."""

import pytest

from priolab.common.errors import Unavailable
from priolab.experiments.hosts.containers.compose import Compose
from priolab.experiments.scenario.knobs import scenario_from


def test_containers_cannot_set_the_fronts_discipline() -> None:
    """FRONT_QDISC is refused with FABRIC=compose."""
    with pytest.raises(Unavailable, match="FRONT_QDISC=fq with FABRIC=compose cannot be used here: the front's"):
        Compose().check_usable(scenario_from({"FRONT_QDISC": "fq"}), None)
