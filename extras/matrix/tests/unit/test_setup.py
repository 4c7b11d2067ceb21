"""The downloads of the whole matrix's set-up."""

import pytest

from priolab.common.home import ROOT
from priolab.experiments.setup.matrix_servers import matrix_servers
from priolab.experiments.setup.packages import wheel_servers
from priolab.experiments.setup.setup_request import SetupPart, setup_request_from
from priolab.proxy.server import catalogue, server_of


def test_the_matrix_can_do_without_a_version() -> None:
    """Without SERVER, the set-up of the matrix fetches all versions of its table, and none of them is required."""
    request = setup_request_from(SetupPart.MATRIX, ["FABRIC=virtual"], ROOT)
    assert request.servers == frozenset()
    assert request.others == frozenset(matrix_servers(ROOT))
    assert setup_request_from(SetupPart.MATRIX, ["SERVER=nginx@sid"], ROOT).others == frozenset()
    assert {each.name for each in wheel_servers(request, catalogue(), needed=False)} > {"envoy@1.40.0", "nginx@1.31.3"}


@pytest.mark.parametrize("name", matrix_servers(ROOT))
def test_the_table_of_the_matrix(name: str) -> None:
    """The table of the matrix has servers that speak HTTP/2 or HTTP/3, in editions that the lab knows."""
    assert server_of(name).protocol in ("h2", "h3")
