"""Fronts that the checks hold to what the lab has measured of servers."""

import pytest

from priolab.experiments.execution.conclusion import is_stock
from priolab.experiments.scenario.knobs import scenario_from
from priolab.testbed.guest.kernel_patches.edit import Change, Effect
from priolab.testbed.guest.kernel_patches.study_kernels import Additions, added

OTHER_KERNEL = Additions(changes=(Change(name="wakes late", effect=Effect.RESULT, wordings=()),))


@pytest.mark.parametrize("server", ["nginx", "h2o", "node", "haproxy"])
def test_a_study_with_a_kernel_of_its_own_has_no_stock_server(server: str) -> None:
    """A server of the catalogue is stock on the lab's kernel, whatever its options, and not on a changed one."""
    scenario = scenario_from({"SERVER": server})
    assert is_stock(scenario)
    with added(Additions(options=("CONFIG_TLS=y",))):
        assert is_stock(scenario)
    with added(OTHER_KERNEL):
        assert not is_stock(scenario)
