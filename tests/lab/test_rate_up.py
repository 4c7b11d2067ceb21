"""A rate toward the front, in the guest: requests and acknowledgments take time, and both shapers agree."""

import pytest

from priolab.analysis.loads.metrics import measured_load
from priolab.analysis.records.runs import load_run
from tests.lab.first_bytes import SMALLEST_REQUEST_BYTES
from tests.support.shared_runs import Runs

pytestmark = pytest.mark.usefixtures("guest")

_DELAY_MS = 300
_SMALLEST_MS = SMALLEST_REQUEST_BYTES * 8 / 32
"""The transmission time of the smallest request, in milliseconds."""


@pytest.mark.parametrize("shaper", ["netem", "ferry"])
def test_requests_take_time(run: Runs, shaper: str) -> None:
    """With RATE_UP=32kbit the document comes later by the request's transmission, and calibration saw the rate."""
    done = run("RATE_UP=32kbit", f"SHAPER={shaper}", "LOWAT=16384", "RELOADS=0", "CONTROL=no")
    assert done.code == 0, done.trouble
    arm = done.arm("lowat-16384")
    assert arm["observed"]["shaper"] == shaper
    assert done.folder is not None
    page = measured_load(load_run(done.folder / "lowat-16384.1").evidence()).resources["page"]
    took_ms = (page.headers_ns - page.requested_ns) / 10**6
    assert _DELAY_MS + _SMALLEST_MS < took_ms < _DELAY_MS + 8 * _SMALLEST_MS
    assert arm["oracle"]["inversion_ms"] > 0
